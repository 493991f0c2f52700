//go:build linux || darwin || freebsd

package files

import (
	"errors"
	"io/fs"
	"syscall"
)

// A node is a file, or none.
type node struct {
	kind     kind
	linked   bool // it has more than one name
	dev, ino uint64
}

// same reports whether two nodes are the same file.
func (n *node) same(other *node) bool {
	return n.kind != none && other.kind != none && n.dev == other.dev && n.ino == other.ino
}

// device returns the file system of a file.
func (n *node) device() uint64 { return n.dev }

// look returns the file at a path, with its last link followed or not. Its errors are those of [os.Lstat] to
// [errors.Is].
func look(path string, follow bool) (node, error) {
	var s syscall.Stat_t
	err := error(syscall.EINTR)
	for err == syscall.EINTR {
		if follow {
			err = syscall.Stat(path, &s)
		} else {
			err = syscall.Lstat(path, &s)
		}
	}
	if err != nil {
		return node{}, err
	}
	n := node{kind: special, linked: s.Nlink > 1, dev: uint64(s.Dev), ino: uint64(s.Ino)}
	switch uint32(s.Mode) & syscall.S_IFMT {
	case syscall.S_IFREG:
		n.kind = regular
	case syscall.S_IFDIR:
		n.kind = folder
	case syscall.S_IFLNK:
		n.kind = link
	}
	return n, nil
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
