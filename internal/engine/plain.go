package engine

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
)

// source is a text, and the name of the pod or the file that it comes from if a log has several.
type source struct {
	name string
	text []byte
}

// plain returns a file as the tool wrote it: without compression, the marks of an encoding, colours, the prefixes of logs and
// quotations. Line numbers stay. If a log has the lines of several pods, each has a text of its own, in which the
// lines of the others are empty.
func plain(file []byte) []source {
	file = decoded(file)
	if bytes.IndexByte(file, 0x1b) >= 0 { // Colours, and titles of a terminal's window.
		file = regexp.MustCompile(`\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)`).ReplaceAll(file, nil)
	}
	lines := bytes.Split(fromDocker(file), []byte("\n"))
	names := make([]string, len(lines))
	for range maxPrefixes {
		if !cutPrefix(lines, names) {
			break
		}
	}
	return separate(lines, names)
}

// maxPrefixes limits how many prefixes a line has, such as that of a pod before that of a time.
const maxPrefixes = 4

// prefixes match what logs print before each line. A group is the name of the source.
func prefixes() []string {
	return []string{
		`\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)\]?(?: (?:stdout|stderr) [FP])?(?: |$)`, // kubectl logs --timestamps, CRI
		`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+ [A-Z]+:[\w.-]+:`,                                                        // teuthology
		`\[(pod/[^\]]+)\](?: |$)`,                                                             // kubectl logs --prefix
		`([A-Za-z0-9][\w.-]*) +\|(?: |$)`,                                                     // Docker Compose
		`([a-z0-9]+(?:-[a-z0-9]+)+ [a-z0-9][a-z0-9-]*)(?: (?:› |> )?|$)`,                      // stern
		`[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d (?:\S+ [\w./@-]+(?:\[\d+\])?:(?: |$))?`,         // journalctl, ts
		`(?:(?:\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d(?:[.,]\d+)? )?- (?:\S+ - )*(?:INFO|DEBUG) - `, // Python's logging
		`[^\s:{}"<>]+\.(?:txt|log|out|json):`,                                                 // grep with several files
		`>(?: |$)`,                                                                            // a quotation
		` *\d+\t`,                                                                             // cat -n
		`\+`,                                                                                  // a file that was added in a diff
	}
}

// cutPrefix cuts a prefix that nearly all lines have, and sets the names of their sources. It returns false if
// there is none.
func cutPrefix(lines [][]byte, names []string) bool {
	for _, text := range prefixes() {
		prefix := regexp.MustCompile("^(?:" + text + ")")
		matching, all := 0, 0
		for _, line := range lines {
			if len(bytes.TrimSpace(line)) > 0 {
				all++
				if prefix.Match(line) {
					matching++
				}
			}
		}
		if all == 0 || matching*10 < all*9 {
			continue
		}
		for i, line := range lines {
			found := prefix.FindSubmatchIndex(line)
			if found == nil {
				continue
			}
			if len(found) > 2 {
				names[i] = string(line[found[2]:found[3]])
			}
			lines[i] = line[found[1]:]
		}
		return true
	}
	return false
}

// separate returns a text for each name. A line without a name belongs to the name of the line before.
func separate(lines [][]byte, names []string) []source {
	var all []source
	places := map[string]int{}
	current := 0
	for number, line := range lines {
		if name := names[number]; name != "" || len(all) == 0 {
			i, known := places[name]
			if !known && len(all) < maxPods {
				i = len(all)
				places[name] = i
				all = append(all, source{name: name, text: bytes.Repeat([]byte("\n"), number)})
			}
			current = i
		}
		for i := range all {
			if i == current {
				all[i].text = append(all[i].text, line...)
			}
			if number < len(lines)-1 {
				all[i].text = append(all[i].text, '\n')
			}
		}
	}
	if len(all) == 1 {
		all[0].name = ""
	}
	for i := range all {
		all[i].text = dedented(withoutFences(all[i].text))
	}
	return all
}

// maxPods limits the sources of a log, and so the memory for their empty lines.
const maxPods = 64

// fromDocker returns the lines of a log of Docker, whose lines are objects of JSON.
func fromDocker(file []byte) []byte {
	if !bytes.HasPrefix(file, []byte(`{"log":`)) {
		return file
	}
	var out bytes.Buffer
	for line := range bytes.Lines(file) {
		var entry struct{ Log *string }
		if json.Unmarshal(line, &entry) != nil || entry.Log == nil {
			return file
		}
		out.WriteString(strings.TrimRight(*entry.Log, "\r\n") + "\n")
	}
	return out.Bytes()
}

// withoutFences empties the lines around a block of code in Markdown.
func withoutFences(text []byte) []byte {
	if !bytes.Contains(text, []byte("```")) {
		return text
	}
	return regexp.MustCompile("(?m)^[ \t]*```[^\n`]*$").ReplaceAll(text, nil)
}

// dedented removes the indentation that all lines have, as in a block of code that was copied.
func dedented(text []byte) []byte {
	common := -1
	for line := range bytes.Lines(text) {
		rest := bytes.TrimLeft(line, " \t")
		if indentation := len(line) - len(rest); len(bytes.TrimSpace(rest)) > 0 && (common < 0 || indentation < common) {
			common = indentation
		}
	}
	if common <= 0 {
		return text
	}
	out := make([]byte, 0, len(text))
	for line := range bytes.Lines(text) {
		if len(bytes.TrimSpace(line)) == 0 {
			out = append(out, '\n')
			continue
		}
		out = append(out, line[common:]...)
	}
	return out
}
