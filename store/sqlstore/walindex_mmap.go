//go:build linux || darwin

package sqlstore

import (
	"os"
	"syscall"
)

// mapped returns the first bytes of a file as all processes see them; nil if it cannot be mapped.
func mapped(f *os.File, size int) []byte {
	if info, err := f.Stat(); err != nil || info.Size() < int64(size) {
		return nil
	}
	b, err := syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil
	}
	return b
}

func unmapped(b []byte) error { return syscall.Munmap(b) }
