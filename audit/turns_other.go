//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package audit

import "github.com/rogpeppe/go-internal/lockedfile"

// Turns are taken by the lock of a file. They must not be used concurrently.
type turns struct{ path string }

// take waits for the turn.
func (t *turns) take() (end func(), err error) { return lockedfile.MutexAt(t.path).Lock() }

func (t *turns) close() error { return nil }
