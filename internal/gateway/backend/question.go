package backend

import (
	"context"
	"slices"

	"github.com/weir-mcp/weir/internal/gateway/protocol"
	"github.com/weir-mcp/weir/internal/hosterror"
	"github.com/weir-mcp/weir/internal/rpc"
)

// ErrNotBack says that a host which takes no requests has not come back in time.
var ErrNotBack = hosterror.New("the host did not come back with an answer in time")

// asked finds the request that a server's question belongs to, and stops its clock until done is called. A call that
// waits for its host already is not asked again as long as there is another. If several are left it is any of the same
// agent session; between two sessions nothing is guessed.
func (c *Conn) asked(method string) (r *Request, done func(), err error) {
	c.asking.Lock()
	defer c.asking.Unlock()
	found := c.requests.among(func(r *Request) bool { return r.Asks != nil && protocol.TakesRequest(r.takes, method) })
	if idle := slices.DeleteFunc(slices.Clone(found), (*Request).waits); len(idle) > 0 {
		found = idle
	}
	if len(found) == 0 {
		return nil, nil, hosterror.New("no request is in flight whose client takes this")
	}
	for _, other := range found[1:] {
		if other.Call.Session != found[0].Call.Session {
			return nil, nil, hosterror.New("several agent sessions have requests in flight, and nothing says which this belongs to")
		}
	}
	return found[0], found[0].Wait(), nil
}

// hold gives a request of the server to the call that it most likely belongs to, and returns the host's answer. If
// that call ends before its host is asked, the request was another's.
func (c *Conn) hold(ctx context.Context, m *rpc.Message) *rpc.Message {
	q := &Question{m, make(chan *rpc.Message, 1)}
	for {
		reply, err := c.holdBy(ctx, q)
		switch {
		case err != nil:
			return rpc.ReplyError(m.ID, rpc.Errorf(rpc.MethodNotFound, "%s: %v", m.Method, err))
		case reply != nil:
			return reply
		}
	}
}

// holdBy tries one call. It returns neither an answer nor an error if that call is over.
func (c *Conn) holdBy(ctx context.Context, q *Question) (*rpc.Message, error) {
	r, done, err := c.asked(q.Message.Method)
	if err != nil {
		return nil, err
	}
	defer done()
	select {
	case r.Asks <- q:
	case <-r.over:
		return nil, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	select {
	case reply := <-q.Reply:
		return reply, nil
	case <-r.Dropped:
		return nil, ErrNotBack
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
