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
}

// follow goes through a path as the system does, name by name: through links, those that lead nowhere yet included, and
// through ".." where links have led it to. In /proc, whose links lead each process elsewhere, it ends.
func follow(path string) end { return new(disk).follow(path) }

func (d *disk) follow(path string) end {
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
	e := end{path: w.at, unsure: w.unsure, blind: w.blind, process: w.process}
	if n, err := d.lstat(w.at); err == nil {
		e.node = n
		e.unsure = e.unsure || n.kind == regular && n.linked
	}
	return e
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
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
		w.at = next
	case err != nil:
		w.at, w.unsure = next, true
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
