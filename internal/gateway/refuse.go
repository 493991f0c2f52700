package gateway

import (
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/rpc"
)

// refused answers a request that may not happen, or whose answer the agent may not see.
func (x *exchange) refused(r guard.Refusal) *rpc.Message {
	a := r.Answer(x.m.Method)
	return &rpc.Message{ID: x.m.ID, Result: forHost(a.Result, x.who, false), Error: a.Error}
}
