//go:build unix

package owner

import "syscall"

// apart has a process live on when the terminal or the session of this one ends.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
