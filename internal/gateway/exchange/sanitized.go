package exchange

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/vault"
)

// sanitizeTool is the name of the tool that makes a hidden value into another by a sanitizer of the operator.
const sanitizeTool = ownPrefix + "sanitize"

// sanitizeDefinition ends in the names of the sanitizers: see [definitionOf].
const sanitizeDefinition = `{"name":"weir_sanitize","title":"Sanitize a hidden value","description":"Makes another hidden value of the text ` +
	`of one, or of a part of it, by a sanitizer of the operator. You see neither.","inputSchema":{"type":"object","properties":{"value":` +
	`{"type":"string","description":"name of the value, as w48213"},"path":{"type":"string","description":"JSON pointer; without it the whole ` +
	`value"},"by":{"type":"string"}},"required":["value","by"]},"annotations":{"readOnlyHint":true,"destructiveHint":false,"openWorldHint":false}}`

// sanitizeDefinitionOf returns the definition with the names of the sanitizers.
func sanitizeDefinitionOf(g *Engine) (json.RawMessage, error) {
	names, about := slices.Sorted(maps.Keys(g.Sanitizers.Rules)), ""
	for _, name := range names {
		r := g.Sanitizers.Rules[name]
		about += fmt.Sprintf("%s: %s. ", name, r.String())
	}
	enum, err := json.Marshal(names)
	if err != nil {
		return nil, fmt.Errorf("reading the definition of %s: %w", sanitizeTool, err)
	}
	out, err := rawjson.Set(json.RawMessage(sanitizeDefinition), enum, "inputSchema", "properties", "by", "enum")
	if err != nil {
		return nil, err
	}
	return rawjson.Set(out, rawjson.Quote(strings.TrimSpace(about)), "inputSchema", "properties", "by", "description")
}

type sanitizeArguments struct {
	Value string `json:"value"`
	Path  string `json:"path"`
	By    string `json:"by"`
}

func (a *sanitizeArguments) named() string { return a.Value }

// sanitizing returns the tool weir_sanitize.
func sanitizing(f ownHost) ownTool {
	return func(ctx context.Context, m *rpc.Message) *rpc.Message { return sanitized(ctx, f, m) }
}

// sanitized answers weir_sanitize.
func sanitized(ctx context.Context, f ownHost, m *rpc.Message) *rpc.Message {
	var arguments sanitizeArguments
	x, refusal := f.begin(ctx, m, &arguments, f.named)
	if refusal != nil {
		return refusal
	}
	rule, ok := f.Engine.Sanitizers.Rules[arguments.By]
	if !ok {
		return failed(x.exchange, "by is one of "+strings.Join(slices.Sorted(maps.Keys(f.Engine.Sanitizers.Rules)), ", "))
	}
	if arguments.Path == "" {
		arguments.Path = x.path
	}
	asking := x.route.call
	stated, kept := rule.String(), ""
	if !guard.IsOriginal(&x.value) {
		stated, kept = rule.By, " Its label stays, since the value is no answer of a server alone."
	}
	asking.Changes = fmt.Sprintf("sanitizer %s of %s: %s", arguments.By, x.value.Name, stated)
	admission, refusal := x.permitLook(ctx, 1, 0, true) // whether there is a text
	if refusal != nil {
		return refusal
	}
	text, err := textAt(&x.value, arguments.Path)
	if err != nil {
		return x.answered(ctx, admission, nil, err)
	}
	made, err := f.Engine.Sanitizers.Apply(ctx, arguments.By, text)
	if err != nil {
		f.Engine.Log.Warn("sanitizing a hidden value", "sanitizer", arguments.By, "error", err)
		return x.answered(ctx, admission, nil, vault.ErrNoAnswer)
	}
	v, err := f.Engine.Guard.Hidden.Sanitized(ctx, asking, &x.value, rule.Label, rawjson.Quote(made))
	if err != nil {
		return x.answered(ctx, admission, nil, err)
	}
	how := fmt.Sprintf("The sanitized text is value %s: write %s in the arguments of a tool.%s", v.Name, v.Handle(), kept)
	return x.answered(ctx, admission, map[string]any{"value": v.Name, "how": how}, nil)
}

// textAt returns the text of a value, or of its part at a pointer.
func textAt(v *vault.Value, path string) (string, error) {
	if path == "" {
		return v.Text(), nil
	}
	part, err := vault.Select(v.Document(), path)
	if err != nil {
		return "", err
	}
	if s, ok := rawjson.String(part); ok {
		return s, nil
	}
	return string(part), nil
}
