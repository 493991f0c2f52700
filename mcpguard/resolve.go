package mcpguard

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/resolution"
)

// A tool is one that the server has listed. The zero tool was not listed.
type tool struct {
	raw        json.RawMessage
	declared   contract.Contract
	resolvable bool
}

// A resolver asks one server, over one connection, for the contracts of calls.
type resolver struct {
	p      *Protector
	within time.Duration
	mute   atomic.Bool // the server knows no tools/resolve

	ask  func(ctx context.Context, req *jsonrpc.Request) (guard.Answer, error)
	tell func(ctx context.Context, msg jsonrpc.Message) error
}

// learn asks the server for the contract of this very call, if it can tell. The params are those of the host's request.
func (r *resolver) learn(ctx context.Context, call *guard.Call, of tool, params json.RawMessage) error {
	call.Context = r.p.heard.Label()
	l := resolution.Learner{Guard: r.p.guard, Reader: r.p.opts.Words.Reader, Defect: r.p.guard.Defect}
	asked := resolution.Tool{Definition: of.raw, Resolvable: of.resolvable, Within: r.within}
	return l.Learn(ctx, call, asked, func(context.Context) *resolution.Peer {
		if r.mute.Load() {
			return nil
		}
		capabilities, _ := rawjson.Get(params, "_meta", metaCapabilities)
		return &resolution.Peer{
			Capabilities: capabilities,
			Mute:         func() { r.mute.Store(true) },
			Ask: func(ctx context.Context, question json.RawMessage) (guard.Answer, error) {
				return r.question(ctx, introduced(question, params, metaProtocol, metaClient))
			},
		}
	})
}

// question sends tools/resolve under an id that no request of the host has, and waits for the answer.
func (r *resolver) question(ctx context.Context, params json.RawMessage) (guard.Answer, error) {
	name := "weir-" + rand.Text()
	id, err := jsonrpc.MakeID(name)
	if err != nil {
		return guard.Answer{}, err
	}
	a, err := r.ask(ctx, &jsonrpc.Request{ID: id, Method: guard.MethodResolve, Params: params})
	if err == nil {
		err = annotation.Check(a.Raw())
	}
	if ctx.Err() != nil {
		r.withdraw(ctx, name)
	}
	return a, err
}

// withdrawal is how long it may take to tell a server that its answer is not waited for any longer.
const withdrawal = 2 * time.Second

// withdraw tells the server that nobody waits for the answer to a request any longer.
func (r *resolver) withdraw(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawal)
	defer cancel()
	params, err := json.Marshal(map[string]string{"requestId": id, "reason": "no answer in time"})
	if err == nil {
		_ = r.tell(ctx, &jsonrpc.Request{Method: "notifications/cancelled", Params: params}) // if it fails, Read will
	}
}

// Members of the _meta of each request from 2026-07-28 on, in which the SDK says who the client is: no agent writes
// them.
const (
	metaProtocol     = "io.modelcontextprotocol/protocolVersion"
	metaClient       = "io.modelcontextprotocol/clientInfo"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
)

// introduced returns params with the named members of the _meta of a request of the host.
func introduced(params, request json.RawMessage, names ...string) json.RawMessage {
	for _, name := range names {
		if said, ok := rawjson.Get(request, "_meta", name); ok {
			params, _ = rawjson.Set(params, said, "_meta", name)
		}
	}
	return params
}
