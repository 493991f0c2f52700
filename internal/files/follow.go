package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// maxLinks is how many symbolic links a path may go through, as on Linux.
const maxLinks = 40

// An end is where a path leads.
type end struct {
	path   string
	node   node // none if nothing is there
	unsure bool // it may be another file

	blind   bool   // it may be any file: only the process that opens it finds out which
	process string // in whose folder of /proc it is, by its number, "self" and the like; "" if in none
	far     bool   // it is, or was on the way, on another machine that a name of the path chooses: nobody looked
}

// follow goes through a path as the system does, name by name: through links, those that lead nowhere yet included, and
// through ".." where links have led it to. In /proc, whose links lead each process elsewhere, it ends.
func follow(path string) end { return new(disk).follow(path) }

func (d *disk) follow(path string) end {
	if e, ok := d.plainly(path); ok {
		return e
	}
	return d.walk(path)
}

// walk is follow for a path of any form.
func (d *disk) walk(path string) end {
	w := walk{disk: d}
	w.begin(path)
	for len(w.rest) > 0 && w.links <= maxLinks {
		name := w.rest[0]
		w.rest = w.rest[1:]
		switch name {
		case "", ".":
		case "..":
			w.at = filepath.Dir(w.at)
		default:
			w.step(name)
		}
	}
	if w.links > maxLinks {
		w.unsure = true
		w.at = filepath.Join(append([]string{w.at}, w.rest...)...)
	}
	e := end{path: w.at, unsure: w.unsure, blind: w.blind, process: w.process, far: w.far}
	if w.blind {
		return e // to look would be to go there
	}
	if n, err := d.lstat(w.at); err == nil {
		e.node = n
		e.unsure = e.unsure || n.kind == regular && n.linked
	}
	return e
}

// plainly is follow for a path without links. It reports whether the path is one, and looks at the same names.
func (d *disk) plainly(path string) (e end, ok bool) {
	if sep != "/" || len(path) < 2 || path[0] != '/' || filepath.Clean(path) != path {
		return e, false
	}
	if strings.HasPrefix(path, "/proc") || strings.HasPrefix(path, "/dev/fd") {
		return e, false
	}
	var err error
	for i := 1; i <= len(path); i++ {
		if i < len(path) && path[i] != '/' {
			continue
		}
		e.path = path[:i]
		e.node, err = d.lstat(e.path)
		if err != nil && !isMissing(err) || e.node.kind == link || e.node.kind == irregular || d.isProc(e.path, &e.node) {
			return e, false
		}
	}
	e.unsure = e.node.kind == regular && e.node.linked
	return e, true
}

// isMissing reports whether an error says that nothing is there.
func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// A walk is on its way through a path.
type walk struct {
	disk   *disk
	at     string
	rest   []string
	links  int
	unsure bool

	blind   bool // as in an end
	process string
	far     bool
}

func (w *walk) begin(path string) {
	volume := filepath.VolumeName(path)
	w.at = volume + sep
	w.rest = append(strings.FieldsFunc(path[len(volume):], isSeparator), w.rest...)
}

func isSeparator(r rune) bool { return r < 128 && os.IsPathSeparator(uint8(r)) }

func (w *walk) step(name string) {
	next := strings.TrimSuffix(w.at, sep) + sep + name
	switch next {
	case "/proc":
		w.proc(next)
		return
	case "/dev/fd":
		w.descriptors()
		return
	}
	n, err := w.disk.lstat(next)
	switch {
	case isMissing(err):
		w.at = next
	case err != nil:
		w.at, w.unsure = next, true
		w.far = w.far || errors.Is(err, errElsewhere)
	case w.disk.isProc(next, &n):
		w.proc(next)
	case n.kind != link:
		w.unsure = w.unsure || n.kind == irregular
		w.at = next
	default:
		w.links++
		to, err := os.Readlink(next)
		switch {
		case err != nil:
			w.at, w.unsure = next, true
		case filepath.IsAbs(to):
			w.begin(to)
		default:
			w.rest = append(strings.FieldsFunc(to, isSeparator), w.rest...)
		}
	}
}
