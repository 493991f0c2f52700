package mcpguard

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"time"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/gateway/catalog"
	"github.com/weir-mcp/weir/internal/gateway/protocol"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/resolution"
)

// A resolver asks one server, over one connection, for the contracts of calls.
type resolver struct {
	p      *Protector
	within time.Duration
	mute   atomic.Bool // the server knows no tools/resolve

	introduction *introduction

	ask func(ctx context.Context, method string, params json.RawMessage) (guard.Answer, error)
}

// learn asks the server for the contract of this very call, if it can tell. The params are those of the host's request.
func (r *resolver) learn(ctx context.Context, call *guard.Call, of catalog.Entry, params json.RawMessage) error {
	call.Context = r.p.context(ctx)
	l := resolution.Learner{Guard: r.p.guard, Reader: r.p.opts.Words.Reader, Defect: r.p.guard.Defect}
	asked := resolution.Tool{Definition: of.Said, Resolvable: of.Resolvable, Within: r.within}
	return l.Learn(ctx, call, asked, func(context.Context) *resolution.Peer {
		if r.mute.Load() {
			return nil
		}
		capabilities, _ := rawjson.Get(r.introduction.whole([]byte("{}"), params), "_meta", protocol.MetaCapabilities)
		return &resolution.Peer{
			Capabilities: capabilities,
			Mute:         func() { r.mute.Store(true) },
			Ask: func(ctx context.Context, question json.RawMessage) (guard.Answer, error) {
				return r.ask(ctx, guard.MethodResolve, r.introduction.to(question, params, protocol.MetaVersion, protocol.MetaClientInfo))
			},
		}
	})
}
