package mcpguard

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/gateway/protocol"
	"github.com/weir-mcp/weir/internal/rawjson"
)

// A wire carries requests to one server, and its answers to those who asked. An agent may have chosen the ids and the
// progress tokens of requests, so the server gets numbers in their place.
type wire struct {
	mcp.Connection
	life context.Context // ends with the connection

	mu      sync.Mutex
	asked   int64 // how many requests there were
	waiting map[int64]asking
}

// An asking is a request that is with the server.
type asking struct {
	answer chan *jsonrpc.Response
	id     any             // by which the host knows the request; nil if the host does not
	token  json.RawMessage // by which the host is told of its progress; nil if it is not
}

// ask passes a request to the server and waits for its answer. Only a request of the host has an id.
func (w *wire) ask(ctx context.Context, req *jsonrpc.Request) (guard.Answer, error) {
	this := asking{answer: make(chan *jsonrpc.Response, 1), id: req.ID.Raw()}
	this.token, _ = rawjson.Get(req.Params, "_meta", "progressToken")
	w.mu.Lock()
	w.asked++
	number := w.asked
	w.waiting[number] = this
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		delete(w.waiting, number)
		w.mu.Unlock()
	}()
	sent := *req
	err := rename(&sent, number, this.token != nil)
	if err == nil {
		err = w.Connection.Write(ctx, &sent)
	}
	if err != nil {
		return guard.Answer{}, err
	}
	select {
	case resp := <-this.answer:
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
		w.abandon(ctx, number)
		return guard.Answer{}, ctx.Err()
	}
}

// rename gives a request a number as its id and as its progress token.
func rename(req *jsonrpc.Request, number int64, reports bool) (err error) {
	if req.ID, err = jsonrpc.MakeID(float64(number)); err == nil && reports {
		req.Params, err = rawjson.Set(req.Params, strconv.AppendInt(nil, number, 10), "_meta", "progressToken")
	}
	return err
}

// query sends a request of which the host does not know, and waits for the answer.
func (w *wire) query(ctx context.Context, method string, params json.RawMessage) (guard.Answer, error) {
	a, err := w.ask(ctx, &jsonrpc.Request{Method: method, Params: params})
	if err == nil {
		err = annotation.Check(a.Raw())
	}
	return a, err
}

// withdrawal is how long it may take to tell a server that its answer is not waited for any longer.
const withdrawal = 2 * time.Second

// abandon tells the server that nobody waits for the answer to a request any longer.
func (w *wire) abandon(ctx context.Context, number int64) {
	if w.life.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawal)
	defer cancel()
	params, err := json.Marshal(map[string]any{"requestId": number, "reason": "no longer needed"})
	if err == nil {
		_ = w.Connection.Write(ctx, &jsonrpc.Request{Method: "notifications/cancelled", Params: params}) // if it fails, Read will
	}
}

// answered hands an answer to the request that is with the server. One to any other, such as a call that is being
// decided on, goes nowhere.
func (w *wire) answered(resp *jsonrpc.Response) {
	number, _ := resp.ID.Raw().(int64)
	w.mu.Lock()
	this := w.waiting[number]
	delete(w.waiting, number)
	w.mu.Unlock()
	if this.answer != nil {
		this.answer <- resp
	}
}

// named returns the params of a notification of the server as the host knows its requests: by its own ids and progress
// tokens. It reports whether they are of a request of which the host knows, if they are of one at all.
func (w *wire) named(method string, params json.RawMessage) (json.RawMessage, bool) {
	var err error
	switch method {
	case "notifications/progress":
		of, known := w.about(params, "progressToken")
		if !known || of.token == nil {
			return nil, false
		}
		params, err = rawjson.Set(params, of.token, "progressToken")
	case "notifications/cancelled":
		of, known := w.about(params, "requestId")
		if !known || of.id == nil {
			return nil, false
		}
		params, err = setID(params, of.id, "requestId")
	}
	if _, listened := rawjson.Get(params, "_meta", protocol.MetaSubscription); listened && err == nil {
		of, known := w.about(params, "_meta", protocol.MetaSubscription)
		if !known || of.id == nil {
			return nil, false
		}
		params, err = setID(params, of.id, "_meta", protocol.MetaSubscription)
	}
	return params, err == nil
}

// about returns the request that is with the server whose number stands at a place.
func (w *wire) about(params json.RawMessage, place ...string) (asking, bool) {
	raw, _ := rawjson.Get(params, place...)
	number, err := strconv.ParseInt(string(raw), 10, 64)
	w.mu.Lock()
	defer w.mu.Unlock()
	of, ok := w.waiting[number]
	return of, ok && err == nil
}

func setID(params json.RawMessage, id any, place ...string) (json.RawMessage, error) {
	raw, err := json.Marshal(id)
	if err != nil {
		return nil, err
	}
	return rawjson.Set(params, raw, place...)
}
