//go:build linux

package attach

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/weir-mcp/weir/internal/hosterror"
	"github.com/weir-mcp/weir/internal/upstream"
)

// A Guest is a weir wrap that the owner serves.
type Guest struct {
	Stdin, Stdout, Stderr *os.File // of the host
	PID                   int      // of the wrap
	Heard                 []byte   // that an owner before this one had the wrap keep last; empty: none

	line *line

	mu       sync.Mutex
	children map[int]*distant
	last     int  // the id of the last child
	gone     bool // the wrap has left
}

// Accept takes the streams of a wrap.
func Accept(conn *net.UnixConn) (*Guest, error) {
	pid, err := peer(conn)
	if err != nil {
		return nil, err
	}
	if err := conn.SetReadDeadline(time.Now().Add(sendTime)); err != nil {
		return nil, err
	}
	l := &line{conn: conn}
	m, err := l.receive()
	if err == nil && (m.Op != opStreams || len(m.files) != 3) {
		m.close()
		err = errors.New("it sent no streams")
	}
	if err != nil {
		return nil, err
	}
	return &Guest{Stdin: m.files[0], Stdout: m.files[1], Stderr: m.files[2], PID: pid, Heard: m.Heard, line: l, children: map[int]*distant{}}, nil
}

// Close closes the streams.
func (g *Guest) Close() { (&message{files: []*os.File{g.Stdin, g.Stdout, g.Stderr}}).close() }

// Keep has the wrap keep the label of all text that the host was shown outside of answers, as JSON. Text that the owner
// writes after that is shown only if the next owner gets to know the label.
func (g *Guest) Keep(heard []byte) error {
	if len(heard) > maxHeard {
		return errors.New("the label of the text that the host was shown is too long")
	}
	return g.line.send(&message{Op: opHeard, Heard: heard})
}

// Serve calls serve once the wrap has said that it may begin, with a context that ends when the wrap leaves or wants
// to, and tells the wrap the exit status that it returns.
func (g *Guest) Serve(ctx context.Context, serve func(context.Context) (status int)) error {
	if err := g.line.send(&message{Op: opReady}); err != nil {
		return err
	}
	m, err := g.line.receive()
	if err != nil {
		return err
	}
	m.close()
	if m.Op != opGo {
		return errors.New("it did not say that it begins")
	}
	if err := g.line.conn.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	listening := make(chan struct{})
	go func() {
		defer close(listening)
		g.listen(cancel)
	}()
	status := serve(ctx)
	err = g.line.send(&message{Op: opDone, Status: status})
	_ = g.line.conn.CloseRead()
	<-listening
	return err
}

// listen takes messages of the wrap until it leaves, which ends the serving.
func (g *Guest) listen(stop func()) {
	defer g.leave()
	defer stop()
	for {
		m, err := g.line.receive()
		if err != nil {
			return
		}
		if m.Op == opStop {
			stop()
		} else if c := g.child(m.Child); c != nil {
			c.take(m)
			if m.Op == opEnded {
				g.forget(m.Child)
			}
		}
		m.close()
	}
}

func (g *Guest) child(id int) *distant {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.children[id]
}

func (g *Guest) forget(id int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.children, id)
}

// leave ends all children: their keeper is gone, and ends them.
func (g *Guest) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.gone = true
	for _, c := range g.children {
		c.take(&message{Op: opFailed, Error: "weir wrap has ended"})
		c.take(&message{Op: opEnded, Signal: int(syscall.SIGKILL)})
	}
}

// startTime is how long a wrap may take to start its server.
const startTime = 30 * time.Second

// Start has the wrap start its server.
func (g *Guest) Start() (upstream.Child, error) {
	c := &distant{guest: g, started: make(chan struct{}), ended: make(chan struct{})}
	g.mu.Lock()
	if g.gone {
		g.mu.Unlock()
		return nil, hosterror.New("weir wrap has ended")
	}
	g.last++
	c.id = g.last
	g.children[c.id] = c
	g.mu.Unlock()
	if err := g.line.send(&message{Op: opStart, Child: c.id}); err != nil {
		return nil, err
	}
	select {
	case <-c.started:
	case <-time.After(startTime):
		c.take(&message{Op: opFailed, Error: "weir wrap did not start it in time"})
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed != nil {
		return nil, c.failed
	}
	return c, nil
}

// A distant child is the child of a wrap.
type distant struct {
	guest *Guest
	id    int

	started, ended chan struct{} // closed when it has, or when it has not

	mu            sync.Mutex
	pid           int
	stdin, stdout *os.File
	failed        error // why it was not started
	ending        hosterror.Value
}

// take takes a message about the child. Only the first of a kind counts.
func (c *distant) take(m *message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch m.Op {
	case opStarted:
		if len(m.files) != 2 || isClosed(c.started) {
			return
		}
		c.pid, c.stdin, c.stdout, m.files = m.PID, m.files[0], m.files[1], nil
		close(c.started)
	case opFailed:
		if !isClosed(c.started) {
			c.failed = errors.New(m.Error)
			if m.Errno != 0 {
				c.failed = fmt.Errorf("%s: %w", m.Error, syscall.Errno(m.Errno))
			}
			close(c.started)
		}
	case opEnded:
		if !isClosed(c.ended) {
			c.ending = hosterror.Ended(m.Status, syscall.Signal(m.Signal))
			close(c.ended)
		}
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Streams implements [upstream.Child].
func (c *distant) Streams() (io.WriteCloser, io.ReadCloser) { return c.stdin, c.stdout }

// PID implements [upstream.Child].
func (c *distant) PID() int { return c.pid }

// Ended implements [upstream.Child].
func (c *distant) Ended() <-chan struct{} { return c.ended }

// Ending implements [upstream.Child].
func (c *distant) Ending() hosterror.Value {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ending
}

// Terminate implements [upstream.Child].
func (c *distant) Terminate() { _ = c.guest.line.send(&message{Op: opTerminate, Child: c.id}) }

// Kill implements [upstream.Child].
func (c *distant) Kill() { _ = c.guest.line.send(&message{Op: opKill, Child: c.id}) }
