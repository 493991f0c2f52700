package app

import (
	"errors"
	"io"
	"os"
	"strconv"
	"syscall"
	"time"
)

// pollable returns a file for the same stream as f whose Read and Write can be made to return and need no
// thread to wait in; f itself where that is not possible. flag is os.O_RDONLY or os.O_WRONLY.
//
// That takes a descriptor that does not block, and others may share ours and be surprised: so a pipe is opened anew. A
// socket cannot be, and is changed unless it is standard error too, which is written to as it was given.
func pollable(f *os.File, flag int) io.ReadWriteCloser {
	info, err := f.Stat()
	if err != nil || f.SetDeadline(time.Time{}) == nil {
		return f
	}
	fd := int(f.Fd())
	switch {
	case info.Mode()&os.ModeNamedPipe != 0:
		again, err := os.OpenFile("/proc/self/fd/"+strconv.Itoa(fd), flag|syscall.O_NONBLOCK, 0)
		if err != nil {
			return f
		}
		return reopened{again, f}
	case info.Mode()&os.ModeSocket != 0:
		other, err := os.Stat("/proc/self/fd/2")
		if err == nil && os.SameFile(info, other) || syscall.SetNonblock(fd, true) != nil {
			return f
		}
		return os.NewFile(uintptr(fd), f.Name())
	}
	return f
}

// A reopened file is closed with the one that it stands for.
type reopened struct {
	*os.File
	was io.Closer
}

func (r reopened) Close() error { return errors.Join(r.File.Close(), r.was.Close()) }
