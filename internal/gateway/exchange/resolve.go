package exchange

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/resolution"
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
		if !strings.HasPrefix(name, "io.modelcontextprotocol/") && name != annotation.OwnContract || name == annotation.ResolutionExtension {
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
		if with, err := rawjson.Set(tool, []byte("true"), "_meta", annotation.ResolutionExtension, "resolvable"); err == nil {
			tool = with
		}
		list = append(list, tool...)
	}
	if out, err := rawjson.Set(result, append(list, ']'), "tools"); err == nil {
		return out
	}
	return result
}

// learn asks the route's server for the contract of this very call, if it can tell.
func (g *Engine) learn(ctx context.Context, r *route) error {
	l := resolution.Learner{
		Guard: g.Guard, Reader: g.Words.Reader,
		Defect: func(ctx context.Context, c *guard.Call, d annotation.Defect) error {
			return g.Servers.Defect(ctx, c.Server, guard.MethodResolve, c.Name, d)
		},
		Unanswered: func(c *guard.Call, err error) {
			g.Log.Warn("resolving", "server", c.Server, "tool", c.Name, "error", err)
		},
	}
	return l.Learn(ctx, r.call, resolution.Tool{Definition: r.tool, Resolvable: r.resolvable, Within: r.link.Resolve()}, r.resolver)
}

// resolver returns the connection over which the route's server resolves contracts; nil if there is none, or if the
// server has said that it does not.
func (r *route) resolver(ctx context.Context) *resolution.Peer {
	conn, err := r.link.Connection(ctx)
	if err != nil || r.link.IsMute(conn) {
		return nil // the call itself will say why the server is not there
	}
	p := &resolution.Peer{
		Mute: func() { r.link.SetMute(conn) },
		Ask: func(ctx context.Context, params json.RawMessage) (guard.Answer, error) {
			answer, err := conn.Call(ctx, guard.MethodResolve, params)
			if err != nil {
				return guard.Answer{}, err
			}
			return guard.Answer{Result: answer.Result, Error: answer.Error}, nil
		},
	}
	if conn.Modern() {
		if p.Capabilities = r.set.Hello.Capabilities; p.Capabilities == nil {
			p.Capabilities = json.RawMessage("{}")
		}
	}
	return p
}
