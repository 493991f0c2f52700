//go:build !linux && !darwin && !freebsd

package files

import (
	"io/fs"
	"os"
)

// A node is a file, or none.
type node struct {
	kind   kind
	linked bool // it has more than one name, which this system does not tell
	info   fs.FileInfo
}

// same reports whether two nodes are the same file.
func (n *node) same(other *node) bool {
	return n.kind != none && other.kind != none && os.SameFile(n.info, other.info)
}

// device returns the file system of a file, which this system does not tell.
func (n *node) device() uint64 { return 0 }

// look returns the file at a path, with its last link followed or not.
func look(path string, follow bool) (node, error) {
	ask := os.Lstat
	if follow {
		ask = os.Stat
	}
	info, err := ask(path)
	if err != nil {
		return node{}, err
	}
	n := node{kind: special, info: info}
	switch mode := info.Mode(); {
	case mode&fs.ModeSymlink != 0:
		n.kind = link
	case mode&fs.ModeIrregular != 0:
		n.kind = irregular
	case mode.IsRegular():
		n.kind = regular
	case mode.IsDir():
		n.kind = folder
	}
	return n, nil
}

// ownerOf returns whose a file is, which this system says in another way.
func ownerOf(fs.FileInfo) (owner, bool) { return owner{}, false }

// readOnly reports whether nobody can write the file or folder at a path.
func readOnly(string) bool { return false }
