package sqlstore

import (
	"encoding/binary"
	"os"
	"runtime/debug"
	"sync"
)

// A walHeader is the header of SQLite's index of the write-ahead log: how many frames the log has, their checksum, its
// salts, and a counter of commits (https://sqlite.org/walformat.html#the_wal_index_header). No commit leaves it as it
// was.
type walHeader [48]byte

const (
	walCounter = 8  // where the counter of commits is, in the byte order of the machine
	walInit    = 12 // where a byte is that is 1 once there is a header
	walFrames  = 16 // where the number of frames of the log is
)

// commits returns the counter of commits.
func (h *walHeader) commits() uint32 { return binary.NativeEndian.Uint32(h[walCounter:]) }

// frames returns how many frames the log has, each a page.
func (h *walHeader) frames() uint32 { return binary.NativeEndian.Uint32(h[walFrames:]) }

// A walIndex is the index of a database's write-ahead log, in memory that all processes share. To look at it takes no
// system call. The zero walIndex tells nothing.
type walIndex struct {
	mu     sync.Mutex
	mapped []byte // nil: it is not mapped
}

// attach maps the index, which is the file of a connection that is open. Where that cannot be done, the index tells
// nothing.
func (x *walIndex) attach(shm os.FileInfo) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.mapped = mapped(shm, 2*len(walHeader{}))
}

func (x *walIndex) close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.detach()
}

// detach unmaps the index, which then tells nothing. The lock must be held.
func (x *walIndex) detach() error {
	b := x.mapped
	if x.mapped = nil; b == nil {
		return nil
	}
	return unmapped(b)
}

// header returns the header as it is now, unless it is being written or a process died as it wrote it: there are two
// copies, which are written in the other order than they are read here. A file that another program made shorter has
// no memory behind its end: such an index is given up.
func (x *walIndex) header() (h walHeader, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.mapped == nil {
		return h, false
	}
	faults := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(faults)
		if recover() != nil {
			h, ok = walHeader{}, false
			_ = x.detach()
		}
	}()
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
