package owner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/weir-mcp/weir/internal/socket"
)

// A Client asks the owner of a directory.
type Client struct {
	Dir   string
	Build Build

	// Trusts returns an error for a process at the socket that must be sent nothing; nil: each of this user is trusted.
	Trusts func(*net.UnixConn) error

	// Start starts an owner in the background. It is called when none answers; the channel is closed when the one that
	// it started has ended.
	Start func() (ended <-chan struct{}, err error)
}

const (
	firstWait = 2 * time.Millisecond // for an owner to listen
	longWait  = 50 * time.Millisecond
	maxLost   = 3  // answers of a request that may be lost
	maxStarts = 10 // owners that a request may start
)

// errAway says that no owner listens.
var errAway = errors.New("no weir serve answers")

// ErrRefused says that a client does not trust the process at the socket. Nothing was sent there.
var ErrRefused = errors.New("the process at the socket is not trusted")

// errLost says that an owner ended before it answered.
var errLost = errors.New("weir serve ended before it answered")

// Ask returns the answer of the owner to a request. It starts an owner if there is none, and one of this build in place
// of an older one.
func (c *Client) Ask(ctx context.Context, r Request) (answer []byte, err error) {
	err = c.until(ctx, func() (err error) {
		answer, err = c.try(ctx, r)
		return err
	})
	return answer, err
}

// until makes attempts until one succeeds, and starts owners for that.
func (c *Client) until(ctx context.Context, try func() error) error {
	var ended <-chan struct{} // of the owner that was started
	lost, starts := 0, 0
	for wait := firstWait; ; wait = min(2*wait, longWait) {
		err := try()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("asking weir serve: %w", ctx.Err())
		case errors.Is(err, errLost):
			if lost++; lost >= maxLost {
				return fmt.Errorf("asking weir serve: %w", err)
			}
		case !errors.Is(err, errAway):
			return fmt.Errorf("asking weir serve: %w", err)
		case ended == nil && starts >= maxStarts:
			return fmt.Errorf("starting weir serve: it ends at once; see %s", LogFile(c.Dir))
		case ended == nil:
			starts++
			if ended, err = c.Start(); err != nil {
				return fmt.Errorf("starting weir serve: %w", err)
			}
			wait = firstWait
		}
		select {
		case <-ctx.Done():
		case <-ended:
			ended = nil
			time.Sleep(wait) // it may have ended because another one serves
		case <-time.After(wait):
		}
	}
}

// Retire has the owner end, if there is one, and waits until it has. It reports whether there was one.
func (c *Client) Retire(ctx context.Context) (was bool, err error) {
	lock := flock.New(filepath.Join(c.Dir, lockName), flock.SetPermissions(0o600))
	for wait := firstWait; ; wait = min(2*wait, longWait) {
		conn, _, err := c.dial(ctx)
		switch {
		case err == nil:
			was = true
			_ = send(conn, order{Op: opRetire}) // if that fails, the next attempt tells
			_ = conn.Close()
		case !errors.Is(err, errAway):
			return was, err
		default:
			ended, err := lock.TryLock()
			if errors.Is(err, fs.ErrNotExist) {
				return was, nil
			}
			if err != nil || ended {
				return was, errors.Join(err, lock.Close())
			}
		}
		select {
		case <-ctx.Done():
			return was, ctx.Err()
		case <-time.After(wait):
		}
	}
}

// Served reports whether an owner of this build, or a newer one, answers.
func (c *Client) Served(ctx context.Context) bool {
	conn, from, err := c.dial(ctx)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return !c.older(from)
}

// older reports whether an owner has to retire for this client.
func (c *Client) older(h hello) bool {
	return h.V < Version || h.V == Version && h.Build.Before(c.Build)
}

// try makes one attempt at a request.
func (c *Client) try(ctx context.Context, r Request) ([]byte, error) {
	conn, from, err := c.dial(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	switch {
	case from.V > Version:
		return nil, fmt.Errorf("it speaks version %d of the protocol, this weir %d: use the newer weir", from.V, Version)
	case c.older(from):
		_ = send(conn, order{Op: opRetire}) // if that fails, the next attempt tells
		return nil, errAway
	}
	if send(conn, order{Op: opAsk, Head: r.Head}) != nil || write(conn, r.Body) != nil {
		return nil, errLost
	}
	answer, err := read(conn, maxFrame)
	if err != nil {
		return nil, errLost
	}
	return answer, nil
}

// dial connects to the owner, reads its first message and makes sure that it is trusted.
func (c *Client) dial(ctx context.Context) (*net.UnixConn, hello, error) {
	var from hello
	conn, err := socket.Dial(ctx, c.Dir, socketName)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, socket.ErrLong) {
		return nil, from, err
	}
	if err != nil {
		return nil, from, errAway
	}
	if err = samePeer(conn); err == nil {
		if until, ok := ctx.Deadline(); ok {
			err = conn.SetDeadline(until)
		}
	}
	if err != nil {
		return nil, from, errors.Join(err, conn.Close())
	}
	text, err := read(conn, maxHead)
	if err != nil || json.Unmarshal(text, &from) != nil {
		_ = conn.Close()
		return nil, from, errAway // it was ending
	}
	if c.Trusts != nil {
		if err := c.Trusts(conn); err != nil {
			return nil, from, errors.Join(fmt.Errorf("%w: %w", ErrRefused, err), conn.Close())
		}
	}
	return conn, from, nil
}

// send writes an order.
func send(conn *net.UnixConn, o order) error {
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	return write(conn, text)
}
