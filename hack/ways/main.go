// Command ways counts the files that a value crosses on its way through the program. A way is a series of
// named functions, connected by chains of calls. Of all chains between two functions, the command takes the
// one that goes from one file to another least often. It prints the files of each way, and fails if a way
// crosses too many.
//
//	cd hack/ways && go run . ../..
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

// mostFiles is the largest number of files that a way may cross.
const mostFiles = 15

func main() {
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: ways [ROOT]\n\nROOT is the folder of the module; the current folder by default.")
	}
	flag.Parse()
	root := "."
	if flag.NArg() > 0 {
		root = flag.Arg(0)
	}
	within, err := run(root, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "ways:", err)
	}
	if err != nil || !within {
		os.Exit(1)
	}
}

// run writes each way, and reports whether each crosses at most mostFiles files.
func run(root string, out io.Writer) (within bool, err error) {
	calls, err := callsOf(root, "./cmd/manager", "./cmd/runner")
	if err != nil {
		return false, err
	}
	within = true
	for _, w := range ways() {
		files, err := w.files(calls)
		if err != nil {
			return false, fmt.Errorf("%s: %w", w.name, err)
		}
		write(out, w.name, files)
		if len(files) > mostFiles {
			within = false
			fmt.Fprintf(os.Stderr, "ways: %s crosses %d files, want at most %d: remove files that only pass the value on\n", w.name, len(files), mostFiles)
		}
	}
	return within, nil
}

// write writes the files of a way in order, each with those functions of the way that it contains.
func write(out io.Writer, name string, files []crossed) {
	fmt.Fprintf(out, "%s: %d files\n", name, len(files))
	for _, f := range files {
		fmt.Fprintf(out, "  %-50s %s\n", f.file, strings.Join(f.functions, ", "))
	}
}
