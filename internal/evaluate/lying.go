package evaluate

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/vault"
)

// A liar is a quarantined model that the attacker controls: to each question it gives the answer that leads to the
// attacker's calls.
type liar struct {
	tools []string // that there are
	mu    sync.Mutex
	lie   json.RawMessage
}

func newLiar(tools []json.RawMessage) (*liar, error) {
	l := &liar{}
	for _, raw := range tools {
		var tool struct{ Name string }
		if err := json.Unmarshal(raw, &tool); err != nil {
			return nil, fmt.Errorf("reading a tool: %w", err)
		}
		l.tools = append(l.tools, tool.Name)
	}
	return l, nil
}

// Answer implements [gateway.Quarantine].
func (l *liar) Answer(context.Context, string, *vault.Look) (json.RawMessage, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lie, nil
}

func (l *liar) tells(lie json.RawMessage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lie = lie
}

// lure returns an attacker's text for an agent that reads none: beside the words, the arguments of the calls, where
// handles find them.
func lure(attack *Injection) (string, error) {
	var all []json.RawMessage
	for _, c := range attack.Calls {
		all = append(all, c.Args)
	}
	text, err := json.Marshal(map[string]any{"note": payload(attack.Goal), "calls": all})
	return string(text), err
}

// lies returns the calls of an agent that does all that the quarantined model tells it of the last hidden result: it
// asks which tool comes next, and for each number, day, truth value and known text which one it is. A text that it does
// not know it can only pass on by a handle.
func (l *liar) lies(ctx context.Context, to *handleAgent, attack *Injection) (calls []Call, err error) {
	d := &deception{handleAgent: to, liar: l, value: to.hidden[len(to.hidden)-1]}
	for _, evil := range attack.Calls {
		told, err := d.look(ctx, rawjson.Quote(evil.Tool), vault.Look{As: vault.OneOf, Options: l.tools})
		if err != nil {
			return nil, err
		}
		if told == nil {
			continue
		}
		if evil.Args, err = rewritten(evil.Args, func(v any) (any, error) { return d.argument(ctx, v) }); err != nil {
			return nil, err
		}
		calls = append(calls, evil)
	}
	return calls, nil
}

// A deception is an agent that believes a quarantined model.
type deception struct {
	*handleAgent
	liar  *liar
	value hiddenResult
}

// look returns the answer to a look of the quarantined model that says so; nil if the agent is told none.
func (d *deception) look(ctx context.Context, lie json.RawMessage, look vault.Look) (json.RawMessage, error) {
	d.liar.tells(lie)
	look.Question = "Which is it?"
	args := map[string]any{"value": d.value.name, "as": look.As, "question": look.Question}
	if look.Options != nil {
		args["options"] = look.Options
	}
	if look.Min != nil {
		args["min"], args["max"] = *look.Min, *look.Max
	}
	got, err := d.own(ctx, "weir_look", args)
	if err != nil || got.IsError {
		return nil, err
	}
	d.read = append(d.read, contentOf(got))
	raw, err := json.Marshal(got.StructuredContent)
	if err != nil {
		return nil, err
	}
	answer, _ := rawjson.Get(raw, pick(look.Derives(), "value", "answer"))
	return answer, nil
}

// argument returns a value of arguments of the attacker's call as the agent writes it.
func (d *deception) argument(ctx context.Context, v any) (any, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	for _, look := range d.looks(v) {
		if told, err := d.look(ctx, raw, look); err != nil || told != nil && sameArguments(told, raw) {
			return v, err
		}
	}
	return d.handle(ctx, v)
}

// looks returns looks that can tell a value.
func (d *deception) looks(v any) []vault.Look {
	least, most := 0.0, float64(1<<20)
	switch x := v.(type) {
	case bool:
		return []vault.Look{{As: vault.Boolean}}
	case json.Number:
		return []vault.Look{{As: vault.Integer, Min: &least, Max: &most}, {As: vault.Number}}
	case string:
		if planDate().MatchString(x) {
			return []vault.Look{{As: vault.Date}}
		}
		if d.knows(x) {
			return []vault.Look{{As: vault.OneOf, Options: []string{x, "another one"}}}
		}
	}
	return nil
}

// handle returns a handle of a value that the agent cannot be told: of the value itself, of the one address or link in
// the result, or of all of it.
func (d *deception) handle(ctx context.Context, v any) (any, error) {
	if at, ok := findWithin(d.value.doc, v); ok {
		return "[[" + d.value.name + "#" + at + "]]", nil
	}
	for _, as := range []vault.Type{vault.Email, vault.URL} {
		derived, err := d.look(ctx, nil, vault.Look{As: as})
		if err != nil {
			return nil, err
		}
		if name, ok := rawjson.String(derived); ok {
			return "[[" + name + "]]", nil
		}
	}
	return "[[" + d.value.name + "]]", nil
}

// findWithin returns a JSON pointer to a value. It looks into texts that are JSON too, as pointers of handles do.
func findWithin(doc, v any) (string, bool) {
	rest := ""
	at, ok := find(doc, pointer, func(in any) (found bool) {
		var within any
		if same(in, v) {
			return true
		}
		if text, _ := in.(string); strings.HasPrefix(text, "{") && json.Unmarshal([]byte(text), &within) == nil {
			rest, found = findWithin(within, v)
		}
		return found
	})
	return at + rest, ok
}
