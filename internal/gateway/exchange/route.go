package exchange

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/gateway/backend"
	"github.com/weir-mcp/weir/internal/gateway/catalog"
	"github.com/weir-mcp/weir/internal/gateway/protocol"
	"github.com/weir-mcp/weir/internal/hosterror"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
)

// A route is the server that a request is for, and the call that the guard decides.
type route struct {
	set  *backend.Set
	link *backend.Conn
	call *guard.Call
	tool json.RawMessage // the tool as it is listed; nil for anything else

	isolated   bool // whether the host says that the agent session is isolated
	resolvable bool // whether the server says that it can resolve the tool's contract for arguments

	rename string // params member that holds the name the host uses; empty if that is the server's own
}

// params returns the params to send, with the name by which the server knows the tool or prompt.
func (r *route) params(params json.RawMessage) (json.RawMessage, error) {
	if r.rename == "" {
		return params, nil
	}
	path := []string{"name"}
	if r.call.Method == "completion/complete" {
		path = []string{"ref", "name"}
	}
	out, err := rawjson.Set(params, rawjson.Quote(r.rename), path...)
	if err != nil {
		return nil, fmt.Errorf("renaming %s: %w", r.call.Method, err)
	}
	return out, nil
}

// codeNotFound is the error of servers for a resource they do not have (2025-11-25, Resources, Error Handling).
const codeNotFound = -32002

// route finds the server that a request is for.
func (f *Host) route(ctx context.Context, m *rpc.Message, set *backend.Set) (*route, *rpc.Error) {
	switch m.Method {
	case "tools/call":
		return f.byName(ctx, m, set, catalog.Tools)
	case "prompts/get":
		return f.byName(ctx, m, set, catalog.Prompts)
	case "resources/read", "resources/subscribe", "resources/unsubscribe":
		return f.byURI(ctx, m, set)
	case "completion/complete":
		return f.byReference(ctx, m, set)
	}
	if all := set.All(); len(all) == 1 && !guard.IsInquiry(m.Method) {
		return f.toOnly(ctx, m, set, all[0])
	}
	return nil, rpc.Errorf(rpc.MethodNotFound, "method not found: %s", m.Method)
}

// byName finds the server of a tool or prompt. A name that is not in the cached list may be new: the list is read again
// once, but not for each of many such names.
func (f *Host) byName(ctx context.Context, m *rpc.Message, set *backend.Set, kind catalog.Kind) (*route, *rpc.Error) {
	raw, _ := rawjson.Get(m.Params, "name")
	shown, ok := rawjson.String(raw)
	if !ok {
		return nil, rpc.Errorf(rpc.InvalidParams, "params.name is missing or not a string")
	}
	e, found, rerr := lookUp(ctx, set, kind, shown)
	if rerr != nil {
		return nil, rerr
	}
	if !found {
		return nil, rpc.Errorf(rpc.InvalidParams, "unknown %s: %q", kind.Member[:len(kind.Member)-1], shown)
	}
	args, _ := rawjson.Get(m.Params, "arguments")
	switch rawjson.Kind(args) {
	case '{':
	case 0, 'n': // some hosts write null for none
		args = nil
	default:
		return nil, rpc.Errorf(rpc.InvalidParams, "params.arguments is not an object")
	}
	r, rerr := f.to(ctx, m, set, e, args)
	if rerr != nil {
		return nil, rerr
	}
	tool := r.tool
	if tool != nil && e.Said != nil {
		tool = e.Said
	}
	if rerr := f.fits(r.call, tool, m.Odd); rerr != nil {
		return nil, rerr
	}
	r.call.Fits = func(c *guard.Call) error {
		if rerr := f.fits(c, tool, true); rerr != nil {
			return rerr
		}
		return nil
	}
	return r, nil
}

// lookUp finds an entry of a list by the name that the host uses. One that is held is looked at again: a person may have accepted it.
func lookUp(ctx context.Context, set *backend.Set, kind catalog.Kind, shown string) (catalog.Entry, bool, *rpc.Error) {
	l, err := set.List(ctx, kind, false)
	if err == nil {
		if e, ok := l.Find(shown); ok && e.Held == "" {
			return e, true, nil
		}
		l, err = set.Reread(ctx, kind)
	}
	if err != nil {
		return catalog.Entry{}, false, rpc.Errorf(rpc.InternalError, "%s", hosterror.Text(err))
	}
	e, ok := l.Find(shown)
	return e, ok, nil
}

// byURI finds the server of a resource: the one that lists it, else the one whose template it fits, else the only one that
// has resources. A resource that its server lists is a plain read; in the URI of any other the agent may have put data.
func (f *Host) byURI(ctx context.Context, m *rpc.Message, set *backend.Set) (*route, *rpc.Error) {
	raw, _ := rawjson.Get(m.Params, "uri")
	uri, ok := rawjson.String(raw)
	if !ok {
		return nil, rpc.Errorf(rpc.InvalidParams, "params.uri is missing or not a string")
	}
	l, err := set.List(ctx, catalog.Resources, false)
	if err != nil {
		return nil, rpc.Errorf(rpc.InternalError, "%s", hosterror.Text(err))
	}
	if e, ok := l.Find(uri); ok {
		return f.to(ctx, m, set, e, nil)
	}
	args, err := rawjson.Set([]byte(`{}`), raw, "uri")
	if err != nil {
		return nil, rpc.Errorf(rpc.InternalError, "%s", hosterror.Text(err))
	}
	templates, err := set.List(ctx, catalog.Templates, false)
	if err != nil {
		return nil, rpc.Errorf(rpc.InternalError, "%s", hosterror.Text(err))
	}
	if e, ok := templates.Match(uri); ok {
		return f.to(ctx, m, set, e.At(uri, set.Find(e.Server).Overlay()), args)
	}
	only := set.OnlyWith("resources")
	if only == nil {
		return nil, rpc.Errorf(codeNotFound, "no server has the resource %q", uri)
	}
	e := catalog.Entry{Server: only.Name(), Trust: only.Trust()}
	return f.to(ctx, m, set, e.At(uri, only.Overlay()), args)
}

// byReference finds the server of the prompt or template that a completion is for. All that the params say beside that is told to
// the server: the argument that is being typed, and those before it.
func (f *Host) byReference(ctx context.Context, m *rpc.Message, set *backend.Set) (*route, *rpc.Error) {
	args := rawjson.Delete(rawjson.Delete(m.Params, "_meta"), "ref")
	if raw, ok := rawjson.Get(m.Params, "ref", "name"); ok {
		shown, _ := rawjson.String(raw)
		e, found, rerr := lookUp(ctx, set, catalog.Prompts, shown)
		if rerr != nil {
			return nil, rerr
		}
		if found {
			return f.to(ctx, m, set, e, args)
		}
	}
	if raw, ok := rawjson.Get(m.Params, "ref", "uri"); ok {
		uri, _ := rawjson.String(raw)
		for _, kind := range []catalog.Kind{catalog.Templates, catalog.Resources} {
			e, found, rerr := lookUp(ctx, set, kind, uri)
			if rerr != nil {
				return nil, rerr
			}
			if found {
				return f.to(ctx, m, set, e, args)
			}
		}
	}
	return nil, rpc.Errorf(rpc.InvalidParams, "params.ref names no prompt or resource template")
}

// to makes the route to a list's entry.
func (f *Host) to(ctx context.Context, m *rpc.Message, set *backend.Set, e catalog.Entry, args json.RawMessage) (*route, *rpc.Error) {
	from, rerr := lineageOf(ctx, f, m.Params, set)
	if rerr != nil {
		return nil, rerr
	}
	r := &route{set: set, link: set.Find(e.Server), call: &guard.Call{
		ID: rand.Text(), Session: from.ref, Hiding: guard.Hiding{Above: from.above}, Server: e.Server, Trust: e.Trust,
		Method: m.Method, Name: e.Name, Params: m.Params, Arguments: args, Declared: e.Declared, Effective: e.Effective,
		Holding: guard.Holding{Held: e.Held}, Overlay: e.Overlay, Context: from.shown, Tools: set.Tools(),
	}}
	if r.call.Undeclared.Params = protocol.Beyond(m.Method, m.Params); r.call.Undeclared.Params != nil {
		r.call.Violates = protocol.UnknownMembers
	}
	r.call.Readers, r.call.Way = r.link.Readers(), r.link.Way()
	r.call.Hide = f.Engine.Hiding() && r.link.Hides(e.Name)
	if m.Method == "tools/call" || m.Method == guard.MethodResolve {
		r.tool, r.resolvable = e.Raw, e.Resolvable
		r.call.Schema, _ = rawjson.Get(e.Raw, "inputSchema")
		r.call.Output, _ = rawjson.Get(e.Raw, "outputSchema")
		r.call.Display, r.call.Confirmed = annotation.DisplayTemplate(e.Raw), e.Confirmed
	}
	if e.Shown != e.Name {
		r.rename = e.Name
	}
	return r, nil
}

// ofTasks are the methods of tasks, which are of calls that went (2025-11-25, Tasks, and its extension since).
var ofTasks = []string{"tasks/get", "tasks/result", "tasks/list", "tasks/cancel", "tasks/update"}

// toOnly makes the route of a method that nobody here knows to the only server. Nothing is known of it, so the worst
// is assumed, and its params count as chosen by the agent. It may be a way to tools that are not exposed, but for a
// method of tasks, which are of calls that went.
func (f *Host) toOnly(ctx context.Context, m *rpc.Message, set *backend.Set, l *backend.Conn) (*route, *rpc.Error) {
	if len(l.Expose()) > 0 && !slices.Contains(ofTasks, m.Method) {
		return nil, rpc.Errorf(rpc.MethodNotFound, "method not found: %s", m.Method)
	}
	if err := set.Heed(ctx); err != nil {
		return nil, rpc.Errorf(rpc.InternalError, "%s", hosterror.Text(err))
	}
	from, rerr := lineageOf(ctx, f, m.Params, set)
	if rerr != nil {
		return nil, rerr
	}
	params := m.Params
	if params == nil {
		params = json.RawMessage("{}") // so that the session's annotations have a place
	}
	r := &route{set: set, link: l, call: &guard.Call{
		ID: rand.Text(), Session: from.ref, Hiding: guard.Hiding{Above: from.above}, Server: l.Name(), Way: l.Way(), Trust: l.Trust(),
		Method: m.Method, Name: m.Method, Params: params, Arguments: rawjson.Delete(params, "_meta"),
		Effective: contract.Pessimistic(), Context: from.shown, Tools: set.Tools(),
	}}
	r.call.Hide = f.Engine.Hiding() && l.HidesAny() // it may be the result of a task of a tool whose results are hidden
	return r, nil
}

// fits holds the arguments of a call against the declarations of its tool, which is nil for a prompt, and tells the
// guard. It returns the error for arguments that a server may read as others than Weir.
func (f *Host) fits(c *guard.Call, tool json.RawMessage, odd bool) *rpc.Error {
	ambiguous := rpc.Errorf(rpc.InvalidParams, "members of params.arguments differ in nothing but case")
	if tool == nil {
		if odd && rawjson.Folded(c.Arguments, nil) {
			return ambiguous
		}
		return nil
	}
	found := f.Engine.schemas.Of(tool).Check(c.Arguments)
	if found.Ambiguous {
		return ambiguous
	}
	if c.Violates != "" {
		found.Violates = c.Violates
	}
	c.Violates, c.Undeclared.Names, c.Undeclared.Beside = found.Violates, found.Undeclared, found.Beside
	return nil
}
