//go:build linux

package attach

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/weir-mcp/weir/internal/owner"
	"github.com/weir-mcp/weir/internal/upstream"
)

const (
	readyTime = 10 * time.Second // for an owner to start, and to be ready
	endTime   = 2 * time.Second  // for a server to exit before the next stronger signal
)

// A Wrap is the side of weir wrap.
type Wrap struct {
	Streams [3]*os.File // of the host: standard input, output and error
	Start   func() (*upstream.LocalChild, error)
}

// A keeper keeps the server of a wrap.
type keeper struct {
	*line
	start func() (*upstream.LocalChild, error)
	child *upstream.LocalChild // the last one; nil: none yet
	id    int                  // of it
}

// Run has the owner serve until it is done or ctx ends, and returns the exit status. The error is [ErrAlone] if
// nothing has begun.
func Run(ctx context.Context, client *owner.Client, head json.RawMessage, w Wrap) (status int, err error) {
	k := &keeper{start: w.Start}
	soon, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	if k.line, err = begin(soon, client, head, w.Streams); err != nil {
		return 0, fmt.Errorf("%w: %w", ErrAlone, err)
	}
	defer k.conn.Close()
	stop := context.AfterFunc(ctx, func() {
		if k.send(&message{Op: opStop}) != nil {
			_ = k.conn.Close()
		}
	})
	defer stop()
	debug.FreeOSMemory() // it waits from now on
	status, err = k.keep()
	return status, errors.Join(err, k.end())
}

// begin hands the streams to the owner. One that is another program gets nothing, not even the head.
func begin(ctx context.Context, client *owner.Client, head json.RawMessage, streams [3]*os.File) (l *line, err error) {
	trusting := *client
	trusting.Trusts = sameKind
	conn, err := trusting.Attach(ctx, head)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = conn.Close()
		}
	}()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })()
	l = &line{conn: conn}
	if err := l.send(&message{Op: opStreams, files: streams[:]}); err != nil {
		return nil, err
	}
	m, err := l.receive()
	if err != nil {
		return nil, err
	}
	m.close()
	if m.Op != opReady {
		return nil, errors.New("it is not ready")
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return l, l.send(&message{Op: opGo})
}

// errOwner says that the owner ended before it was done.
var errOwner = errors.New("the process that decides has ended, so nothing goes on")

// keep does what the owner says until it is done.
func (k *keeper) keep() (status int, err error) {
	for {
		m, err := k.receive()
		if err != nil {
			return 0, errOwner
		}
		m.close()
		switch m.Op {
		case opStart:
			err = k.launch(m.Child)
		case opTerminate, opKill:
			k.signal(m)
		case opDone:
			return m.Status, nil
		}
		if err != nil {
			return 0, errOwner
		}
	}
}

// signal ends the child that the owner means, if it is still the one.
func (k *keeper) signal(m *message) {
	switch {
	case k.child == nil || m.Child != k.id:
	case m.Op == opKill:
		k.child.Kill()
	default:
		k.child.Terminate()
	}
}

// launch starts the server, once the one before has ended, and hands the owner its streams.
func (k *keeper) launch(id int) error {
	if err := k.end(); err != nil {
		return k.send(&message{Op: opFailed, Child: id, Error: err.Error()})
	}
	child, err := k.start()
	if err != nil {
		var errno syscall.Errno
		_ = errors.As(err, &errno) // zero if it is none of the system's
		return k.send(&message{Op: opFailed, Child: id, Error: err.Error(), Errno: int(errno)})
	}
	k.child, k.id = child, id
	stdin, stdout := child.Files()
	err = k.send(&message{Op: opStarted, Child: id, PID: child.PID(), files: []*os.File{stdin, stdout}})
	err = errors.Join(err, stdin.Close(), stdout.Close())
	go func() {
		<-child.Ended()
		m := message{Op: opEnded, Child: id, Status: child.State().ExitCode()}
		if s, ok := child.State().Sys().(syscall.WaitStatus); ok && s.Signaled() {
			m.Status, m.Signal = 0, int(s.Signal())
		}
		_ = k.send(&m) // an owner that is gone need not be told
	}()
	return err
}

// end ends the server, if there is one.
func (k *keeper) end() error {
	if k.child == nil {
		return nil
	}
	for _, stronger := range []func(){k.child.Terminate, k.child.Kill} {
		select {
		case <-k.child.Ended():
			return nil
		default:
		}
		stronger()
		select {
		case <-k.child.Ended():
			return nil
		case <-time.After(endTime):
		}
	}
	return fmt.Errorf("server process %d survives being killed", k.child.PID())
}
