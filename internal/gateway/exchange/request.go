package exchange

import (
	"encoding/json"
	"time"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/conversation"
	"github.com/weir-mcp/weir/internal/gateway/agentsession"
	"github.com/weir-mcp/weir/internal/gateway/protocol"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/policy"
)

// A request is one request of an agent, and the messages to its host about it.
type request struct {
	f     *Host
	sent  *rpc.Message // as the host sent it, but for our own question's answer
	m     *rpc.Message
	who   *protocol.Client
	route *route
	state *returnState // with which the host came back; nil if it did not

	veiled   bool           // whether hidden values chose the call: approval requests alone name it
	remedy   string         // how a person accepts the request that waits; "" if none does
	warning  *guard.Refusal // for the agent, beside the answer; nil if there is none
	redeemed []string       // acceptances that were used up for a call that has not gone out yet
}

// refused answers a request that may not happen, or whose answer the agent may not see.
func (x *request) refused(r guard.Refusal) *rpc.Message {
	if x.ventures() {
		r = veiled(r.Effect, "this call with hidden values", x.remedy)
	}
	if about := x.conversation(); about != "" {
		r.Message += "; " + about
	}
	a := r.Answer(x.m.Method)
	return &rpc.Message{ID: x.m.ID, Result: protocol.FitResult(a.Result, x.who, false), Error: a.Error}
}

// conversation says which agent session counts where its host does not name it in each request, and how a person begins another; "" for any
// other one.
func (x *request) conversation() string {
	local := x.f.Agents.Local
	if local == nil || x.route == nil {
		return ""
	}
	n, ok, err := local.Book.Find(conversation.KeyOf(x.route.call.Session.Key))
	if err != nil || !ok {
		return ""
	}
	return agentsession.Counts(n, time.Now())
}

func (x *request) binding() []byte {
	return stateBinding(x.f.Agents.Principal, x.m.Method, x.m.Params)
}

// seal makes a requestState for this request and its server.
func (x *request) seal(state returnState) (string, error) {
	state.Server = x.route.call.Server
	return x.f.Engine.sealer.seal(x.binding(), state)
}

// carry returns the text to append to our own question's state, so that the host's answer to a server's earlier question is
// not lost when ours comes in between; "" if there is none.
func (x *request) carry() (string, error) {
	kept := json.RawMessage(`{}`)
	for _, name := range []string{"requestState", "inputResponses"} {
		value, ok := rawjson.Get(x.sent.Params, name)
		if !ok {
			continue
		}
		var err error
		if kept, err = rawjson.Set(kept, value, name); err != nil {
			return "", err
		}
	}
	if len(kept) == len(`{}`) {
		return "", nil
	}
	sealed, err := x.f.Engine.sealer.seal(x.binding(), returnState{Kind: stateCarried, Value: kept})
	return "." + sealed, err
}

// cancelSuspended ends the call that the host came back for and may not go on with.
func (x *request) cancelSuspended() {
	if x.state == nil || x.state.Kind != stateHeld {
		return
	}
	name, _ := rawjson.String(x.state.Value)
	if c, ok := x.f.Engine.suspended.take(name); ok {
		c.cancel(errRefused)
	}
}

// warn keeps a warning for the agent, beside the answer.
func (x *request) warn(r guard.Refusal) {
	if r.Effect != policy.Warn {
		return
	}
	if x.ventures() {
		r = guard.Refusal{Effect: r.Effect, When: r.When, Message: "policy warns of this call with hidden values; the reason is for the user, in weir log"}
	}
	x.warning = &r
}

// ventures reports whether handles in the request stand for hidden values. The decision may depend on these then, and
// the agent is told as much of it as [guard.Hidden.Expand] counts.
func (x *request) ventures() bool { return x.route != nil && x.route.call.Run > 0 }

// veiled returns the refusal of a call for an agent that may not learn the reason. With a remedy a person may accept it.
func veiled(e policy.Effect, call, remedy string) guard.Refusal {
	if remedy != "" {
		return guard.Refusal{Effect: policy.Ask, When: policy.OnCall, Message: "a person has to accept " + call + ": " + remedy}
	}
	return guard.Refusal{
		Effect: e, When: policy.OnCall, Message: call + " does not go, or has no result that can be hidden; the reason is for the user, in weir log",
	}
}
