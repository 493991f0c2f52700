package exchange

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/gateway/agentsession"
	"github.com/weir-mcp/weir/internal/gateway/backend"
	"github.com/weir-mcp/weir/internal/hosterror"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/session"
	"github.com/weir-mcp/weir/vault"
)

// A lineage is the agent session of a request, and those above it if it is isolated.
type lineage struct {
	ref      session.Ref
	above    []string    // keys, that of the parent first
	isolated bool        // whether the request says so; one below an isolated session is not isolated itself
	shown    label.Label // of all that the agent was shown outside of its session
}

// lineageOf returns the agent session of a request to a set of servers. That of an isolated one has no parent, and
// begins with the labels of all sessions above.
func lineageOf(ctx context.Context, f *Host, params json.RawMessage, set *backend.Set) (l lineage, _ *rpc.Error) {
	ref, rerr := f.Agents.Of(params)
	if rerr != nil {
		return l, rerr
	}
	isolated, err := agentsession.Isolated(params)
	if err != nil {
		return l, asError(err)
	}
	l = lineage{ref: ref, isolated: isolated, shown: set.Shown()}
	parent := ""
	if isolated {
		if name := f.Agents.ClientName(params); !slices.Contains(f.Engine.Isolating(), name) {
			return l, rpc.Errorf(rpc.InvalidParams, "this host may not isolate agent sessions: the operator of Weir names those that may, "+
				"in isolated of weir.yaml; it is %.80q", name)
		}
		parent, l.ref.Parent = ref.Parent, ""
	}
	if len(f.Engine.Isolating()) == 0 {
		return l, nil
	}
	if l.above, err = f.Engine.Guard.Hidden.Above(ctx, l.ref, parent); err != nil {
		return l, asError(err)
	}
	inherited, err := f.Engine.Guard.Hidden.Inherited(ctx, l.ref, l.above)
	if err != nil {
		return l, asError(err)
	}
	l.shown = label.Join(l.shown, inherited)
	return l, nil
}

// asError returns an error as one of JSON-RPC, as far as hosts may be shown it.
func asError(err error) *rpc.Error {
	var said *rpc.Error
	if errors.As(err, &said) {
		return said
	}
	return rpc.Errorf(rpc.InternalError, "%s", hosterror.Text(err))
}

// returnTool is the name of the tool by which an isolated agent session returns a value.
const returnTool = ownPrefix + "return"

const returnDefinition = `{"name":"weir_return","title":"Return a value","description":"Hands a value to the agent for ` +
	`which you work, if you work in isolation: it gets nothing else of you. Without as, it gets a hidden value, which may be ` +
	`any JSON and may hold handles. With as, it is told one number, boolean or date.","inputSchema":{"type":"object",` +
	`"properties":{"value":{},"as":{"type":"string","enum":["boolean","integer","number","date"]}},"required":["value"]},` +
	`"annotations":{"readOnlyHint":false,"destructiveHint":false,"openWorldHint":false}}`

type returnArguments struct {
	Value json.RawMessage `json:"value"`
	As    vault.Type      `json:"as"`
}

// check reports a mistake in the arguments.
func (a *returnArguments) check() error {
	switch {
	case a.Value == nil:
		return errors.New("value is missing")
	case a.As != "" && !slices.Contains(guard.ReturnTypes(), a.As):
		return fmt.Errorf("as is one of %v: without as, a value is hidden", guard.ReturnTypes())
	}
	return nil
}

// returning returns the tool weir_return.
func returning(f ownHost) ownTool {
	return func(ctx context.Context, m *rpc.Message) *rpc.Message { return returned(ctx, f, m) }
}

// returned answers weir_return.
func returned(ctx context.Context, f ownHost, m *rpc.Message) *rpc.Message {
	x, refusal := f.open(ctx, m)
	if refusal != nil {
		return refusal
	}
	asking := x.route.call
	switch {
	case asking.Held != "":
		return x.refused(guard.Refusal{When: policy.OnCall, Rule: guard.RuleHeld, Message: asking.Held})
	case !x.route.isolated:
		return failed(x, "only an isolated agent session returns values: the host says in each request that it is one")
	}
	var arguments returnArguments
	decoder := json.NewDecoder(bytes.NewReader(asking.Arguments))
	decoder.DisallowUnknownFields()
	if rawjson.Kind(asking.Arguments) != '{' || decoder.Decode(&arguments) != nil {
		return failed(x, "the arguments are not those of the tool's schema")
	}
	if err := arguments.check(); err != nil {
		return failed(x, err.Error())
	}
	value, filling, err := f.Engine.Guard.Hidden.Expand(ctx, asking.Session, arguments.Value) // and nothing of the rest
	if err != nil {
		return failed(x, handleError(f.Engine, err))
	}
	own := &ownCall{exchange: x}
	admission, refusal := own.permitLook(ctx, 0, 0, true)
	if refusal != nil {
		return refusal
	}
	v, answer, err := f.Engine.Guard.Hidden.Return(ctx, asking, &guard.Return{Value: value, Uses: filling.Uses, As: arguments.As})
	switch {
	case errors.Is(err, guard.ErrSpent):
		return failed(x, guard.ErrSpent.Error())
	case err != nil:
		return own.answered(ctx, admission, nil, err)
	case arguments.As != "":
		return own.answered(ctx, admission, map[string]any{"answer": answer}, nil)
	}
	text := fmt.Sprintf("The agent for which you work has this as value %s, and can write %s in the arguments of a tool.", v.Name, v.Handle())
	return own.answered(ctx, admission, map[string]any{"value": v.Name, "how": text}, nil)
}
