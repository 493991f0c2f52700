package upstream

import (
	"context"
	"sync"

	"github.com/weir-mcp/weir/internal/rpc"
)

// mostRequests is how many requests of the server are served, and refused, at once.
const mostRequests = 64

// The requests of the server that are being served.
type served struct {
	conn *Conn

	mu      sync.Mutex
	running map[string]context.CancelFunc // by the text of their id
	replies int                           // refusals that are being written
}

// serve has a request of the server answered.
func (s *served) serve(m *rpc.Message) {
	id := string(m.ID)
	s.mu.Lock()
	_, repeated := s.running[id]
	full := len(s.running) >= mostRequests
	var ctx context.Context
	var cancel context.CancelFunc
	if !repeated && !full {
		ctx, cancel = context.WithCancel(s.conn.life)
		s.running[id] = cancel
	}
	s.mu.Unlock()

	switch {
	case repeated:
		s.conn.defect(RepeatedID, "id %.64s, method %.64q", id, m.Method)
		s.reply(rpc.ReplyError(m.ID, rpc.Errorf(rpc.InvalidRequest, "request id is in use")))
	case full:
		s.conn.defect(TooManyAtOnce, "method %.64q", m.Method)
		s.reply(rpc.ReplyError(m.ID, rpc.Errorf(rpc.InternalError, "too many requests at once")))
	default:
		started := s.conn.task(func() {
			defer s.stop(id, true)
			s.write(ctx, s.answer(ctx, m))
		})
		if !started {
			s.stop(id, true)
		}
	}
}

// answer makes the answer to a request of the server.
func (s *served) answer(ctx context.Context, m *rpc.Message) *rpc.Message {
	if m.Method == "ping" {
		return rpc.Reply(m.ID, nil)
	}
	reply := s.conn.opts.Handler.Request(ctx, m)
	if reply == nil || !reply.IsResponse() {
		return rpc.ReplyError(m.ID, rpc.Errorf(rpc.InternalError, "no answer"))
	}
	r := *reply
	r.ID = m.ID
	return &r
}

// stop ends the context of a request of the server, if it is being served. Its id is in use until it is over.
func (s *served) stop(id string, over bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cancel, ok := s.running[id]; ok {
		cancel()
	}
	if over {
		delete(s.running, id)
	}
}

// reply sends a refusal without delaying the server's next message. A server that takes no answers gets none.
func (s *served) reply(m *rpc.Message) {
	s.mu.Lock()
	full := s.replies >= mostRequests
	if !full {
		s.replies++
	}
	s.mu.Unlock()
	if full {
		return
	}
	release := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.replies--
	}
	if !s.conn.task(func() { defer release(); s.write(s.conn.life, m) }) {
		release()
	}
}

// write sends an answer. If it cannot be sent the server has itself to blame, or the connection is about to end.
func (s *served) write(ctx context.Context, m *rpc.Message) {
	if err := s.conn.transport.Write(ctx, m); err != nil && s.conn.life.Err() == nil {
		s.conn.opts.Logger.Debug("answer to server not sent", "error", err)
	}
}
