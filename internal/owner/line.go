package owner

import (
	"context"
	"net"
	"sync"
	"time"
)

// A Line has the memory of the owner carry out operations, over connections that stay. Make one with [Client.Line] and
// end it with Close. It is safe for concurrent use.
type Line struct {
	client *Client

	mu     sync.Mutex
	idle   []*net.UnixConn
	closed bool
}

// Line returns a line to the owner. Nothing is started before it is used.
func (c *Client) Line() *Line { return &Line{client: c} }

// maxIdle is how many connections of a line wait for another operation.
const maxIdle = 4

// Do has the owner carry out an operation, and starts an owner if there is none. An operation whose answer is lost is
// repeated: an owner that lives answers each one, so the one that has carried it out has ended, with its memory. If the
// error is not nil, it may have been carried out or not.
func (l *Line) Do(ctx context.Context, operation []byte) ([]byte, error) {
	return l.client.insist(ctx, func() ([]byte, error) {
		conn, err := l.conn(ctx)
		if err != nil {
			return nil, err
		}
		until, _ := ctx.Deadline() // the zero time is none
		if conn.SetDeadline(until) != nil {
			return nil, l.drop(conn)
		}
		answer, err := exchange(conn, operation)
		if err != nil {
			return nil, l.drop(conn)
		}
		l.put(conn)
		return answer, nil
	})
}

// conn returns a connection that no operation is on.
func (l *Line) conn(ctx context.Context) (*net.UnixConn, error) {
	l.mu.Lock()
	if n := len(l.idle); n > 0 {
		defer l.mu.Unlock()
		conn := l.idle[n-1]
		l.idle = l.idle[:n-1]
		return conn, nil
	}
	l.mu.Unlock()
	return l.client.order(ctx, order{Op: opKeep})
}

// put keeps a connection for another operation.
func (l *Line) put(conn *net.UnixConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || len(l.idle) >= maxIdle {
		_ = conn.Close()
		return
	}
	_ = conn.SetDeadline(time.Time{})
	l.idle = append(l.idle, conn)
}

// drop closes a connection that does not work, and those that wait: they are to the same owner.
func (l *Line) drop(conn *net.UnixConn) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = conn.Close()
	l.hangUp()
	return errLost
}

func (l *Line) hangUp() {
	for _, c := range l.idle {
		_ = c.Close()
	}
	l.idle = nil
}

// Close hangs up. An operation that is being carried out goes on.
func (l *Line) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.hangUp()
	return nil
}
