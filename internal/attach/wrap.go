//go:build linux

package attach

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"github.com/weir-mcp/weir/internal/owner"
	"github.com/weir-mcp/weir/internal/upstream"
)

const (
	readyTime = 10 * time.Second // for an owner to start, and to be ready
	endTime   = 2 * time.Second  // for a server to exit before the next stronger signal
)

const (
	maxDeaths = 3 // owners that may end one after the other in deathTime
	deathTime = 10 * time.Second
)

// A Wrap is the side of weir wrap.
type Wrap struct {
	Host   func() (io.ReadCloser, io.Writer) // the streams of the host, taken when it begins
	Stderr *os.File
	Start  func() (*upstream.LocalChild, error)
	Log    *slog.Logger
}

// A keeper keeps the server of a wrap, and the streams of the host.
type keeper struct {
	Wrap
	client *owner.Client
	head   json.RawMessage
	relay  *relay
	deaths []time.Time          // the last ones
	child  *upstream.LocalChild // the last one of this owner; nil: none yet
	id     int                  // of it
	ended  func() bool          // ends it, and reports whether it has
	heard  json.RawMessage      // the label of text that the host was shown
}

// A life is all that one owner has to do with a wrap.
type life struct {
	*line
	in, out *os.File // written for the owner, and read from it
	gone    chan struct{}
}

// close takes everything from the owner, in case that it goes on.
func (l *life) close() {
	_ = l.conn.Close()
	(&message{files: []*os.File{l.in, l.out}}).close()
}

// Run has one owner after the other serve until one is done or ctx ends, and returns the exit status. The error is
// [ErrAlone] if nothing has begun.
func Run(ctx context.Context, client *owner.Client, head json.RawMessage, w Wrap) (status int, err error) {
	k := &keeper{Wrap: w, client: client, head: head}
	l, err := k.begin(ctx)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrAlone, err)
	}
	in, out := w.Host()
	k.relay = newRelay(in, out, w.Log)
	defer k.relay.close()
	go k.relay.fromHost()
	for {
		debug.FreeOSMemory() // it waits from now on
		goesOn := false
		if status, goesOn, err = k.serve(ctx, l); !goesOn {
			return status, errors.Join(err, k.end())
		}
		if k.child != nil {
			go k.ended() // while another owner starts, which launches none before
		}
		if l, err = k.again(ctx); err != nil {
			return 0, errors.Join(err, k.end())
		}
	}
}

// again has another owner begin.
func (k *keeper) again(ctx context.Context) (l *life, err error) {
	k.Log.Warn("the process that decides has ended: the server is started again, and another process decides from now on")
	for range maxDeaths {
		if ctx.Err() != nil || k.diesOften(time.Now()) {
			break
		}
		if l, err = k.begin(ctx); err == nil {
			return l, nil
		}
		if errors.Is(err, owner.ErrRefused) {
			break
		}
	}
	return nil, errors.Join(errOwner, err)
}

// diesOften notes that an owner has ended, and reports whether that happens too often.
func (k *keeper) diesOften(now time.Time) bool {
	k.deaths = append(k.deaths, now)
	if len(k.deaths) <= maxDeaths {
		return false
	}
	first := k.deaths[0]
	k.deaths = k.deaths[1:]
	return now.Sub(first) < deathTime
}

// begin has an owner begin. One that is another program gets nothing, not even the head.
func (k *keeper) begin(ctx context.Context) (*life, error) {
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	trusting := *k.client
	trusting.Trusts = sameKind
	conn, err := trusting.Attach(ctx, k.head)
	if err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })()
	l := &life{line: &line{conn: conn}, gone: make(chan struct{})}
	if err := l.begin(ctx, k.Stderr, k.heard); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// begin hands the owner its streams, and the label of text that the host was shown before.
func (l *life) begin(ctx context.Context, stderr *os.File, heard json.RawMessage) error {
	in, input, err := os.Pipe()
	if err != nil {
		return err
	}
	defer in.Close()
	l.in = input
	output, out, err := os.Pipe()
	if err != nil {
		return err
	}
	defer out.Close()
	l.out = output
	if err := l.send(&message{Op: opStreams, Heard: heard, files: []*os.File{in, out, stderr}}); err != nil {
		return err
	}
	m, err := l.receive()
	if err != nil {
		return err
	}
	m.close()
	if m.Op != opReady {
		return errors.New("it is not ready")
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return l.send(&message{Op: opGo})
}

// errOwner says that the owner ended before it was done.
var errOwner = errors.New("the process that decides has ended, so nothing goes on")

// serve has an owner serve until it is done or has ended, and reports whether another one may go on.
func (k *keeper) serve(ctx context.Context, l *life) (status int, goesOn bool, err error) {
	defer l.close()
	stop := context.AfterFunc(ctx, func() {
		if l.send(&message{Op: opStop}) != nil {
			_ = l.conn.Close()
		}
	})
	defer stop()
	read, replayed := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(read)
		k.relay.fromOwner(l.out)
	}()
	go func() {
		defer close(replayed)
		k.relay.attach(l)
	}()
	status, err = k.keep(l)
	close(l.gone)
	_ = l.in.Close()
	select {
	case <-replayed:
	case <-time.After(endTime):
		return status, false, err // the host takes nothing
	}
	k.relay.detach()
	_ = l.out.SetReadDeadline(time.Now().Add(endTime / 2)) // an owner that has ended has written everything
	select {
	case <-read:
	case <-time.After(endTime):
		return status, false, err // as well
	}
	if err == nil {
		return status, false, nil
	}
	goesOn, why := k.lost()
	if errors.Is(why, errLeft) {
		return 0, false, nil
	}
	return 0, goesOn, errors.Join(err, why)
}

// lost tells the host that an owner has ended, and reports whether another one can take its place, or why not. A host
// that takes nothing in time gets no other owner.
func (k *keeper) lost() (goesOn bool, why error) {
	type outcome struct {
		goesOn bool
		why    error
	}
	told := make(chan outcome, 1)
	go func() {
		goesOn, why := k.relay.lost()
		told <- outcome{goesOn, why}
	}()
	select {
	case o := <-told:
		return o.goesOn, o.why
	case <-time.After(endTime):
		return false, errors.New("the host takes nothing")
	}
}

// keep does what the owner says until it is done.
func (k *keeper) keep(l *life) (status int, err error) {
	for {
		m, err := l.receive()
		if err != nil {
			return 0, errOwner
		}
		m.close()
		switch m.Op {
		case opStart:
			err = k.launch(l, m.Child)
		case opTerminate, opKill:
			k.signal(m)
		case opHeard:
			k.heard = m.Heard
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
func (k *keeper) launch(l *life, id int) error {
	if err := k.end(); err != nil {
		return l.send(&message{Op: opFailed, Child: id, Error: err.Error()})
	}
	child, err := k.Start()
	if err != nil {
		var errno syscall.Errno
		_ = errors.As(err, &errno) // zero if it is none of the system's
		return l.send(&message{Op: opFailed, Child: id, Error: err.Error(), Errno: int(errno)})
	}
	k.child, k.id, k.ended = child, id, sync.OnceValue(func() bool { return ends(child) })
	stdin, stdout := child.Files()
	err = l.send(&message{Op: opStarted, Child: id, PID: child.PID(), files: []*os.File{stdin, stdout}})
	err = errors.Join(err, stdin.Close(), stdout.Close())
	go func() {
		<-child.Ended()
		m := message{Op: opEnded, Child: id, Status: child.State().ExitCode()}
		if s, ok := child.State().Sys().(syscall.WaitStatus); ok && s.Signaled() {
			m.Status, m.Signal = 0, int(s.Signal())
		}
		_ = l.send(&m) // an owner that is gone need not be told
	}()
	return err
}

// end ends the server, if there is one.
func (k *keeper) end() error {
	if k.child != nil && !k.ended() && !ends(k.child) {
		return fmt.Errorf("server process %d survives being killed", k.child.PID())
	}
	k.child = nil
	return nil
}

// ends ends a server, and reports whether it has.
func ends(c *upstream.LocalChild) bool {
	for _, stronger := range []func(){c.Terminate, c.Kill} {
		select {
		case <-c.Ended():
			return true
		default:
		}
		stronger()
		select {
		case <-c.Ended():
			return true
		case <-time.After(endTime):
		}
	}
	return false
}
