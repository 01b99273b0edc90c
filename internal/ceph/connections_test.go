package ceph

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

func TestUnusedKeysAreRemoved(t *testing.T) {
	folder := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		kept, err := newConnections(folder)
		if err != nil {
			t.Fatal(err)
		}
		conf, keyring, release, err := kept.use(someone)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{conf, keyring} {
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %v, %v, want mode 0600", path, info, err)
			}
		}

		time.Sleep(2 * idleFor)
		removeIdle(t, kept)
		if _, err := os.Stat(keyring); err != nil {
			t.Errorf("the key in use is gone: %v", err)
		}

		release()
		time.Sleep(idleFor / 2)
		removeIdle(t, kept)
		if _, err := os.Stat(keyring); err != nil {
			t.Errorf("the key is gone too early: %v", err)
		}

		time.Sleep(idleFor)
		removeIdle(t, kept)
		if left, err := filepath.Glob(filepath.Join(folder, "*", "*")); err != nil || len(left) > 0 {
			t.Errorf("left: %v (%v)", left, err)
		}

		if _, _, _, err := kept.use(someone); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(keyring); err != nil {
			t.Errorf("the key did not come back: %v", err)
		}
	})
}

func removeIdle(t *testing.T, kept *connections) {
	t.Helper()
	if err := kept.removeIdle(); err != nil {
		t.Fatal(err)
	}
}

func TestConnectionsHaveFilesOfTheirOwn(t *testing.T) {
	kept, err := newConnections(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	other := someone
	other.Key = "AQAhugFrAAAAABAAzzzzzzzzzzzzzzzzzzzzzz=="
	paths := map[string]bool{}
	for _, connection := range []Connection{someone, someone, other} {
		conf, _, _, err := kept.use(connection)
		if err != nil {
			t.Fatal(err)
		}
		paths[conf] = true
	}
	if len(paths) != 2 {
		t.Errorf("two connections have %d files", len(paths))
	}
}

func TestKeysOfAnEarlierProcessAreRemoved(t *testing.T) {
	folder := t.TempDir()
	first, err := newConnections(folder)
	if err != nil {
		t.Fatal(err)
	}
	_, keyring, _, err := first.use(someone)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := newConnections(folder); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(keyring); !os.IsNotExist(err) {
		t.Errorf("the old key is still there (%v)", err)
	}
}
