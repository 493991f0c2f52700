//go:build unix

package rpc

import (
	"io"
	"syscall"
	"time"
)

// A direct writes to a descriptor that does not block.
type direct struct {
	conn syscall.RawConn
	call func(fd uintptr) bool // one of write's calls; kept, so that none of them makes one

	data []byte
	n    int
	err  error
}

// newDirect returns nil for a writer whose descriptor blocks, or that has none: of package os and net, those have
// deadlines whose descriptors do not.
func newDirect(w io.Writer) *direct {
	f, ok := w.(interface {
		syscall.Conn
		SetWriteDeadline(t time.Time) error
	})
	if !ok || f.SetWriteDeadline(time.Time{}) != nil {
		return nil
	}
	conn, err := f.SyscallConn()
	if err != nil {
		return nil
	}
	d := &direct{conn: conn}
	d.call = func(fd uintptr) bool {
		for {
			d.n, d.err = syscall.Write(int(fd), d.data)
			if d.err != syscall.EINTR {
				return true
			}
		}
	}
	return d
}

// write writes as much as goes without waiting, which may be nothing.
func (d *direct) write(p []byte) (n int, err error) {
	d.data = p
	if err := d.conn.Write(d.call); err != nil {
		return 0, err
	}
	d.data = nil
	switch {
	case d.err == syscall.EAGAIN:
		return 0, nil
	case d.err != nil:
		return 0, d.err
	}
	return d.n, nil
}
