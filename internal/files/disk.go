package files

import (
	"io/fs"
	"os"
)

// A disk is what one look-up has seen of the file system: it asks about each name once. The zero disk has seen nothing.
// It is not safe for concurrent use, and made anew for each call, since files change.
type disk struct{ seen map[string]entry }

// An entry is the outcome of one look at a name, its last link not followed.
type entry struct {
	info fs.FileInfo
	err  error
}

// lstat is [os.Lstat].
func (d *disk) lstat(path string) (fs.FileInfo, error) {
	e, ok := d.seen[path]
	if !ok {
		if e.info, e.err = os.Lstat(path); d.seen == nil {
			d.seen = map[string]entry{}
		}
		d.seen[path] = e
	}
	return e.info, e.err
}

// stat returns the info of the file that a path leads to, nil if there is none.
func (d *disk) stat(path string) fs.FileInfo {
	info, err := d.lstat(path)
	if err != nil {
		return nil
	}
	if info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0 {
		info, _ = os.Stat(path)
	}
	return info
}

// infos returns the infos of the files at the paths; nil for a missing one.
func (d *disk) infos(paths []string) []fs.FileInfo {
	infos := make([]fs.FileInfo, len(paths))
	for i, p := range paths {
		infos[i] = d.stat(p)
	}
	return infos
}
