//go:build linux || darwin

package program

import (
	"fmt"

	"syscall"
)

// confine has the system bound the memory of the process, beside the look of [Serve] at it: one operation may ask for
// much at once. The process can write no file of any size and open no more of them, whatever it is made to do.
func confine() error {
	for _, l := range []struct {
		of  int
		max uint64
	}{{syscall.RLIMIT_DATA, 3 * MaxMemory}, {syscall.RLIMIT_CORE, 0}, {syscall.RLIMIT_FSIZE, 0}} {
		if err := syscall.Setrlimit(l.of, &syscall.Rlimit{Cur: l.max, Max: l.max}); err != nil {
			return fmt.Errorf("bounding the process of a program: %w", err)
		}
	}
	return nil
}
