package exchange

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/weir-mcp/weir/internal/gateway/backend"
	"github.com/weir-mcp/weir/internal/gateway/catalog"
	"github.com/weir-mcp/weir/internal/hosterror"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/vault"
)

// HandleInstructions tell a model how it uses hidden values. They are added to the instructions of servers.
const HandleInstructions = "Weir may hide the result of a tool that could hold text of outsiders: you then get the name of a value and its " +
	"shape, as in w48213. Write [[w48213]], or [[w48213#/json/pointer]] for a part, in any argument of any tool, and Weir puts the value " +
	"there. Call weir_look for a number, a boolean, a date or a choice in it, weir_each for one of each element, and weir_reveal only if " +
	"you have to read its text."

// resourceLinks is the first revision with links to resources in results (2025-06-18, Changelog).
const resourceLinks = "2025-06-18"

// withoutLink returns the stand-in of a hidden result for a host of a revision without links.
func withoutLink(result json.RawMessage) json.RawMessage {
	content, _ := rawjson.Get(result, "content")
	for block := range rawjson.Elements(content) {
		if out, err := rawjson.Set(result, append(append([]byte{'['}, block...), ']'), "content"); err == nil {
			return out
		}
	}
	return result
}

// expand returns a request with the handles in its arguments replaced by the hidden values that they stand for, and
// where. Nothing else reads arguments before. Only those of a tool that is there are read.
func expand(ctx context.Context, f *Host, m *rpc.Message, set *backend.Set) (*rpc.Message, vault.Filling, *rpc.Error) {
	none := vault.Filling{}
	if !f.Engine.Hiding() || m.Method != "tools/call" {
		return m, none, nil
	}
	arguments, ok := rawjson.Get(m.Params, "arguments")
	if !ok || !vault.HasHandles(arguments) {
		return m, none, nil
	}
	if _, rerr := f.byName(ctx, m, set, catalog.Tools); rerr != nil {
		return m, none, rerr
	}
	from, rerr := lineageOf(ctx, f, m.Params, set)
	if rerr != nil {
		return m, none, rerr
	}
	expanded, filling, err := f.Engine.Guard.Hidden.Expand(ctx, from.ref, arguments)
	if err != nil {
		return m, none, rpc.Errorf(rpc.InvalidParams, "params.arguments: %s", handleError(f.Engine, err))
	}
	if len(filling.Uses) == 0 {
		return m, none, nil
	}
	params, err := rawjson.Set(m.Params, expanded, "arguments")
	if err != nil {
		return m, none, rpc.Errorf(rpc.InternalError, "%s", hosterror.Text(err))
	}
	full := *m
	full.Params, full.Odd = params, true // nobody has looked for odd names in the values
	return &full, filling, nil
}

// valueError returns the part of an error about hidden values that a host is shown. These errors quote no value.
func valueError(err error) string {
	for _, known := range []error{vault.ErrNotThere, vault.ErrNoAnswer, vault.ErrTooLarge} {
		if errors.Is(err, known) {
			return vault.ErrNoAnswer.Error()
		}
	}
	if errors.Is(err, vault.ErrUnknown) {
		return vault.ErrUnknown.Error()
	}
	return hosterror.Text(err)
}

// WithOwn returns a result of tools/list with those of Weir's own tools that agents get. A server's tool with the name of one of these is
// left out. Where results may be hidden, input schemas take a handle wherever they ask for anything but any text, and no tool promises
// structured content.
func WithOwn(g *Engine, result json.RawMessage) (json.RawMessage, error) {
	if !g.Planning() {
		return result, nil
	}
	tools, _ := rawjson.Get(result, "tools")
	var list [][]byte
	for tool := range rawjson.Elements(tools) {
		raw, _ := rawjson.Get(tool, "name")
		if name, _ := rawjson.String(raw); isOwn(g, name) {
			continue
		}
		if g.Hiding() {
			var err error
			if tool, err = withHandles(tool); err != nil {
				return nil, err
			}
		}
		list = append(list, tool)
	}
	for _, own := range ownTools {
		if offers(g, own.name) {
			definition, err := definitionOf(g, own)
			if err != nil {
				return nil, err
			}
			list = append(list, definition)
		}
	}
	return rawjson.Set(result, slices.Concat([]byte{'['}, bytes.Join(list, []byte{','}), []byte{']'}), "tools")
}

// withHandles returns a tool for an agent that uses handles.
func withHandles(tool json.RawMessage) (json.RawMessage, error) {
	tool = rawjson.Delete(tool, "outputSchema")
	schema, ok := rawjson.Get(tool, "inputSchema")
	if !ok {
		return tool, nil
	}
	widened, err := widenMembers(schema, 0)
	if err != nil {
		return nil, err
	}
	return rawjson.Set(tool, widened, "inputSchema")
}

// maxWidened is how deep schemas are widened. A handle for a whole above serves the deeper ones.
const maxWidened = 6

var handleSchema = json.RawMessage(`{"type":"string","pattern":` + string(rawjson.Quote(vault.Pattern)) + `}`)

// widenMembers returns the schema of an object with the schemas of its members widened.
func widenMembers(schema json.RawMessage, depth int) (json.RawMessage, error) {
	properties, _ := rawjson.Get(schema, "properties")
	var err error
	for name, member := range rawjson.Members(properties) {
		var wide json.RawMessage
		if wide, err = widen(member, depth+1); err == nil {
			schema, err = rawjson.Set(schema, wide, "properties", name)
		}
		if err != nil {
			return nil, err
		}
	}
	if items, ok := rawjson.Get(schema, "items"); ok && rawjson.Kind(items) == '{' {
		wide, err := widen(items, depth+1)
		if err != nil {
			return nil, err
		}
		return rawjson.Set(schema, wide, "items")
	}
	return schema, nil
}

// widen returns a schema that takes a handle too. A header that repeats an argument is told by its schema, which stays as it is.
func widen(schema json.RawMessage, depth int) (json.RawMessage, error) {
	if rawjson.Kind(schema) != '{' || depth > maxWidened || anyText(schema) {
		return schema, nil
	}
	if _, header := rawjson.Get(schema, "x-mcp-header"); header {
		return schema, nil
	}
	inner, err := widenMembers(schema, depth)
	if err != nil {
		return nil, err
	}
	out := json.RawMessage(`{"anyOf":[` + string(inner) + `,` + string(handleSchema) + `]}`)
	for _, name := range []string{"title", "description"} {
		if value, ok := rawjson.Get(schema, name); ok {
			if out, err = rawjson.Set(out, value, name); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// anyText reports whether a schema takes every text, and so every handle.
func anyText(schema json.RawMessage) bool {
	for name, value := range rawjson.Members(schema) {
		switch name {
		case "type":
			if string(value) != `"string"` {
				return false
			}
		case "title", "description", "default", "examples", "deprecated":
		default:
			return false
		}
	}
	return true
}
