//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package audit

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A turn is that of the file at the path, also if another one has replaced it since the last turn, and while it lasts nobody else has it.
func TestTurns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	own := turns{path: path}
	t.Cleanup(func() { _ = own.close() })
	for _, replace := range []func() error{
		func() error { return nil },
		func() error { return os.Remove(path) },
		func() error { return errors.Join(os.Rename(path, path+".old"), os.WriteFile(path, nil, 0o600)) },
	} {
		if err := replace(); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			end, err := own.take()
			if err != nil {
				t.Fatal(err)
			}
			other, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			try := func() error { return syscall.Flock(int(other.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }
			if err := try(); !errors.Is(err, syscall.EWOULDBLOCK) {
				t.Errorf("another one tried to take its turn during this one: %v", err)
			}
			if end(); try() != nil {
				t.Error("the turn did not end")
			}
			_ = other.Close()
		}
	}
	if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o700)); err != nil {
		t.Fatal(err)
	}
	if _, err := own.take(); err == nil {
		t.Error("a directory was locked")
	}
}
