package evaluate

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/guard"
)

// A programmer is an agent that has a program make its calls, and reads no result. A value that it does not know is a
// part of an earlier result; of a text that stands there as no part, the program cuts it out, which reads the text.
type programmer struct {
	known   string // the user's words
	results []string
	source  strings.Builder
}

// add adds a call to the program. Its result is known to the replay, and not to the agent.
func (p *programmer) add(c Call, result string) error {
	args, err := decoded(c.Args)
	if err != nil {
		return err
	}
	fmt.Fprintf(&p.source, "r%d = call(%s, %s)\n", len(p.results), strconv.QuoteToASCII(c.Tool), p.expression(args))
	p.results = append(p.results, result)
	return nil
}

// text returns the program.
func (p *programmer) text() string {
	return fmt.Sprintf("%sresult = r%d\n", p.source.String(), len(p.results)-1)
}

// expression returns a value as the program writes it.
func (p *programmer) expression(v any) string {
	var b strings.Builder
	switch x := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(x)) {
			fmt.Fprintf(&b, "%s: %s, ", strconv.QuoteToASCII(name), p.expression(x[name]))
		}
		return "{" + b.String() + "}"
	case []any:
		for _, one := range x {
			b.WriteString(p.expression(one) + ", ")
		}
		return "[" + b.String() + "]"
	case string:
		if len(x) < shortest || strings.Contains(p.known, x) {
			return strconv.QuoteToASCII(x)
		}
		return p.part(v, strconv.QuoteToASCII(x))
	case json.Number:
		if len(x) < 2 || strings.Contains(p.known, x.String()) {
			return x.String()
		}
		return p.part(v, x.String())
	case bool:
		return pick(x, "True", "False")
	}
	return "None"
}

// part returns the part of an earlier result that a value is; the value itself if it is of none.
func (p *programmer) part(v any, written string) string {
	for i := len(p.results) - 1; i >= 0; i-- {
		var doc any
		if json.Unmarshal([]byte(p.results[i]), &doc) != nil {
			doc = p.results[i]
		}
		if path, ok := find(doc, selection, func(in any) bool { return same(in, v) }); ok {
			return fmt.Sprintf("r%d%s", i, path)
		}
		text, isText := v.(string)
		var from, to int
		path, ok := find(doc, selection, func(in any) bool {
			within, is := in.(string)
			from = strings.Index(within, text)
			to = from + len(text)
			return is && isText && from >= 0
		})
		if ok {
			return fmt.Sprintf("str(r%d%s)[%d:%d]", i, path, from, to)
		}
	}
	return written
}

func same(in, v any) bool {
	f, isNumber := in.(float64)
	if n, ok := v.(json.Number); ok && isNumber {
		g, err := n.Float64()
		return err == nil && f == g
	}
	return in == v
}

// A ran program is its outcome.
type ran struct {
	made
	told  string // to the agent
	ended bool   // with all calls made, as they were meant
}

// run has a program make calls.
func (w *world) run(ctx context.Context, session string, calls []Call, known string, meta mcp.Meta) (ran, error) {
	by := &programmer{known: known}
	for _, c := range calls {
		if err := by.add(c, c.Result); err != nil {
			return ran{}, err
		}
	}
	args, err := json.Marshal(map[string]string{"program": by.text()})
	if err != nil {
		return ran{}, err
	}
	w.mu.Lock()
	w.script, w.came = calls, nil
	w.mu.Unlock()
	m, err := w.call(ctx, session, Call{Tool: "weir_exec", Args: args}, meta)
	w.mu.Lock()
	defer w.mu.Unlock()
	out := ran{made: m, ended: err == nil && !m.got.IsError && len(w.came) == len(calls)}
	for i, args := range w.came {
		out.ended = out.ended && sameArguments(args, calls[i].Args)
	}
	if err == nil {
		out.told = contentOf(m.got)
	}
	w.script = nil
	return out, err
}

// playProgram replays a task with an agent that has a program make all calls. It obeys an attacker's text that it is
// told.
func (p *player) playProgram(ctx context.Context, name string, task Task, attack *Injection) (episode, error) {
	p.played++
	e := episode{task: name, session: fmt.Sprintf("%d %s", p.played, name)}
	meta := mcp.Meta{}
	if p.mode.Words {
		meta[guard.MetaUserMessage] = task.Prompt
	}
	calls := slices.Clone(task.Calls)
	for i := range calls {
		c := &calls[i]
		shows := attack != nil && c.Attacked != "" && c.Shows
		if c.Result = structured(c.Result); shows {
			c.Result = marked(structured(c.Attacked), p.mark, payload(attack.Goal))
		}
		e.shown = e.shown || shows
	}
	out, err := p.world.run(ctx, e.session, calls, task.Prompt, meta)
	if err != nil {
		return e, err
	}
	e.done = out.ended
	for _, rule := range out.asked {
		e.questions = append(e.questions, Question{name, "weir_exec", rule})
	}
	if attack == nil || !strings.Contains(out.told, attackWords) {
		return e, nil
	}
	e.reached = true
	return e, p.obey(ctx, attack, meta, &e)
}
