//go:build !linux

package sqlstore

import (
	"syscall"
	"time"
)

// userTimeout bounds nothing here; keepalives do.
func userTimeout(time.Duration) func(network, address string, c syscall.RawConn) error { return nil }

// readOnlyMount reports whether nobody can write to a file since it is mounted so. Here that is not known, and a copy
// is read.
func readOnlyMount(string) bool { return false }
