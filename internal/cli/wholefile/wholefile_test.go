package wholefile

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func TestRead(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "file"), []byte("abc"), 0o600))
	for path, c := range map[string]struct {
		limit int64
		want  string // the text, or a part of the error
	}{
		filepath.Join(dir, "file"):                  {3, "abc"},
		dir + "/../" + filepath.Base(dir) + "/file": {2, "has more than 0 MiB"},
		"-":                          {1 << 20, "has more than 1 MiB, the most that is read"},
		dir:                          {9, "is a folder: name a file in it"},
		"/dev/zero":                  {9, "is a device or a socket"},
		filepath.Join(dir, "nobody"): {9, "no such file"},
	} {
		got, err := Read(path, endless{}, c.limit)
		if err != nil {
			got = []byte(err.Error())
		}
		if !strings.Contains(string(got), c.want) {
			t.Errorf("%s: got %.100q, %v, want %q", path, got, err, c.want)
		}
	}
}

// endless is a standard input without an end.
type endless struct{}

func (endless) Read(buffer []byte) (int, error) { return len(buffer), nil }

func TestHeadLeavesAPipeToOthers(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "file"), []byte("abc"), 0o600))
	must(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	if head, err := Head(filepath.Join(dir, "file"), 2); err != nil || string(head) != "ab" {
		t.Errorf("%q, %v", head, err)
	}
	if _, err := Head(filepath.Join(dir, "pipe"), 2); err == nil || !strings.Contains(err.Error(), "is a pipe, but is read several times") {
		t.Errorf("%v", err)
	}
}

func TestWrite(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o022))
	const text = "kind: CephBenchmark\n"
	for name, tc := range map[string]struct {
		// prepare creates the existing files, and returns the path to write to.
		prepare func(t *testing.T, dir string) string
		mode    fs.FileMode
		left    []string
	}{
		"a new file":        {func(_ *testing.T, dir string) string { return filepath.Join(dir, "a") }, 0o644, []string{"a"}},
		"one that is there": {func(t *testing.T, dir string) string { return existing(t, dir, "a", 0o600) }, 0o600, []string{"a"}},
		"a link": {func(t *testing.T, dir string) string {
			existing(t, dir, "a", 0o640)
			must(t, os.Symlink("a", filepath.Join(dir, "link")))
			return filepath.Join(dir, "link")
		}, 0o640, []string{"a", "link"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := tc.prepare(t, dir)
			must(t, Write(path, []byte(text)))
			got, err := os.ReadFile(path)
			must(t, err)
			info, err := os.Stat(path)
			must(t, err)
			if string(got) != text || info.Mode() != tc.mode {
				t.Errorf("%v, %q", info.Mode(), got)
			}
			if left := names(t, dir); !slices.Equal(left, tc.left) {
				t.Errorf("%v is there, want %v", left, tc.left)
			}
			if link, err := os.Lstat(path); err != nil || (link.Mode()&fs.ModeSymlink != 0) != strings.HasSuffix(path, "link") {
				t.Errorf("%v, %v", link.Mode(), err)
			}
		})
	}
}

// If a file cannot be written completely, the old file stays as it was, and no other file remains.
func TestAFailureLeavesTheFileAsItWas(t *testing.T) {
	dir := t.TempDir()
	path := existing(t, dir, "a", 0o600)
	var before, limit syscall.Rlimit
	must(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before))
	limit = before
	limit.Cur = 4096
	must(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit))
	err := Write(path, make([]byte, 1<<20))
	must(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before))
	if err == nil {
		t.Error("a MiB was written where 4 KiB are allowed")
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "before" {
		t.Errorf("%v, %d bytes", err, len(got))
	}
	if left := names(t, dir); !slices.Equal(left, []string{"a"}) {
		t.Errorf("%v is there", left)
	}
}

func TestErrors(t *testing.T) {
	for _, path := range []string{filepath.Join(t.TempDir(), "no", "such", "folder"), t.TempDir(), ""} {
		if err := Write(path, nil); err == nil {
			t.Errorf("%q: got no error", path)
		}
	}
}

// Only files are replaced. Other things are written to: replacing a device would destroy it.
func TestAPipeIsWrittenInto(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	must(t, syscall.Mkfifo(path, 0o600))
	read := make(chan string)
	go func() {
		text, _ := os.ReadFile(path) // The test compares what it reads.
		read <- string(text)
	}()
	must(t, Write(path, []byte("text")))
	if got := <-read; got != "text" {
		t.Errorf("got %q", got)
	}
	if info, err := os.Stat(path); err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		t.Errorf("%v, %v", info, err)
	}
}

func existing(t *testing.T, dir, name string, mode fs.FileMode) string {
	t.Helper()
	path := filepath.Join(dir, name)
	must(t, os.WriteFile(path, []byte("before"), mode))
	must(t, os.Chmod(path, mode)) // whatever the umask is
	return path
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
