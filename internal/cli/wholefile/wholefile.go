// Package wholefile reads files up to a limit, and writes files atomically. An incomplete report would look
// like a complete one, and an incomplete export like one with fewer runs.
package wholefile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Name returns the name of a file for messages. The path "-" is standard input.
func Name(path string) string {
	if path == "-" {
		return "standard input"
	}
	return path
}

// Read reads a file, a pipe, or, if the path is "-", stdin. If it has more than limit bytes, Read returns an
// error, after limit bytes. It opens no folder, and no device: some devices never end.
func Read(path string, stdin io.Reader, limit int64) ([]byte, error) {
	source := stdin
	if path != "-" {
		file, err := open(path)
		if err != nil {
			return nil, err
		}
		defer func() { _ = file.Close() }() // After reading, a failed close loses no data.
		source = file
	}
	text, err := io.ReadAll(io.LimitReader(source, limit+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading %s: %w", Name(path), err)
	case int64(len(text)) > limit:
		return nil, fmt.Errorf("%s has more than %d MiB, the most that is read: split it, or remove what is not needed", Name(path), limit>>20)
	}
	return text, nil
}

// Head returns the first bytes of a regular file, at most size. It refuses a pipe, because after Head nobody
// else could read these bytes.
func Head(path string, size int64) ([]byte, error) {
	if info, err := os.Stat(path); err == nil && info.Mode().Type() == fs.ModeNamedPipe {
		return nil, fmt.Errorf("%s is a pipe, but is read several times: save it in a file first", path)
	}
	file, err := open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // After reading, a failed close loses no data.
	return io.ReadAll(io.LimitReader(file, size))
}

func open(path string) (*os.File, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil: // Open reports the error.
	case info.IsDir():
		return nil, fmt.Errorf("%s is a folder: name a file in it", path)
	case !info.Mode().IsRegular() && info.Mode().Type() != fs.ModeNamedPipe:
		return nil, fmt.Errorf("%s is a device or a socket: name a file or a pipe", path)
	}
	return os.Open(path)
}

// Save writes a file or, if the path is empty, out.
func Save(path string, out io.Writer, text []byte) error {
	if path == "" {
		_, err := out.Write(text)
		return err
	}
	return Write(path, text)
}

// Write writes a temporary file in the same folder, and renames it. If it fails, the existing file is
// unchanged. A file that is not a regular file, such as a pipe, cannot be replaced, so Write writes
// into it. A link to an existing file stays a link.
func Write(path string, text []byte) error {
	mode := fs.FileMode(0o666) // The umask applies.
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return os.WriteFile(path, text, mode)
	default:
		mode = info.Mode().Perm()
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return err
		}
	}
	return replace(path, text, mode)
}

func replace(path string, text []byte, mode fs.FileMode) (err error) {
	draft := fmt.Sprintf("%s.%d.tmp", path, os.Getpid())
	file, err := os.OpenFile(draft, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(draft))
		}
	}()
	_, err = file.Write(text)
	// Without Sync, a power failure may leave the new name without the content.
	err = errors.Join(err, file.Sync(), file.Close())
	if err != nil {
		return err
	}
	return os.Rename(draft, path)
}
