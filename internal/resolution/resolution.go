// Package resolution asks a server for the contract of a single call, before the call is decided (tools/resolve).
//
//	learner := resolution.Learner{Guard: g, Reader: reader, Defect: defect}
//	err := learner.Learn(ctx, call, tool, connect) // and then g.Before(ctx, call)
//
// The arguments of a call are shown to its server only where the call would go out without the server's word. A server
// that does not answer in time, or not to the point, leaves the call as it is: then the contract of the tool counts. An
// answer is good for one call.
package resolution

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
)

// within is how long a server may take to resolve the contract of a call, if the operator does not say.
const within = 2 * time.Second

// A Learner learns the contracts of calls from their servers.
type Learner struct {
	Guard  *guard.Guard
	Reader annotation.Reader

	// Defect records a mistake in an answer to the call.
	Defect func(ctx context.Context, c *guard.Call, d annotation.Defect) error

	Unanswered func(c *guard.Call, err error) // told of a server that gave no answer; nil: nobody is
}

// A Tool is the tool of a call.
type Tool struct {
	Definition json.RawMessage // as it is listed
	Resolvable bool            // whether its server says that it resolves the contract: see [annotation.Resolvable]
	Within     time.Duration   // for the server to do so; zero: 2 seconds, negative: it is not asked
}

// A Peer is a connection to the server of a call.
type Peer struct {
	// Capabilities are those that the client states with each request, an object; nil if the protocol revision has
	// them in its handshake only.
	Capabilities json.RawMessage

	// Ask brings the answer to tools/resolve, until its context ends.
	Ask func(ctx context.Context, params json.RawMessage) (guard.Answer, error)

	// Mute notes that the server knows no tools/resolve. It need not be asked again over this connection.
	Mute func()
}

// Learn sets c.Resolved to the server's contract for the call, or to nil. Connect returns the connection to the server;
// nil if there is nobody to ask.
func (l *Learner) Learn(ctx context.Context, c *guard.Call, of Tool, connect func(context.Context) *Peer) error {
	c.Resolved = nil
	// The server is shown no hidden values before the call is decided.
	if !of.Resolvable || of.Within < 0 || len(c.Uses) > 0 || c.Held != "" || c.Violates != "" {
		return nil
	}
	if may, err := l.Guard.Show(ctx, c); err != nil || !may {
		return err
	}
	peer := connect(ctx)
	if peer == nil {
		return nil
	}
	params, err := question(c, peer.Capabilities)
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, cmp.Or(of.Within, within))
	defer cancel()
	answer, err := peer.Ask(limited, params)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		if l.Unanswered != nil {
			l.Unanswered(c, err)
		}
		return nil
	case answer.Error != nil:
		if failure := (&rpc.Message{Error: answer.Error}).Failure(); failure.Code == rpc.MethodNotFound {
			peer.Mute()
		}
		return nil
	}
	return l.take(ctx, c, of, answer.Result)
}

// question returns the params of tools/resolve for a call. The extension is declared with the request, which servers
// before 2026-07-28 do not look at.
func question(c *guard.Call, capabilities json.RawMessage) (json.RawMessage, error) {
	params, err := rawjson.Set([]byte(`{}`), rawjson.Quote(c.Name), "name")
	if err == nil && c.Arguments != nil {
		params, err = rawjson.Set(params, c.Arguments, "arguments")
	}
	if err != nil || capabilities == nil {
		return params, err
	}
	if capabilities, err = rawjson.Set(capabilities, []byte("{}"), "extensions", annotation.ResolutionExtension); err != nil {
		return nil, err
	}
	return rawjson.Set(params, capabilities, "_meta", "io.modelcontextprotocol/clientCapabilities")
}

// take reads a server's resolution. One that is of another tool, or that is none, is a defect and says nothing.
func (l *Learner) take(ctx context.Context, c *guard.Call, of Tool, result json.RawMessage) error {
	defect := func(where, reason string) error {
		return l.Defect(ctx, c, annotation.Defect{Where: where, Reason: reason})
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
	if name, ok := rawjson.String(raw); !ok || name != c.Name {
		return defect("name", "the resolution is of another tool")
	}
	if _, ok := rawjson.Get(tool, "annotations"); !ok {
		return defect("annotations", "the resolution has none")
	}
	for _, schema := range []string{"inputSchema", "outputSchema"} {
		listed, _ := rawjson.Get(of.Definition, schema)
		if said, ok := rawjson.Get(tool, schema); ok && string(rawjson.Canonical(said)) != string(rawjson.Canonical(listed)) {
			return defect(schema, "the resolution has another schema than the tool")
		}
	}
	resolved, found := l.Reader.ReadResolved(result)
	for _, d := range found {
		if err := defect(d.Where, d.Reason); err != nil {
			return err
		}
	}
	return l.Guard.Resolved(ctx, c, resolved)
}
