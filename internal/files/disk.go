package files

import "sync"

// A disk is the file system as one look-up has seen it: it asks about each name once. The zero disk has seen nothing.
// It is not safe for concurrent use, and emptied after each call, since files change.
type disk struct {
	seen    map[string]entry
	folders map[string]node // that are known to be there now, beforehand

	device    uint64 // the last one that was asked about
	processes bool   // it is the file system of processes
}

// An entry is the outcome of one look at a name, its last link not followed.
type entry struct {
	node node
	err  error
}

// usualNames is about how many names a call has looked up: those of Weir's own files, and a few of its own.
const usualNames = 32

// newDisk returns one that has seen nothing, with the memory of an earlier one.
func newDisk(earlier *sync.Pool) *disk {
	if d, ok := earlier.Get().(*disk); ok {
		return d
	}
	return &disk{seen: make(map[string]entry, usualNames)}
}

// release gives up a disk, which has seen nothing from then on.
func (d *disk) release(earlier *sync.Pool) {
	if len(d.seen) <= 4*usualNames {
		clear(d.seen)
		d.folders, d.device, d.processes = nil, 0, false
		earlier.Put(d)
	}
}

// lstat is [os.Lstat]. It is the one place that looks at names that others chose, and does not look at those on other
// machines. The folder of the name has to be free of links, which the system would follow.
func (d *disk) lstat(path string) (node, error) {
	if n, ok := d.folders[path]; ok {
		return n, nil
	}
	e, ok := d.seen[path]
	if !ok {
		if isElsewhere(path) {
			e.err = errElsewhere
		} else {
			e.node, e.err = look(path, false)
		}
		if d.seen == nil {
			d.seen = make(map[string]entry, usualNames)
		}
		d.seen[path] = e
	}
	return e.node, e.err
}

// isProc reports whether a file is a folder in a file system of processes.
func (d *disk) isProc(path string, n *node) bool {
	if n.kind == folder && n.device() != d.device {
		d.device, d.processes = n.device(), isProc(path)
	}
	return n.kind == folder && d.processes
}

// stat returns the file that a path leads to, of which the folder has no links; none if nothing is there.
func (d *disk) stat(path string) node {
	n, err := d.lstat(path)
	switch {
	case err == nil && n.kind == link:
		return d.walk(path).node
	case err == nil && n.kind == irregular:
		n, err = look(path, true)
	}
	if err != nil {
		return node{}
	}
	return n
}

// nodes returns the files at the paths.
func (d *disk) nodes(paths []string) []node {
	nodes := make([]node, len(paths))
	for i, p := range paths {
		nodes[i] = d.stat(p)
	}
	return nodes
}

// A kind is that of a file.
type kind uint8

const (
	none kind = iota
	regular
	folder
	link
	irregular // a junction of Windows that Go does not follow
	special
)
