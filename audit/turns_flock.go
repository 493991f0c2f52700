//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package audit

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Turns are taken by the lock of a file, which stays open: to open it for each turn takes longer than the turn. They
// must not be used concurrently.
type turns struct {
	path string
	f    *os.File // nil: it is not open
	info os.FileInfo
}

// take waits for the turn. A file that another one has replaced locks nothing any more.
func (t *turns) take() (end func(), err error) {
	for {
		if t.f == nil {
			if err := t.open(); err != nil {
				return nil, err
			}
		}
		if err := t.lock(syscall.LOCK_EX); err != nil {
			return nil, err
		}
		there, err := os.Stat(t.path)
		if err == nil && os.SameFile(there, t.info) {
			return t.end, nil
		}
		if err := t.close(); err != nil {
			return nil, err
		}
	}
}

// end ends the turn.
func (t *turns) end() {
	if t.lock(syscall.LOCK_UN) != nil {
		_ = t.close() // which ends it too
	}
}

func (t *turns) open() (err error) {
	if t.f, err = os.OpenFile(t.path, os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		t.f = nil
		return err
	}
	if t.info, err = t.f.Stat(); err != nil {
		return errors.Join(err, t.close())
	}
	return nil
}

func (t *turns) lock(how int) error {
	for {
		err := syscall.Flock(int(t.f.Fd()), how)
		if err == nil {
			return nil
		}
		if !errors.Is(err, syscall.EINTR) {
			return fmt.Errorf("locking %s: %w", t.path, err)
		}
	}
}

func (t *turns) close() error {
	f := t.f
	if t.f = nil; f == nil {
		return nil
	}
	return f.Close()
}
