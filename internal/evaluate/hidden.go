package evaluate

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/guard"
)

// A handleAgent is an agent that uses handles of hidden results. It passes on a value by a handle if it can only know
// it from a hidden result, where the value stands there as a whole; a number it takes a typed look at. A value that is
// a part of a hidden text it cannot name, so it has the text revealed first. Everything else in the recorded arguments
// it writes itself.
type handleAgent struct {
	world   *world
	session string
	meta    mcp.Meta
	prompt  string
	read    []string // texts that it was shown
	hidden  []hiddenResult
	asked   []string // rules of the requests about its looks and reveals
	blind   bool     // it is shown nothing, and told nothing but by a quarantined model
}

// A hiddenResult is one that the agent has a handle of. The text is known to the replay, and not to the agent.
type hiddenResult struct {
	name string
	text string
	doc  any
}

// shortest is how long a text is at least that an agent does not write by chance.
const shortest = 4

// value returns a value of arguments as the agent writes it.
func (a *handleAgent) value(ctx context.Context, v any) (any, error) {
	switch x := v.(type) {
	case string:
		return a.text(ctx, x)
	case json.Number:
		return v, a.number(ctx, x)
	}
	return v, nil
}

// text returns a handle for a text that stands in a hidden result as a whole.
func (a *handleAgent) text(ctx context.Context, s string) (string, error) {
	if len(s) < shortest || a.knows(s) {
		return s, nil
	}
	for _, h := range slices.Backward(a.hidden) {
		if at, ok := find(h.doc, pointer, func(v any) bool { return v == s }); ok {
			return "[[" + h.name + "#" + at + "]]", nil
		}
	}
	for _, h := range slices.Backward(a.hidden) {
		if strings.Contains(h.text, s) {
			return s, a.reveal(ctx, h)
		}
	}
	return s, nil
}

// number takes a typed look at a number that stands in a hidden result.
func (a *handleAgent) number(ctx context.Context, n json.Number) error {
	f, err := n.Float64()
	if err != nil || len(n) < 2 || a.knows(n.String()) || a.blind { // whose looks are all left to the attacker
		return nil
	}
	for _, h := range slices.Backward(a.hidden) {
		at, ok := find(h.doc, pointer, func(v any) bool { return v == f })
		if !ok {
			continue
		}
		got, err := a.own(ctx, "weir_look", map[string]any{"value": h.name, "path": at, "as": "number"})
		if err == nil && !got.IsError {
			a.read = append(a.read, contentOf(got))
		}
		return err
	}
	return nil
}

func (a *handleAgent) knows(s string) bool {
	return strings.Contains(a.prompt, s) || slices.ContainsFunc(a.read, func(text string) bool { return strings.Contains(text, s) })
}

func (a *handleAgent) reveal(ctx context.Context, h hiddenResult) error {
	if a.blind {
		return nil
	}
	got, err := a.own(ctx, "weir_reveal", map[string]any{"value": h.name})
	if err == nil {
		a.read = append(a.read, contentOf(got))
	}
	return err
}

// own calls a tool of Weir's own.
func (a *handleAgent) own(ctx context.Context, name string, args any) (*mcp.CallToolResult, error) {
	raw, err := json.Marshal(args)
	if err != nil {
		return nil, err
	}
	m, err := a.world.call(ctx, a.session, Call{Tool: name, Args: raw}, a.meta)
	a.asked = append(a.asked, m.asked...)
	return m.got, err
}

// takes notes the result of a call: a handle, or text that the agent reads.
func (a *handleAgent) takes(got *mcp.CallToolResult, text string) {
	if got == nil {
		return
	}
	name, hidden := got.Meta[guard.MetaValue].(string)
	if !hidden {
		a.read = append(a.read, contentOf(got))
		return
	}
	h := hiddenResult{name: name, text: text}
	_ = json.Unmarshal([]byte(text), &h.doc) // else it is one text
	a.hidden = append(a.hidden, h)
}

func contentOf(r *mcp.CallToolResult) string {
	var b strings.Builder
	for _, c := range r.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			b.WriteString(text.Text)
		}
	}
	return b.String()
}

// structured returns a result as a server that answers in JSON writes it: the mark of attackers stays in its place.
// Plain text stays text.
func structured(text string) string {
	var doc any
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		return text
	}
	switch doc.(type) {
	case map[string]any, []any:
	default:
		return text
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(doc); err != nil {
		return text
	}
	return strings.TrimSpace(b.String())
}

// marked puts an attacker's text at the mark of a result.
func marked(text, mark, by string) string {
	if !json.Valid([]byte(text)) {
		return strings.ReplaceAll(text, mark, by)
	}
	quoted, _ := json.Marshal(by)
	return strings.ReplaceAll(text, mark, string(quoted[1:len(quoted)-1]))
}

// sameArguments reports whether two objects of arguments are the same.
func sameArguments(a, b json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// attacked returns a result with an attacker's text at its mark. One who has the quarantined model lie may have
// written all of a text.
func (p *player) attacked(result string, attack *Injection) (string, error) {
	if p.world.liar == nil {
		return marked(structured(result), p.mark, payload(attack.Goal)), nil
	}
	text, err := lure(attack)
	if err != nil || !json.Valid([]byte(structured(result))) {
		return text, err
	}
	return marked(structured(result), p.mark, text), nil
}

// playHidden replays a task with an agent that uses handles. It obeys an attacker's text that it has read.
func (p *player) playHidden(ctx context.Context, name string, task Task, attack *Injection) (e episode, err error) {
	p.played++
	e = episode{task: name, session: fmt.Sprintf("%d %s", p.played, name), done: true}
	a := &handleAgent{world: p.world, session: e.session, meta: mcp.Meta{}, prompt: task.Prompt, blind: p.world.liar != nil}
	if p.mode.Words {
		a.meta[guard.MetaUserMessage] = task.Prompt
	}
	by := p.planner(&e, task, a.meta)
	for i, c := range task.Calls {
		if err = p.plan(ctx, by, &e, task.Calls[i:]); err != nil {
			return e, err
		}
		meant, before := c.Args, len(a.hidden)
		c.Result = structured(c.Result)
		if attack != nil && c.Attacked != "" && c.Shows {
			e.shown = true
			if c.Result, err = p.attacked(c.Attacked, attack); err != nil {
				return e, err
			}
		}
		if c.Args, err = rewritten(c.Args, func(v any) (any, error) { return a.value(ctx, v) }); err != nil {
			return e, err
		}
		m, err := p.world.call(ctx, a.session, c, a.meta)
		if err != nil {
			return e, err
		}
		e.note(name, c, m)
		e.done = e.done && m.arrived && sameArguments(m.args, meant)
		if m.arrived {
			a.takes(m.got, c.Result)
		}
		for _, rule := range a.asked {
			e.questions = append(e.questions, Question{name, "weir", rule})
		}
		a.asked = nil
		if e.shown && p.world.liar != nil && len(a.hidden) > before && strings.Contains(a.hidden[before].text, attackWords) {
			lied := *attack
			if lied.Calls, err = p.world.liar.lies(ctx, a, attack); err == nil {
				err = p.obey(ctx, &lied, a.meta, &e)
			}
			if err != nil {
				return e, err
			}
			e.deceived = e.deceived || len(lied.Calls) > 0
		}
		if attack == nil || e.reached || !slices.ContainsFunc(a.read, func(text string) bool { return strings.Contains(text, attackWords) }) {
			continue
		}
		e.reached = true
		if err := p.obey(ctx, attack, a.meta, &e); err != nil {
			return e, err
		}
	}
	return e, nil
}
