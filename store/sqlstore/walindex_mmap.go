//go:build linux || darwin

package sqlstore

import (
	"os"
	"syscall"
)

// maxDescriptors is how many file descriptors of the process are looked at.
const maxDescriptors = 4096

// mapped returns the first bytes of a file that is open in this process, as all processes see them; nil if it cannot be
// mapped. It does not open the file: SQLite locks parts of it, and to close any descriptor of a file gives up all locks
// that the process has on it.
func mapped(file os.FileInfo, size int) []byte {
	want, ok := file.Sys().(*syscall.Stat_t)
	if !ok || file.Size() < int64(size) {
		return nil
	}
	for fd := range maxDescriptors {
		var is syscall.Stat_t
		if syscall.Fstat(fd, &is) != nil || is.Dev != want.Dev || is.Ino != want.Ino {
			continue
		}
		if b, err := syscall.Mmap(fd, 0, size, syscall.PROT_READ, syscall.MAP_SHARED); err == nil {
			return b
		}
	}
	return nil
}

func unmapped(b []byte) error { return syscall.Munmap(b) }
