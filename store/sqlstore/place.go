package sqlstore

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/weir-mcp/weir/internal/hosterror"
	"github.com/weir-mcp/weir/internal/lasting"
	"github.com/weir-mcp/weir/store"
)

// ErrMoved is the kind of error of an SQLite database whose file was moved, removed, replaced or closed while it was
// open. It is over when the same file is back as it was.
var ErrMoved = hosterror.New("the store's file is not as it was opened: see weir status").Because(store.ErrUnavailable)

// ErrExposed is the kind of error of a file that others than its owner may read or write.
var ErrExposed = errors.New("others may read the file of the database")

// A place is the file of an SQLite database, and those that SQLite keeps beside it while it is open.
type place struct {
	path string // absolute, without links
	held []heldFile
	ro   bool // opened for reading: its modes do not matter

	kept lasting.Kept[fault]
}

type heldFile struct {
	path  string
	info  os.FileInfo
	least int64 // bytes that the file has at least
}

// findPlace returns the place of a file. One that is not there is made, readable by its owner only, if that is wanted.
func findPlace(path string, create bool) (*place, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if create {
		if err := makeFile(path); err != nil {
			return nil, err
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no file: its mode is %v", path, info.Mode())
	}
	p := &place{held: []heldFile{{path: path, info: info}}}
	p.path, err = filepath.EvalSymlinks(path)
	return p, err
}

// makeFile makes a file that is not there, so that its mode is not left to the umask.
func makeFile(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// hold adds the files beside the database, which are there as long as a connection is open.
func (p *place) hold() error {
	for _, suffix := range [...]string{"-wal", "-shm"} {
		info, err := os.Stat(p.path + suffix)
		if err != nil {
			return err
		}
		f := heldFile{path: p.path + suffix, info: info}
		if suffix == "-shm" { // which SQLite has in memory, and makes no shorter
			f.least = info.Size()
		}
		p.held = append(p.held, f)
	}
	return nil
}

// check returns an error that is ErrMoved unless the files at the paths are those that are open, and may be written by
// their owner alone. A nil place is always right. A connection that is open goes on in a file that is gone, and one
// that is opened anew makes the files beside it anew: both lose committed transactions.
func (p *place) check() error {
	if p == nil {
		return nil
	}
	return p.kept.Get(p.look).error
}

// checkWritable is check before a write: a file system may become read-only by itself, of which nobody tells.
func (p *place) checkWritable() error {
	if err := p.check(); err != nil || p == nil {
		return err
	}
	return p.writable()
}

func (p *place) writable() error {
	if p.ro {
		return nil
	}
	if err := writable(p.held[0].path); err != nil {
		return fmt.Errorf("%w: %w", ErrMoved, &os.PathError{Op: "writing", Path: p.held[0].path, Err: err})
	}
	return nil
}

// A fault is the reason why the files are not as they were opened; nil if they are.
type fault struct{ error }

// look compares the files at the paths with those that are open.
func (p *place) look() (fault, lasting.Names) {
	names := lasting.Names{}
	for i := range p.held {
		f := &p.held[i]
		info, err := os.Stat(f.path)
		switch {
		case err != nil:
			return fault{fmt.Errorf("%w: %w", ErrMoved, err)}, nil
		case !os.SameFile(f.info, info):
			return fault{fmt.Errorf("%w: another file is at %s", ErrMoved, f.path)}, nil
		case info.Size() < f.least:
			return fault{fmt.Errorf("%w: %s was cut from %d bytes to %d", ErrMoved, f.path, f.least, info.Size())}, nil
		case p.ro:
		case info.Mode().Perm()&0o077 != 0:
			return fault{fmt.Errorf("%w: %w: the mode of %s is %v, not 0600", ErrMoved, ErrExposed, f.path, info.Mode())}, nil
		}
		if names[f.path] = lasting.Mode; f.least > 0 {
			names[f.path] = lasting.Length
		}
	}
	if err := p.writable(); err != nil || len(p.held) == 1 { // others follow
		return fault{err}, nil
	}
	return fault{}, names
}

// A placed connector opens connections to the file at a place, and to no other.
type placed struct {
	driver.Connector
	place *place
}

// Connect implements [driver.Connector].
func (c placed) Connect(ctx context.Context) (driver.Conn, error) {
	if err := c.place.check(); err != nil {
		return nil, err
	}
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.place.check(); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}
