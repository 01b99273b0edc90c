// Command mutate draws mutations by seed, and counts how many of them the storm and TestSameness catch.
//
//	go run ./hack/mutate SEED COUNT STORIES [PATH...]
//
// Gremlins lists the mutations in the folders or files, by default those of restore, journal, lock, signature and teardown
// (go install github.com/go-gremlins/gremlins/cmd/gremlins@latest). One build has all drawn mutations, and a variable of the
// environment chooses one; the working tree does not change. A mutation is caught if one of STORIES stories fails, half of
// them of sweeps and half of benchmarks, or if decisions differ from the recorded ones. FIRST=7 continues with the 7th.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const module = "github.com/cephtune/cephtune"

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

// paths are those of restore, journal, lock, signature and teardown.
func paths() []string {
	return []string{
		"controllers/cephtuningsweep/restore.go", "internal/clients/leftovers", "internal/clients/teardown", "internal/lock", "internal/signature", "internal/tuning/journals",
		"internal/tuning/engine.go", "internal/tuning/journal.go", "internal/tuning/restore.go", "internal/tuning/store.go", "internal/tuning/takeover.go",
	}
}

func run(ctx context.Context, args []string) error {
	usage := errors.New("usage: mutate SEED COUNT STORIES [PATH...]")
	if len(args) < 3 {
		return usage
	}
	var numbers [3]int
	for i := range numbers {
		n, err := strconv.Atoi(args[i])
		if err != nil || n < 0 {
			return usage
		}
		numbers[i] = n
	}
	seed, count, stories := numbers[0], numbers[1], numbers[2]
	within := args[3:]
	if len(within) == 0 {
		within = paths()
	}
	folder, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder) //nolint:errcheck // The system clears temporary files.
	b := &build{folder: folder, module: ".", programs: map[string]string{}}
	all, err := b.list(ctx, within)
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(uint64(seed), 0)) //nolint:gosec // The draw must be the same again.
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	drawn, err := b.draw(ctx, all, count)
	if err != nil {
		return err
	}
	caught, judged, err := b.judgeAll(ctx, drawn, stories)
	if err == nil {
		fmt.Printf("%d of %d mutations caught, drawn from %d with seed %d\n", caught, judged, len(all), seed)
	}
	return err
}

// build compiles tests with mutations.
type build struct {
	folder, module string
	// programs has the test programs that were built, by mutation and package.
	programs map[string]string
	// alone has the mutations, by number, that cannot be switched. Each has a build of its own.
	alone map[int]bool
}

// coverage is a Go command that measures no coverage, so that gremlins lists every mutation and runs no test.
const coverage = `#!/bin/sh
[ "$1" = test ] || exec %s "$@"
while [ $# -gt 1 ]; do [ "$1" = -coverprofile ] && echo 'mode: set' >"$2"; shift; done
`

// list returns the mutations in folders and files.
func (b *build) list(ctx context.Context, within []string) ([]mutation, error) {
	program, err := exec.LookPath("go")
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(b.folder, "go"), fmt.Appendf(nil, coverage, program), 0o700); err != nil { //nolint:gosec // It is a program.
		return nil, err
	}
	folders := map[string]bool{}
	var all []mutation
	listed := regexp.MustCompile(`(?:NOT COVERED|RUNNABLE) (\w+) at (\S+):(\d+):(\d+)`)
	for _, path := range within {
		folder := path
		if strings.HasSuffix(path, ".go") {
			folder = filepath.Dir(path)
		}
		if folders[folder] {
			continue
		}
		folders[folder] = true
		cmd := exec.CommandContext(ctx, "gremlins", "unleash", "--dry-run", "--invert-logical", "--invert-loopctrl", "./"+folder) //nolint:gosec // A developer names the folders.
		cmd.Dir, cmd.Env = b.module, append(os.Environ(), "PATH="+b.folder+":"+os.Getenv("PATH"))
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("gremlins: %w: %s", err, out)
		}
		for _, found := range listed.FindAllStringSubmatch(string(out), -1) {
			line, _ := strconv.Atoi(found[3])
			column, _ := strconv.Atoi(found[4])
			m := mutation{file: folder + "/" + found[2], line: line, column: column, kind: found[1]}
			if slices.ContainsFunc(within, func(path string) bool { return m.file == path || strings.HasPrefix(m.file, path+"/") }) {
				all = append(all, m)
			}
		}
	}
	slices.SortFunc(all, compare)
	return all, nil
}

// draw returns the first mutations that compile, by number.
func (b *build) draw(ctx context.Context, all []mutation, count int) (map[int]mutation, error) {
	drawn := map[int]mutation{}
	for _, m := range all {
		if len(drawn) == count {
			break
		}
		text, err := b.replaced(m)
		if err != nil {
			return nil, err
		}
		if b.compiles(ctx, m.file, text) {
			drawn[len(drawn)+1] = m
		}
	}
	return drawn, b.findAlone(ctx, drawn)
}

// findAlone finds the mutations that cannot be switched, such as those of constants.
func (b *build) findAlone(ctx context.Context, drawn map[int]mutation) error {
	b.alone = map[int]bool{}
	for file, mutations := range byFile(drawn) {
		text, err := b.switchedFile(file, mutations)
		if err != nil {
			return err
		}
		if b.compiles(ctx, file, text) {
			continue
		}
		for n, m := range mutations {
			text, err := b.switchedFile(file, map[int]mutation{n: m})
			if err != nil {
				return err
			}
			b.alone[n] = !b.compiles(ctx, file, text)
		}
	}
	return nil
}

func byFile(drawn map[int]mutation) map[string]map[int]mutation {
	files := map[string]map[int]mutation{}
	for n, m := range drawn {
		if files[m.file] == nil {
			files[m.file] = map[int]mutation{}
		}
		files[m.file][n] = m
	}
	return files
}

// replaced returns the text of a file with a mutation.
func (b *build) replaced(m mutation) (string, error) {
	data, err := os.ReadFile(filepath.Join(b.module, m.file))
	if err != nil {
		return "", err
	}
	lines := strings.Split(string(data), "\n")
	line := lines[m.line-1]
	for from, to := range swaps()[m.kind] {
		rest, found := strings.CutPrefix(line[m.column-1:], from.String())
		longer := strings.HasPrefix(rest, "=") && (from.String() == "<" || from.String() == ">")
		if found && !longer {
			lines[m.line-1] = line[:m.column-1] + to.String() + rest
			return strings.Join(lines, "\n"), nil
		}
	}
	return "", nil // There is no such token, as in +=.
}

// switchedFile returns the text of a file with switched mutations; "" if one of them cannot be switched.
func (b *build) switchedFile(file string, mutations map[int]mutation) (string, error) {
	data, err := os.ReadFile(filepath.Join(b.module, file))
	if err != nil {
		return "", err
	}
	s, err := sitesOf(string(data), mutations)
	if err != nil {
		return "", err
	}
	for n := range mutations {
		if !s.contains(n) {
			return "", nil
		}
	}
	return s.all(module), nil
}

// compiles reports whether a package compiles with another text of a file.
func (b *build) compiles(ctx context.Context, file, text string) bool {
	overlay, err := b.overlay(map[string]string{file: text})
	if text == "" || err != nil {
		return false
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-overlay", overlay, "./"+filepath.Dir(file)) //nolint:gosec // The file is one of this module.
	cmd.Dir = b.module
	return cmd.Run() == nil
}

// overlay writes texts of files, and returns the file that names them to the compiler.
func (b *build) overlay(texts map[string]string) (string, error) {
	root, err := filepath.Abs(b.module)
	if err != nil {
		return "", err
	}
	texts["mutant/mutant.go"] = mutant
	names := map[string]string{}
	for file, text := range texts {
		name := filepath.Join(b.folder, strings.ReplaceAll(file, "/", "-"))
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			return "", err
		}
		names[filepath.Join(root, file)] = name
	}
	data, err := json.Marshal(map[string]any{"Replace": names})
	if err != nil {
		return "", err
	}
	path := filepath.Join(b.folder, "overlay.json")
	return path, os.WriteFile(path, data, 0o600)
}

// program compiles the tests of a package with all drawn mutations, or with one that has a build of its own.
func (b *build) program(ctx context.Context, drawn map[int]mutation, n int, name string) (string, error) {
	alone := 0
	if b.alone[n] {
		alone = n
	}
	key := fmt.Sprintf("%s-%d.test", name, alone)
	if path, built := b.programs[key]; built {
		return path, nil
	}
	texts, err := b.texts(drawn, alone)
	if err != nil {
		return "", err
	}
	overlay, err := b.overlay(texts)
	if err != nil {
		return "", err
	}
	path := filepath.Join(b.folder, key)
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", path, "./controllers/"+name) //nolint:gosec // The package is one of two.
	cmd.Dir = b.module
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	b.programs[key] = path
	return path, nil
}

// texts returns the files with one mutation, or with all that can be switched.
func (b *build) texts(drawn map[int]mutation, alone int) (map[string]string, error) {
	if alone != 0 {
		text, err := b.replaced(drawn[alone])
		return map[string]string{drawn[alone].file: text}, err
	}
	switched := maps.Clone(drawn)
	maps.DeleteFunc(switched, func(n int, _ mutation) bool { return b.alone[n] })
	texts := map[string]string{}
	for file, mutations := range byFile(switched) {
		text, err := b.switchedFile(file, mutations)
		if err != nil {
			return nil, err
		}
		texts[file] = text
	}
	return texts, nil
}

// trial is a test that judges. A mutation passes all of them, in their order, or is caught.
type trial struct {
	name, test    string
	seed, stories int
}

// trials begin with a few stories of each kind, because most mutations fail soon.
func trials(stories int) []trial {
	each := max(1, stories/2)
	few := min(each, 50)
	all := []trial{
		{"cephbenchmark", "TestStorm", 1, few}, {"cephtuningsweep", "TestStorm", 1, few}, {"cephtuningsweep", "TestSameness", 0, 0},
	}
	if each > few {
		all = append(all, trial{"cephtuningsweep", "TestStorm", few + 1, each - few}, trial{"cephbenchmark", "TestStorm", few + 1, each - few})
	}
	return all
}

// judgeAll prints the verdict on each mutation.
func (b *build) judgeAll(ctx context.Context, drawn map[int]mutation, stories int) (caught, judged int, err error) {
	first, _ := strconv.Atoi(cmp.Or(os.Getenv("FIRST"), "1"))
	if verdict, reason, err := b.judge(ctx, drawn, 0, min(stories, 40)); err != nil || verdict != survived {
		return 0, 0, errors.Join(err, fmt.Errorf("without a mutation: %s: %s", verdict, reason))
	}
	for n := max(1, first); n <= len(drawn); n++ {
		verdict, reason, err := b.judge(ctx, drawn, n, stories)
		if err != nil {
			return caught, judged, err
		}
		judged++
		if verdict != survived {
			caught++
		}
		fmt.Printf("%d\t%s\t%s\t%s\n", n, drawn[n], verdict, reason)
	}
	return caught, judged, nil
}

const survived = "SURVIVED"

// secondsPerStory limits the processor time of a test; the first 200 seconds are free.
const secondsPerStory = 5

// judge runs the tests with a mutation; 0 is none.
func (b *build) judge(ctx context.Context, drawn map[int]mutation, n, stories int) (verdict, reason string, err error) {
	for _, each := range trials(stories) {
		program, err := b.program(ctx, drawn, n, each.name)
		if err != nil {
			return "", "", err
		}
		limit := strconv.Itoa(200 + secondsPerStory*each.stories)
		cmd := exec.CommandContext(ctx, "sh", "-c", `ulimit -t "$0" && exec "$@"`, limit, program, "-test.run=^"+each.test+"$", "-test.failfast", "-test.timeout=24h") //nolint:gosec // It runs the test.
		cmd.Dir = filepath.Join(b.module, "controllers", each.name)
		cmd.Env = append(os.Environ(), variable+"="+strconv.Itoa(n), "CEPHTUNE_STORM_SEED="+strconv.Itoa(each.seed), "CEPHTUNE_STORM_STORIES="+strconv.Itoa(each.stories))
		out, err := cmd.CombinedOutput()
		if err != nil {
			line := regexp.MustCompile(`(?m)^ *(?:[a-z ]+: |panic: |fatal error: |seed \d).*$`).FindString(string(out))
			return fmt.Sprintf("caught by %s of %s", each.test, each.name), cmp.Or(strings.TrimSpace(line[:min(len(line), 160)]), err.Error()), nil
		}
	}
	return survived, "", nil
}
