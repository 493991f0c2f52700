package gateway

import (
	"time"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/conversation"
	"github.com/weir-mcp/weir/internal/gateway/agentsession"
	"github.com/weir-mcp/weir/internal/gateway/protocol"
	"github.com/weir-mcp/weir/internal/rpc"
)

// refused answers a request that may not happen, or whose answer the agent may not see.
func (x *exchange) refused(r guard.Refusal) *rpc.Message {
	if about := x.conversation(); about != "" {
		r.Message += "; " + about
	}
	a := r.Answer(x.m.Method)
	return &rpc.Message{ID: x.m.ID, Result: protocol.FitResult(a.Result, x.who, false), Error: a.Error}
}

// conversation says which agent session counts where its host does not name it in each request, and how a person begins another; "" for any
// other one.
func (x *exchange) conversation() string {
	local := x.f.agents.Local
	if local == nil || x.route == nil {
		return ""
	}
	n, ok, err := local.Book.Find(conversation.KeyOf(x.route.call.Session.Key))
	if err != nil || !ok {
		return ""
	}
	return agentsession.Counts(n, time.Now())
}
