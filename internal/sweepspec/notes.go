package sweepspec

// Notes returns warnings about the meaning of a sweep's figures, for readers of a plan or a verdict.
func Notes(spec *Spec) []string {
	var notes []string
	for _, note := range []string{closedLoopNote(spec), compressionNote(spec)} {
		if note != "" {
			notes = append(notes, note)
		}
	}
	return notes
}
