// Command licenses prints the licence texts of all modules that programs link, and of Go itself. Most licences demand
// that their text accompanies the program.
//
//	go run ./hack/licenses [-platform OS/ARCH] PACKAGE...
//
// It downloads nothing that the build of the programs does not need. It fails if a module has no text.
package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

func main() {
	platform := flag.String("platform", runtime.GOOS+"/"+runtime.GOARCH, "the platform for which the programs are built")
	flag.Parse()
	if err := run(os.Stdout, *platform, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "licenses:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, platform string, programs []string) error {
	linked, err := modules(platform, programs)
	if err != nil {
		return err
	}
	return write(out, linked)
}

// module is a linked module, with the folders of its linked packages.
type module struct {
	name, folder string
	packages     []string
}

// modules returns the modules other than this one, and the standard library, which programs for a platform link.
func modules(platform string, programs []string) ([]*module, error) {
	system, architecture, _ := strings.Cut(platform, "/")
	const format = `{{if .Standard}}{{else if not .Module.Main}}{{.Module.Path}} {{.Module.Version}}` + "\t" + `{{.Module.Dir}}` + "\t" + `{{.Dir}}{{end}}`
	packages, err := goCommand([]string{"CGO_ENABLED=0", "GOOS=" + system, "GOARCH=" + architecture}, append([]string{"list", "-deps", "-f", format}, programs...)...)
	if err != nil {
		return nil, err
	}
	root, err := goCommand(nil, "env", "GOROOT", "GOVERSION")
	if err != nil {
		return nil, err
	}
	goRoot, goVersion, _ := strings.Cut(strings.TrimSpace(root), "\n")
	linked := map[string]*module{}
	for line := range strings.Lines(packages) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		if len(fields) != 3 {
			continue
		}
		if linked[fields[0]] == nil {
			linked[fields[0]] = &module{name: fields[0], folder: fields[1]}
		}
		linked[fields[0]].packages = append(linked[fields[0]].packages, fields[2])
	}
	all := []*module{{name: "Go's standard library " + goVersion, folder: goRoot, packages: []string{goRoot}}}
	for _, m := range linked {
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b *module) int { return cmp.Compare(a.name, b.name) })
	return all, nil
}

// goCommand overrides the caller's platform and flags, with which "go run" would not run here.
func goCommand(environment []string, args ...string) (string, error) {
	cmd := exec.CommandContext(context.Background(), "go", args...) //nolint:gosec // The arguments are constants of this program and names of modules.
	cmd.Env = append(append(os.Environ(), "GOFLAGS=", "GOOS=", "GOARCH="), environment...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return string(out), nil
}

// texts returns the texts of a module: those in its top folder, and those between that folder and a linked
// package, because parts of a module may come from elsewhere.
func (m *module) texts() ([]string, error) {
	seen := map[string]bool{}
	var texts []string
	for _, folder := range m.packages {
		for ; !seen[folder]; folder = filepath.Dir(folder) {
			seen[folder] = true
			found, err := textsIn(folder)
			if err != nil {
				return nil, err
			}
			texts = append(texts, found...)
			if folder == m.folder {
				break
			}
		}
	}
	if len(texts) == 0 {
		return nil, fmt.Errorf("%s has no licence text in %s", m.name, m.folder)
	}
	return texts, nil
}

// textsIn returns the texts of licences in a folder, and in a subfolder that has only them.
func textsIn(folder string) ([]string, error) {
	name := regexp.MustCompile(`(?i)^(unlicense|(licen[cs]e|copying|copyright|notice|patents|third.party.licen[cs]es?)([-._].*)?)$`)
	entries, err := os.ReadDir(folder)
	var texts []string
	for _, entry := range entries {
		path := filepath.Join(folder, entry.Name())
		if !name.MatchString(entry.Name()) || filepath.Ext(path) == ".go" {
			continue
		}
		err = errors.Join(err, filepath.WalkDir(path, func(path string, file fs.DirEntry, err error) error {
			if err != nil || file.IsDir() {
				return err
			}
			text, err := os.ReadFile(path) //nolint:gosec // Folders of modules change for nobody else.
			if trimmed := strings.Trim(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n\t "); trimmed != "" {
				texts = append(texts, trimmed)
			}
			return err
		}))
	}
	return texts, err
}

// write prints each text once, after the names of all modules that have it.
func write(out io.Writer, linked []*module) error {
	names := map[string][]string{}
	var order []string
	var problems []error
	for _, m := range linked {
		texts, err := m.texts()
		problems = append(problems, err)
		for _, text := range texts {
			if names[text] == nil {
				order = append(order, text)
			}
			if !slices.Contains(names[text], m.name) {
				names[text] = append(names[text], m.name)
			}
		}
	}
	if err := errors.Join(problems...); err != nil {
		return err
	}
	line := strings.Repeat("=", 80)
	for _, text := range order {
		if _, err := fmt.Fprintf(out, "%s\n%s\n%s\n\n%s\n\n", line, strings.Join(names[text], "\n"), line, text); err != nil {
			return err
		}
	}
	return nil
}
