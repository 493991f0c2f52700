package mcptool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/label"
)

// A Call is one call of an annotated tool. Its methods may be used concurrently.
type Call struct {
	Request *mcp.CallToolRequest
	// Seen is the client's statement about the data that its agent has seen; it only ever raises. Requests can state
	// that untrusted content is among it, its readers and its attribution, and nothing else.
	Seen label.Label

	dialogue *dialogue

	mu       sync.Mutex
	labelled bool // the handler has labelled its result
	returned label.Label
	found    label.Label // beside the data
}

// Returns says that data with this label is part of the result. Labels are joined: saying more never takes anything
// back.
func (c *Call) Returns(l label.Label) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.labelled, c.returned = true, label.Join(c.returned, l.Normal())
}

// Malicious says that the result holds malicious content, and names the finding. It labels no data: the rest of the
// label is as without it.
func (c *Call) Malicious(finding string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.found = label.Join(c.found, label.Label{Malicious: true, Findings: label.SetOf(finding)})
}

// Text returns a result of one block of text with this label.
func (c *Call) Text(text string, l label.Label) *mcp.CallToolResult {
	c.Returns(l)
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// Block returns the content block after saying that data with this label is part of the result.
func (c *Call) Block(block mcp.Content, l label.Label) mcp.Content {
	c.Returns(l)
	return block
}

// Ask asks the user for a yes, by elicitation or, from 2026-07-28 on, by an input-required result. Nil is a yes. A
// handler returns any error; it then has no effects before its last question, and asks the same questions in the same
// order when the client sends the call again with an answer. An answer counts for this call and these arguments only,
// once, within Options.Patience. The question is shown to the user as it is: it begins with the effect of the call, and
// quotes text of others after that.
func (c *Call) Ask(ctx context.Context, question string) error {
	_, err := c.dialogue.ask(ctx, question, confirmation)
	return err
}

// AskFor is [Call.Ask] for the fields of a struct, which the user fills in: texts, numbers and truth values.
func AskFor[T any](ctx context.Context, c *Call, question string) (T, error) {
	var typed T
	f, err := formOf[T]()
	if err != nil {
		return typed, err
	}
	content, err := c.dialogue.ask(ctx, question, f)
	if err != nil {
		return typed, err
	}
	return typed, f.read(content, &typed)
}

// label returns the label of the result: of all that the handler said, or if it said nothing, of all that its contract
// calls possible.
func (c *Call) label(declared contract.Contract) label.Label {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.labelled {
		return label.Join(declared.Label(), c.found)
	}
	return label.Join(c.returned, c.found)
}

// newCall reads the label of the data that, by the client, its agent has seen. Arguments that two parsers could read
// differently are refused, since Admit and the user decide on one reading. An annotation that its schema does not allow
// is refused: an unreadable one might have had any meaning.
func newCall(req *mcp.CallToolRequest) (*Call, error) {
	if req.Params.Arguments != nil {
		if err := annotation.Check(req.Params.Arguments); err != nil {
			return nil, invalid("params.arguments: %v", err)
		}
	}
	raw, err := json.Marshal(struct {
		Meta mcp.Meta `json:"_meta,omitempty"`
	}{req.Params.Meta})
	if err != nil {
		return nil, fmt.Errorf("encoding the metadata: %w", err)
	}
	seen, defects := annotation.ReadRequest(raw)
	if len(defects) > 0 {
		return nil, invalid("params.%v", defects[0])
	}
	return &Call{Request: req, Seen: seen}, nil
}

// A tool is a handler with its declaration.
type tool[In, Out any] struct {
	d Declaration[In]
	h Handler[In, Out]
}

// run admits a call and has it handled. Its result is annotated further up, so that errors are too. A question that is
// on its way to the user is the result, also if the handler returned another.
func (t tool[In, Out]) run(ctx context.Context, req *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
	var none Out
	c := callOf(ctx)
	c.Request = req
	result, out, err := t.admitted(ctx, c, in)
	if question := c.dialogue.question(); question != nil {
		return question, none, nil
	}
	return result, out, err
}

func (t tool[In, Out]) admitted(ctx context.Context, c *Call, in In) (_ *mcp.CallToolResult, none Out, err error) {
	decision := Allow()
	if t.d.Admit != nil {
		decision = t.d.Admit(c.Seen, in)
	}
	switch decision.verdict {
	case allow:
	case ask:
		err = c.Ask(ctx, decision.text)
	default:
		err = refused(decision.text)
	}
	if err != nil {
		return nil, none, err
	}
	return t.h(ctx, c, in)
}

type callKey struct{}

// callOf returns the Call that receive put there.
func callOf(ctx context.Context) *Call { return ctx.Value(callKey{}).(*Call) }

// call has a call of an annotated tool handled and annotates the result.
func (t *Tools) call(ctx context.Context, next mcp.MethodHandler, req *mcp.CallToolRequest) (mcp.Result, error) {
	d, ok := t.declared(req.Params.Name)
	if !ok {
		return next(ctx, methodCall, req)
	}
	c, err := newCall(req)
	if err != nil {
		return nil, err
	}
	c.dialogue = t.asks.dialogue(req)
	result, err := next(context.WithValue(ctx, callKey{}, c), methodCall, req)
	if r, ok := result.(*mcp.CallToolResult); ok && err == nil && r.InputRequests == nil {
		err = c.annotate(r, d.contract)
	}
	if err != nil {
		return nil, c.keepFindings(err)
	}
	return result, nil
}

// keepFindings returns the error of a call with the findings of the handler, which has no result to carry them.
func (c *Call) keepFindings(err error) error {
	c.mu.Lock()
	found := c.found
	c.mu.Unlock()
	var wire *jsonrpc.Error
	if found.IsZero() || errors.As(err, &wire) && wire.Data != nil {
		return err
	}
	meta, failed := metaOf(found)
	if failed != nil {
		return failed
	}
	kept := broken("%v", err)
	if wire != nil {
		kept.Code, kept.Message = wire.Code, wire.Message
	}
	if kept.Data, failed = json.Marshal(map[string]any{"_meta": meta}); failed != nil {
		return failed
	}
	return kept
}

// annotate writes the label of all data that the call returned into its result. It checks the label itself against the
// contract, not its form in a vocabulary. A result that breaks the contract is an internal error; its label goes with
// the error, so that a finding of malicious content is not lost with the result.
func (c *Call) annotate(result *mcp.CallToolResult, declared contract.Contract) error {
	l := c.label(declared)
	meta, err := metaOf(l)
	if err != nil {
		return err
	}
	for name := range meta {
		if _, ok := result.Meta[name]; ok {
			return broken("the tool wrote %s by hand; use Call.Returns", name)
		}
	}
	if _, ok := result.Meta["annotations"]; ok {
		return broken("the tool wrote annotations by hand; use Call.Returns")
	}
	if outside := declared.Outside(l); len(outside) > 0 {
		refusal := broken("the result is outside of the tool's contract: %s", strings.Join(outside, ", "))
		if refusal.Data, err = json.Marshal(map[string]any{"_meta": meta}); err != nil {
			return fmt.Errorf("annotating the error: %w", err)
		}
		return refusal
	}
	if result.Meta == nil {
		result.Meta = mcp.Meta{}
	}
	maps.Copy(result.Meta, meta)
	return nil
}

// metaOf returns the _meta that says the label. One that is not read again as it is written cannot be said.
func metaOf(l label.Label) (mcp.Meta, error) {
	raw, err := annotation.WriteResult([]byte(`{}`), l)
	if err != nil {
		return nil, broken("annotating the result: %v", err)
	}
	claim, defects := annotation.ReadResult(raw)
	switch {
	case len(defects) > 0:
		return nil, broken("annotating the result: %v", defects[0])
	case !claim.Label.Covers(l):
		return nil, broken("annotating the result: the label has no words in the vocabularies")
	}
	var said struct {
		Meta mcp.Meta `json:"_meta"`
	}
	if err := json.Unmarshal(raw, &said); err != nil {
		return nil, broken("annotating the result: %v", err)
	}
	return said.Meta, nil
}

// receive is receiving middleware: it shows the contracts in tools/list, and the labels in results of tools/call.
func (t *Tools) receive(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if call, ok := req.(*mcp.CallToolRequest); ok && method == methodCall {
			return t.call(ctx, next, call)
		}
		result, err := next(ctx, method, req)
		if l, ok := result.(*mcp.ListToolsResult); ok && err == nil {
			return &annotatedList{l, t}, nil
		}
		return result, err
	}
}
