package mcpguard

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/guard"
)

// A wire carries requests to one server, and its answers to those who asked.
type wire struct {
	mcp.Connection
	life context.Context // ends with the connection

	mu      sync.Mutex
	waiting map[jsonrpc.ID]chan *jsonrpc.Response // requests that are with the server
}

// ask passes a request to the server and waits for its answer.
func (w *wire) ask(ctx context.Context, req *jsonrpc.Request) (guard.Answer, error) {
	answer := make(chan *jsonrpc.Response, 1)
	w.mu.Lock()
	w.waiting[req.ID] = answer
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		delete(w.waiting, req.ID)
		w.mu.Unlock()
	}()
	if err := w.Connection.Write(ctx, req); err != nil {
		return guard.Answer{}, err
	}
	select {
	case resp := <-answer:
		if resp.Error == nil {
			return guard.Answer{Result: resp.Result}, nil
		}
		var wire *jsonrpc.Error
		if !errors.As(resp.Error, &wire) {
			return guard.Answer{}, resp.Error
		}
		raw, err := json.Marshal(wire)
		return guard.Answer{Error: raw}, err
	case <-ctx.Done():
		w.abandon(ctx, req.ID)
		return guard.Answer{}, ctx.Err()
	}
}

// query sends a request under an id that no request of the host has, and waits for the answer.
func (w *wire) query(ctx context.Context, method string, params json.RawMessage) (guard.Answer, error) {
	id, err := jsonrpc.MakeID("weir-" + rand.Text())
	if err != nil {
		return guard.Answer{}, err
	}
	a, err := w.ask(ctx, &jsonrpc.Request{ID: id, Method: method, Params: params})
	if err == nil {
		err = annotation.Check(a.Raw())
	}
	return a, err
}

// withdrawal is how long it may take to tell a server that its answer is not waited for any longer.
const withdrawal = 2 * time.Second

// abandon tells the server that nobody waits for the answer to a request any longer.
func (w *wire) abandon(ctx context.Context, id jsonrpc.ID) {
	if w.life.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawal)
	defer cancel()
	params, err := json.Marshal(map[string]any{"requestId": id.Raw(), "reason": "no longer needed"})
	if err == nil {
		_ = w.Connection.Write(ctx, &jsonrpc.Request{Method: "notifications/cancelled", Params: params}) // if it fails, Read will
	}
}

// answered hands an answer to the request that is with the server. One to any other, such as a call that is being
// decided on, goes nowhere.
func (w *wire) answered(resp *jsonrpc.Response) {
	w.mu.Lock()
	answer := w.waiting[resp.ID]
	delete(w.waiting, resp.ID)
	w.mu.Unlock()
	if answer != nil {
		answer <- resp
	}
}
