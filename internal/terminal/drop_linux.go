package terminal

import "golang.org/x/sys/unix"

func (t tty) drop() error { return unix.IoctlSetInt(int(t.Fd()), unix.TCFLSH, unix.TCIFLUSH) }
