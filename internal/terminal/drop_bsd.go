//go:build unix && !linux

package terminal

import "golang.org/x/sys/unix"

func (t tty) drop() error {
	const read = 1 // FREAD
	return unix.IoctlSetPointerInt(int(t.Fd()), unix.TIOCFLUSH, read)
}
