//go:build !unix

package owner

import "syscall"

// apart has a process live on when this one ends, which it does here.
func apart() *syscall.SysProcAttr { return nil }
