package sqlstore

import (
	"encoding/binary"
	"os"
	"sync"
)

// A walHeader is what SQLite's index of the write-ahead log says of the database: how many frames the log has, their
// checksum, its salts, and a counter of commits (https://sqlite.org/walformat.html#the_wal_index_header). No commit
// leaves it as it was.
type walHeader [48]byte

const (
	walCounter = 8  // where the counter of commits is, in the byte order of the machine
	walInit    = 12 // where a byte is that is 1 once there is a header
)

// commits returns the counter of commits.
func (h *walHeader) commits() uint32 { return binary.NativeEndian.Uint32(h[walCounter:]) }

// A walIndex is the index of one database's write-ahead log, in memory that all processes share. To look at it takes no
// system call.
//
// SQLite locks parts of the index's file, and to close a file gives up the locks that the process has on it, by
// whichever descriptor. So all that have one database open in this process share one descriptor, which is closed after
// the last of their connections.
type walIndex struct {
	users  int         // under walIndexes.mu
	base   os.FileInfo // of the database
	mu     sync.Mutex
	file   *os.File
	mapped []byte // nil: it is not mapped
}

var walIndexes struct {
	mu  sync.Mutex
	all []*walIndex
}

// useWALIndex returns the index for a database, before a connection to that is made.
func useWALIndex(base os.FileInfo) *walIndex {
	walIndexes.mu.Lock()
	defer walIndexes.mu.Unlock()
	for _, x := range walIndexes.all {
		if os.SameFile(x.base, base) {
			x.users++
			return x
		}
	}
	x := &walIndex{users: 1, base: base}
	walIndexes.all = append(walIndexes.all, x)
	return x
}

// leave gives the index up, once no connection of its user is open.
func (x *walIndex) leave() error {
	walIndexes.mu.Lock()
	defer walIndexes.mu.Unlock()
	if x.users--; x.users > 0 {
		return nil
	}
	for i, other := range walIndexes.all {
		if other == x {
			walIndexes.all = append(walIndexes.all[:i:i], walIndexes.all[i+1:]...)
			break
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.unmap()
}

// attach maps the file of the index, which is there as long as a connection is open. Where that cannot be done, SQLite
// is asked instead.
func (x *walIndex) attach(path string) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	now, err := os.Stat(path)
	if err != nil {
		return err
	}
	if x.file != nil {
		if was, err := x.file.Stat(); err == nil && os.SameFile(was, now) {
			return nil
		}
		if err := x.unmap(); err != nil { // of a file that SQLite has removed
			return err
		}
	}
	if x.file, err = os.Open(path); err != nil {
		return err
	}
	x.mapped = mapped(x.file, 2*len(walHeader{}))
	return nil
}

// unmap closes the file. The lock must be held.
func (x *walIndex) unmap() (err error) {
	if x.mapped != nil {
		err = unmapped(x.mapped)
		x.mapped = nil
	}
	if x.file != nil {
		if closing := x.file.Close(); err == nil {
			err = closing
		}
		x.file = nil
	}
	return err
}

// header returns the header as it is now, unless it is being written or a process died as it wrote it: there are two
// copies, which are written in the other order than they are read here.
func (x *walIndex) header() (h walHeader, ok bool) {
	if x == nil {
		return h, false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.mapped == nil {
		return h, false
	}
	const attempts = 100
	for range attempts {
		var second walHeader
		copy(h[:], x.mapped)
		copy(second[:], x.mapped[len(h):])
		if h == second && h[walInit] == 1 {
			return h, true
		}
	}
	return walHeader{}, false
}
