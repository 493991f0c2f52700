// Package mcptool makes tools of servers written with the official Go SDK describe their effects and their results, in
// the words of SEP-1913 (Trust and Sensitivity Annotations).
//
// A tool is declared with its contract, added like any other, and labels its results:
//
//	tools, err := mcptool.New(server, mcptool.Options{})
//	err = mcptool.Add(tools, &mcp.Tool{Name: "read_file"}, mcptool.Declaration[Path]{
//		Contract: contract.Reads(label.Internal),
//	}, func(ctx context.Context, c *mcptool.Call, in Path) (*mcp.CallToolResult, any, error) {
//		return c.Text(content, label.Label{Private: true, Attribution: label.SetOf("file://" + in.Path)}), nil, nil
//	})
//
// The package does this for them:
//
//   - tools/list shows each contract in Tool.annotations (SEP-1913, Extended Tool Annotations). The SDK's own type has
//     no members for it and would drop them.
//   - A result carries in _meta.annotations the join of the labels of everything in it, so no block is forgotten
//     (SEP-1913, Response Annotations Scope). A handler that says nothing returns all that its contract calls possible.
//     A result outside of the tool's declaration is an error, found by the author's first test and not by a client in
//     the field.
//   - Statements are read exactly as they are meant. A contract that no vocabulary has words for is an error of [Add].
//   - [Call.Seen] is the client's statement about the data that its agent has seen (SEP-1913, Tool Call Request
//     Extension), and [Declaration.Admit] decides on it before the tool runs: allow, refuse, or ask the user, over the
//     protocol of either era.
//   - [Call.Ask] and [AskFor] ask in the middle of a call, and [Call.Malicious] reports a finding beside the label.
//   - A declaration with Resolve is served by tools/resolve, in the core form and in that of the extension
//     io.modelcontextprotocol/tool-resolution to clients that have it.
//
// Nothing here needs the rest of Weir to run. A server's policy of its own, with rules and a record, is package
// mcpguard. Everything is safe for concurrent use.
package mcptool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// New prepares a server for annotated tools. Call it once for each server, before it serves.
func New(server *mcp.Server, opts Options) (*Tools, error) {
	a, err := newAsks(opts)
	if err != nil {
		return nil, err
	}
	t := &Tools{server: server, asks: a, by: map[string]declared{}}
	server.AddReceivingMiddleware(t.receive)
	if err := mcp.AddReceivingCustomMethod(server, methodResolve, t.resolve); err != nil {
		return nil, err
	}
	return t, nil
}

// Add adds a tool to the server, as [mcp.AddTool] does. The hints of the tool's own Annotations must be unset: they
// come from the contract, which must have words in the vocabularies: sets of destinations, outcomes and sources that
// are known are not empty, and every value is one of theirs.
func Add[In, Out any](t *Tools, definition *mcp.Tool, d Declaration[In], h Handler[In, Out]) error {
	definition, err := declare(t, definition, d)
	if err != nil {
		return err
	}
	mcp.AddTool(t.server, definition, tool[In, Out]{d, h}.run)
	return nil
}

// AddRaw is [Add] for a tool with an input schema of its own, as [mcp.Server.AddTool] has them: arguments are JSON,
// which the handler holds against the schema. An error is shown to the model, except for a [*jsonrpc.Error].
func AddRaw(t *Tools, definition *mcp.Tool, d Declaration[json.RawMessage], h RawHandler) error {
	if definition.InputSchema == nil {
		return fmt.Errorf("tool %q: it has no input schema", definition.Name)
	}
	definition, err := declare(t, definition, d)
	if err != nil {
		return err
	}
	run := tool[json.RawMessage, any]{d, func(ctx context.Context, c *Call, in json.RawMessage) (*mcp.CallToolResult, any, error) {
		result, err := h(ctx, c, in)
		return result, nil, err
	}}.run
	t.server.AddTool(definition, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		result, _, err := run(ctx, req, req.Params.Arguments)
		var wire *jsonrpc.Error
		if err == nil || errors.As(err, &wire) {
			return result, err
		}
		shown := &mcp.CallToolResult{}
		shown.SetError(err)
		return shown, nil
	})
	return nil
}

// declare remembers the declaration of a tool, and returns the tool's definition for clients.
func declare[In any](t *Tools, definition *mcp.Tool, d Declaration[In]) (*mcp.Tool, error) {
	if a := definition.Annotations; a != nil && (a.ReadOnlyHint || a.IdempotentHint || a.DestructiveHint != nil || a.OpenWorldHint != nil) {
		return nil, fmt.Errorf("tool %q: its hints are the contract's to set", definition.Name)
	}
	if _, err := writeTool([]byte(`{}`), d.Contract); err != nil {
		return nil, fmt.Errorf("tool %q: %w", definition.Name, err)
	}
	if _, err := metaOf(d.Contract.Label()); err != nil {
		return nil, fmt.Errorf("tool %q: %w", definition.Name, err)
	}
	of := declared{contract: d.Contract}
	if d.Resolve != nil {
		schema, err := inputSchema[In](definition)
		if err != nil {
			return nil, fmt.Errorf("tool %q: %w", definition.Name, err)
		}
		of.resolve = resolver(schema, d)
		definition = marked(definition)
	}
	t.mu.Lock()
	t.by[definition.Name] = of
	t.mu.Unlock()
	return definition, nil
}
