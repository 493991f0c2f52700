//go:build linux || darwin || freebsd

package files

import (
	"errors"
	"io/fs"
	"syscall"
)

// linked reports whether a file has more than one name.
func linked(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && s.Nlink > 1
}

// ownerOf returns whose a file is.
func ownerOf(info fs.FileInfo) (owner, bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return owner{}, false
	}
	return owner{int(s.Uid), int(s.Gid)}, true
}

// readOnly reports whether the file system of a path is mounted read-only.
func readOnly(path string) bool {
	const write = 2 // W_OK
	return errors.Is(syscall.Access(path, write), syscall.EROFS)
}
