package mcpguard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/rawjson"
)

// Middleware is receiving middleware for a server: it decides each call by policy, on the contract of the tool and on
// the client's label of its agent, before the handler runs; and it labels the result of the handler, if that is not
// empty, with _meta.annotations. The contracts are the server's own and so count as they are; a tool without one, and a
// method that MCP does not have, count as the worst. Handshakes, lists and the like pass undecided: see guard.Guarded.
//
// With the default Options.Session all clients share one session. A server of many clients should tell them apart.
func (p *Protector) Middleware(name string, contracts map[string]contract.Contract) mcp.Middleware {
	self := Server{Name: name, Trust: contract.Trusted}
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if !guard.Guarded(method) {
				return next(ctx, method, req)
			}
			return p.receive(ctx, self, contracts, received{next, method, req})
		}
	}
}

// received is a request on its way to its handler.
type received struct {
	next   mcp.MethodHandler
	method string
	req    mcp.Request
}

func (p *Protector) receive(ctx context.Context, self Server, contracts map[string]contract.Contract, r received) (mcp.Result, error) {
	params, err := json.Marshal(r.req.GetParams())
	if err != nil {
		return nil, fmt.Errorf("encoding params: %w", err)
	}
	if r.method == "subscriptions/listen" {
		switch a, err := p.watch(ctx, p.opts.Session(ctx), self, params); {
		case err != nil:
			return nil, err
		case a.Error != nil:
			return nil, wireError(a.Error)
		}
		return r.next(ctx, r.method, r.req)
	}
	call, err := p.call(ctx, self, r.method, params)
	if err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
	}
	if r.method == "tools/call" {
		call.Describe(contracts[call.Name], nil)
	}
	var result mcp.Result
	a, refused, err := p.through(ctx, call, func(ctx context.Context, _ json.RawMessage) (answer guard.Answer, err error) {
		result, answer, err = r.handle(ctx)
		return answer, err
	})
	switch {
	case err != nil:
		return nil, err
	case a.Error != nil:
		return nil, wireError(a.Error)
	case refused:
		result = &mcp.CallToolResult{}
		return result, json.Unmarshal(a.Result, result)
	}
	return result, withLabel(result, a.Result)
}

// handle runs the handler. An error that has a wire form is an answer like any other.
func (r received) handle(ctx context.Context) (mcp.Result, guard.Answer, error) {
	result, err := r.next(ctx, r.method, r.req)
	var wire *jsonrpc.Error
	switch {
	case errors.As(err, &wire):
		raw, err := json.Marshal(wire)
		return nil, guard.Answer{Error: raw}, err
	case err != nil:
		return nil, guard.Answer{}, err
	}
	if result == nil { // of a notification
		return nil, guard.Answer{Result: json.RawMessage("{}")}, nil
	}
	raw, err := json.Marshal(result)
	return result, guard.Answer{Result: raw}, err
}

// withLabel gives the handler's result the _meta of the guard's answer, and the warning that the guard has put before
// its texts. An empty one has no place for it.
func withLabel(result mcp.Result, answer json.RawMessage) error {
	if err := withWarning(result, answer); err != nil {
		return err
	}
	raw, ok := rawjson.Get(answer, "_meta")
	if !ok || !rawjson.HasMembers(rawjson.Delete(answer, "_meta")) {
		return nil
	}
	meta := map[string]any{}
	if err := json.Unmarshal(raw, &meta); err != nil {
		return fmt.Errorf("decoding annotations: %w", err)
	}
	result.SetMeta(meta)
	return nil
}

// withWarning puts the first text of the guard's answer before those of the handler's result, if the answer has one
// more.
func withWarning(result mcp.Result, answer json.RawMessage) error {
	switch r := result.(type) {
	case *mcp.CallToolResult:
		if first := added(answer, "content", len(r.Content)); first != nil {
			text, _ := rawjson.Get(first, "text")
			said, _ := rawjson.String(text)
			r.Content = slices.Insert(r.Content, 0, mcp.Content(&mcp.TextContent{Text: said}))
		}
	case *mcp.ReadResourceResult:
		if first := added(answer, "contents", len(r.Contents)); first != nil {
			warning := &mcp.ResourceContents{}
			if err := json.Unmarshal(first, warning); err != nil {
				return fmt.Errorf("decoding a warning: %w", err)
			}
			r.Contents = slices.Insert(r.Contents, 0, warning)
		}
	case *mcp.GetPromptResult:
		if first := added(answer, "messages", len(r.Messages)); first != nil {
			warning := &mcp.PromptMessage{}
			if err := json.Unmarshal(first, warning); err != nil {
				return fmt.Errorf("decoding a warning: %w", err)
			}
			r.Messages = slices.Insert(r.Messages, 0, warning)
		}
	}
	return nil
}

// added returns the first element of a list in an answer that has more than so many.
func added(answer json.RawMessage, list string, than int) (first json.RawMessage) {
	raw, _ := rawjson.Get(answer, list)
	n := 0
	for element := range rawjson.Elements(raw) {
		if n++; n == 1 {
			first = element
		}
	}
	if n <= than {
		return nil
	}
	return first
}
