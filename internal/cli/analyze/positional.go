package analyze

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cephtune/cephtune/internal/cli/exit"
)

// take reads positional arguments as benchstat does: the first is the baseline, the others are
// candidates. A single argument is judged again if it is the export of a sweep, and summarised
// otherwise.
func (o *options) take(args []string) error {
	if len(args) == 0 {
		return nil
	}
	if len(o.baseline) > 0 || len(o.candidates.words) > 0 || o.table != "" {
		return exit.UsageErrorf("%q belongs to no flag; put files after --baseline or --candidate, or use neither flag: then the first file is the baseline", args[0])
	}
	names := shortNames(args)
	for i, arg := range args {
		files, err := expand(arg)
		if err != nil {
			return err
		}
		if i == 0 {
			o.baseline = files
			if o.baselineName == "" {
				o.baselineName = names[0]
			}
			continue
		}
		o.candidates.words = append(o.candidates.words, word{isName: true, text: names[i]})
		for _, file := range files {
			o.candidates.words = append(o.candidates.words, word{text: file})
		}
	}
	o.summarised = len(args) == 1
	if !o.summarised {
		return nil
	}
	for _, file := range o.baseline {
		export, err := isExport(file)
		if err != nil {
			return err
		}
		o.exported = export && len(o.baseline) == 1
	}
	return nil
}

// shortNames returns the file names without folder and extension. It returns the arguments unchanged if
// two names would be equal, if a name would be empty or a dot, or if an argument is a list of files.
func shortNames(args []string) []string {
	short := make([]string, len(args))
	for i, arg := range args {
		base := filepath.Base(arg)
		short[i] = strings.TrimSuffix(base, filepath.Ext(base))
	}
	for i, name := range short {
		if name == "" || name == "." || slices.Contains(short[:i], name) || slices.Contains(short[i+1:], name) || strings.Contains(args[i], ",") {
			return args
		}
	}
	return short
}

// expand returns the files that an argument names. It splits a list at commas, and lists the regular
// files of a folder (no symbolic links), but neither hidden files nor those of subfolders.
func expand(arg string) ([]string, error) {
	var files []string
	for name := range strings.SplitSeq(arg, ",") {
		if name == "" {
			return nil, exit.UsageErrorf("%q: a file name is empty", arg)
		}
		info, err := os.Stat(name)
		if err != nil || !info.IsDir() {
			files = append(files, name) // Reading the file reports the error.
			continue
		}
		inside, err := os.ReadDir(name)
		if err != nil {
			return nil, err
		}
		for _, entry := range inside {
			if entry.Type().IsRegular() && !strings.HasPrefix(entry.Name(), ".") {
				files = append(files, filepath.Join(name, entry.Name()))
			}
		}
		if len(files) == 0 {
			return nil, fmt.Errorf("%s has no files", name)
		}
	}
	return files, nil
}
