package owner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"
)

// opAttach asks for a connection that stays.
const opAttach = "attach"

// Attach connects to the owner for as long as the connection lasts, with a head that says what for. It starts an owner
// if there is none.
func (c *Client) Attach(ctx context.Context, head json.RawMessage) (conn *net.UnixConn, err error) {
	err = c.until(ctx, func() (err error) {
		conn, err = c.attach(ctx, head)
		return err
	})
	return conn, err
}

// attach makes one attempt.
func (c *Client) attach(ctx context.Context, head json.RawMessage) (*net.UnixConn, error) {
	conn, from, err := c.dial(ctx)
	if err != nil {
		return nil, err
	}
	if from.V != Version || !from.Build.Equal(c.Build) {
		return nil, errors.Join(errors.New("it is another weir"), conn.Close())
	}
	if err := send(conn, order{Op: opAttach, Head: head}); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %w", errLost, err), conn.Close())
	}
	return conn, conn.SetDeadline(time.Time{})
}

// attached serves a connection that stays.
func (s *server) attached(ctx context.Context, conn *net.UnixConn, head json.RawMessage) {
	if s.Attached == nil || conn.SetDeadline(time.Time{}) != nil {
		return
	}
	s.Attached(ctx, conn, head)
}
