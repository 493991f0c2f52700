package exchange

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/gateway/catalog"
	"github.com/weir-mcp/weir/internal/gateway/protocol"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/internal/upstream"
)

// resolved writes the result of tools/resolve for a tool that is listed under the given name, a JSON string.
func (g *Engine) resolved(tool, name json.RawMessage, c contract.Contract, extension bool) (json.RawMessage, error) {
	written, err := g.Words.ToHosts.WriteTool(tool, c)
	if err != nil {
		return nil, err
	}
	annotations, ok := rawjson.Get(written, "annotations")
	if !ok {
		annotations = []byte("{}")
	}
	// The hints of MCP have to be there, whatever vocabularies are written else.
	for _, h := range contract.Hints() {
		if !h.Core {
			continue
		}
		if annotations, err = rawjson.Set(annotations, strconv.AppendBool(nil, *h.Of(&c) == contract.Yes), h.Name); err != nil {
			return nil, err
		}
	}
	result, path := []byte(`{}`), []string{}
	if !extension {
		path = []string{"tool"}
	}
	for _, member := range []struct {
		name  string
		value json.RawMessage
	}{{"name", name}, {"annotations", annotations}, {"_meta", refinements(written)}} {
		if member.value == nil {
			continue
		}
		if result, err = rawjson.Set(result, member.value, append(path[:len(path):len(path)], member.name)...); err != nil {
			return nil, err
		}
	}
	if extension {
		return rawjson.Set(result, []byte(`"complete"`), "resultType")
	}
	return result, nil
}

// refinements returns the members of a tool's _meta that belong to other extensions and to Weir's own vocabulary; nil if none.
func refinements(tool json.RawMessage) json.RawMessage {
	meta, _ := rawjson.Get(tool, "_meta")
	var out json.RawMessage
	for name, value := range rawjson.Members(meta) {
		if !strings.HasPrefix(name, "io.modelcontextprotocol/") && name != annotation.OwnContract || name == catalog.Resolution {
			continue
		}
		if out == nil {
			out = json.RawMessage("{}")
		}
		if more, err := rawjson.Set(out, value, name); err == nil {
			out = more
		}
	}
	return out
}

// Marked returns a result of tools/list in which every tool is marked as one that can be resolved, as the extension has it.
func Marked(result json.RawMessage) json.RawMessage {
	tools, _ := rawjson.Get(result, "tools")
	list := []byte{'['}
	for tool := range rawjson.Elements(tools) {
		if len(list) > 1 {
			list = append(list, ',')
		}
		if with, err := rawjson.Set(tool, []byte("true"), "_meta", catalog.Resolution, "resolvable"); err == nil {
			tool = with
		}
		list = append(list, tool...)
	}
	if out, err := rawjson.Set(result, append(list, ']'), "tools"); err == nil {
		return out
	}
	return result
}

// learn asks the call's server for the contract of this very call, if it can tell and policy lets it see the arguments. A server that does
// not answer in time, or not to the point, leaves the call as it is: then the contract of the tool counts. The answer is
// good for this call only.
func (g *Engine) learn(ctx context.Context, r *route) error {
	r.call.Resolved = nil
	if !r.learns() {
		return nil
	}
	if may, err := g.Guard.MayAsk(ctx, r.call); err != nil || !may {
		return err
	}
	conn, err := r.link.Connection(ctx)
	if err != nil || r.link.IsMute(conn) {
		return nil // the call itself will say why the server is not there
	}
	params, err := r.question(conn, r.set.Hello)
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, r.link.Resolve())
	defer cancel()
	answer, err := conn.Call(limited, guard.MethodResolve, params)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		g.Log.Warn("resolving", "server", r.call.Server, "tool", r.call.Name, "error", err)
		return nil
	case answer.Error != nil:
		if failure := answer.Failure(); failure.Code == rpc.MethodNotFound {
			r.link.SetMute(conn)
		}
		return nil
	}
	return g.take(ctx, r, answer.Result)
}

// question returns the params of tools/resolve for the route's call. The extension is declared with the request, which servers
// before 2026-07-28 do not look at.
func (r *route) question(conn *upstream.Conn, hello upstream.Hello) (json.RawMessage, error) {
	params, err := rawjson.Set([]byte(`{}`), rawjson.Quote(r.call.Name), "name")
	if err == nil && r.call.Arguments != nil {
		params, err = rawjson.Set(params, r.call.Arguments, "arguments")
	}
	if err != nil || !conn.Modern() {
		return params, err
	}
	capabilities := hello.Capabilities
	if capabilities == nil {
		capabilities = json.RawMessage("{}")
	}
	if capabilities, err = rawjson.Set(capabilities, []byte("{}"), "extensions", catalog.Resolution); err != nil {
		return nil, err
	}
	return rawjson.Set(params, capabilities, "_meta", protocol.MetaCapabilities)
}

// take reads a server's resolution. One that is of another tool, or that is none, is a defect and says nothing.
func (g *Engine) take(ctx context.Context, r *route, result json.RawMessage) error {
	defect := func(where, reason string) error {
		return g.Servers.Defect(ctx, r.call.Server, guard.MethodResolve, r.call.Name, annotation.Defect{Where: where, Reason: reason})
	}
	raw, isComplete := rawjson.Get(result, "resultType")
	if kind, _ := rawjson.String(raw); isComplete && kind != "complete" {
		return nil // it wants to know something first, which a question is not worth
	}
	tool := result
	if inner, ok := rawjson.Get(result, "tool"); ok {
		tool = inner
	}
	raw, _ = rawjson.Get(tool, "name")
	if name, ok := rawjson.String(raw); !ok || name != r.call.Name {
		return defect("name", "the resolution is of another tool")
	}
	if _, ok := rawjson.Get(tool, "annotations"); !ok {
		return defect("annotations", "the resolution has none")
	}
	for _, schema := range []string{"inputSchema", "outputSchema"} {
		listed, _ := rawjson.Get(r.tool, schema)
		if said, ok := rawjson.Get(tool, schema); ok && string(rawjson.Canonical(said)) != string(rawjson.Canonical(listed)) {
			return defect(schema, "the resolution has another schema than the tool")
		}
	}
	c, found := g.Words.Reader.ReadResolved(result)
	for _, d := range found {
		if err := defect(d.Where, d.Reason); err != nil {
			return err
		}
	}
	return g.Guard.Resolved(ctx, r.call, c)
}
