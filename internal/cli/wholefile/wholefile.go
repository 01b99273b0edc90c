// Package wholefile writes files atomically. An incomplete report would look like a complete
// one, and an incomplete export like one with fewer runs.
package wholefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

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
