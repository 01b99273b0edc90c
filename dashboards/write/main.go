// Command write writes the dashboards into the folder that its argument names.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/cephtune/cephtune/dashboards"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: write FOLDER")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "write:", err)
		os.Exit(1)
	}
}

func write(folder string) error {
	files, err := dashboards.Files()
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := os.WriteFile(filepath.Join(folder, file.Name), file.JSON, 0o644); err != nil { //nolint:gosec // Everyone may read a dashboard.
			return err
		}
	}
	return nil
}
