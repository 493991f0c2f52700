package interceptors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/weir-mcp/weir/interceptor"
	"github.com/weir-mcp/weir/internal/gateway/agentsession"
	"github.com/weir-mcp/weir/internal/gateway/protocol"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
)

// maxInFlight is how many requests of a connection are answered at once.
const maxInFlight = 32

// Serve answers the requests on a connection of a principal until the invoker leaves or ctx ends, and returns when the
// last answer is out. Requests of one agent session are answered in their order, others at the same time.
func (d *Decider) Serve(ctx context.Context, conn rpc.Conn, principal string) error {
	host, err := d.Host(principal)
	if err != nil {
		return err
	}
	s := &connection{decider: d, host: host, conn: conn, running: map[string]context.CancelFunc{}, last: map[string]chan struct{}{}}
	slots := make(chan struct{}, maxInFlight)
	var work sync.WaitGroup
	defer work.Wait()
	for {
		m, err := conn.Read(ctx)
		var unread *rpc.BadMessage
		switch {
		case errors.As(err, &unread):
			if unread.Answers == nil {
				s.write(ctx, rpc.ReplyError(unread.Err.ID, unread.Err))
			}
			continue
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("reading a request: %w", err)
		case m.Method == "notifications/cancelled":
			s.cancel(m.Params)
			continue
		case !m.IsRequest():
			continue
		}
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		wait, done := s.turn(m)
		work.Go(func() {
			defer func() { <-slots }()
			defer done()
			wait()
			s.answer(ctx, m)
		})
	}
}

// A connection is one of an invoker.
type connection struct {
	decider *Decider
	host    *interceptor.Host
	conn    rpc.Conn

	mu      sync.Mutex
	running map[string]context.CancelFunc // by the id of the request
	last    map[string]chan struct{}      // closed when the last request of an agent session is answered
}

// turn returns functions that wait for the requests before in the same agent session, and let those after go on.
func (s *connection) turn(m *rpc.Message) (wait, done func()) {
	var key []byte
	for _, path := range [][]string{{"context", "principal"}, {"context", "sessionId"}, {"_meta", agentsession.MetaSession}, {"_meta", "baggage"}} {
		raw, _ := rawjson.Get(m.Params, path...)
		key = append(append(key, rawjson.Canonical(raw)...), '\n')
	}
	mine := make(chan struct{})
	s.mu.Lock()
	before := s.last[string(key)]
	s.last[string(key)] = mine
	s.mu.Unlock()
	wait = func() {
		if before != nil {
			<-before
		}
	}
	return wait, func() {
		close(mine)
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.last[string(key)] == mine {
			delete(s.last, string(key))
		}
	}
}

func (s *connection) write(ctx context.Context, m *rpc.Message) {
	if err := s.conn.Write(ctx, m); err != nil {
		s.decider.Logger.Warn("writing an answer", "error", err)
	}
}

// cancel ends the request that a notification names.
func (s *connection) cancel(params json.RawMessage) {
	id, _ := rawjson.Get(params, "requestId")
	s.mu.Lock()
	defer s.mu.Unlock()
	if end := s.running[string(id)]; end != nil {
		end()
	}
}

// answer answers one request.
func (s *connection) answer(ctx context.Context, m *rpc.Message) {
	within, end := context.WithCancel(ctx)
	defer end()
	id := string(m.ID)
	s.mu.Lock()
	s.running[id] = end
	s.mu.Unlock()
	result, err := s.result(within, m)
	s.mu.Lock()
	delete(s.running, id)
	s.mu.Unlock()
	var failed *interceptor.Failure
	switch {
	case errors.As(err, &failed):
		s.write(ctx, rpc.ReplyError(m.ID, &rpc.Error{Code: failed.Code, Message: failed.Message, Data: failed.Data}))
	case err != nil:
		s.decider.Logger.Error("answering a request", "method", m.Method, "error", err)
		s.write(ctx, rpc.ReplyError(m.ID, &rpc.Error{Code: rpc.InternalError, Message: "weir could not answer the request"}))
	default:
		s.write(ctx, rpc.Reply(m.ID, result))
	}
}

// result returns the result of a request.
func (s *connection) result(ctx context.Context, m *rpc.Message) (json.RawMessage, error) {
	who, wrong := protocol.ReadClient(m.Params)
	if wrong != nil {
		return nil, &interceptor.Failure{Code: wrong.Code, Message: wrong.Message, Data: wrong.Data}
	}
	var result json.RawMessage
	var err error
	switch m.Method {
	case "initialize":
		return s.welcome(m.Params)
	case "server/discover":
		result, err = json.Marshal(map[string]any{"supportedVersions": protocol.Revisions, "capabilities": s.capabilities()})
		if err == nil {
			result, err = rawjson.Set(result, s.info(), "_meta", protocol.MetaServerInfo)
		}
	case "ping":
		result = json.RawMessage(`{}`)
	case interceptor.MethodList:
		result, err = s.host.List(m.Params)
	case interceptor.MethodInvoke:
		result, err = s.host.Invoke(ctx, m.Params)
	default:
		err = &interceptor.Failure{Code: interceptor.CodeNoMethod, Message: "method not found: this server has interceptors only"}
	}
	if err != nil || who == nil {
		return result, err
	}
	return protocol.FitResult(result, who, m.Method == "server/discover"), nil
}

func (s *connection) capabilities() map[string]any {
	return map[string]any{"extensions": map[string]any{interceptor.Extension: map[string]any{"supportedEvents": s.host.Events()}}}
}

// info returns the implementation as MCP has it.
func (s *connection) info() json.RawMessage {
	return slices.Concat([]byte(`{"name":"weir","version":`), rawjson.Quote(s.decider.Version), []byte(`}`))
}

// welcome answers the handshake of the older revisions.
func (s *connection) welcome(params json.RawMessage) (json.RawMessage, error) {
	raw, _ := rawjson.Get(params, "protocolVersion")
	version, ok := rawjson.String(raw)
	if !ok {
		return nil, &interceptor.Failure{Code: interceptor.CodeParams, Message: "protocolVersion is missing or not a string"}
	}
	if !slices.Contains(protocol.Revisions, version) || version >= protocol.Modern {
		version = protocol.NewestLegacy
	}
	return json.Marshal(map[string]any{"protocolVersion": version, "capabilities": s.capabilities(), "serverInfo": s.info()})
}
