package trial

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/internal/document"
	"github.com/weir-mcp/weir/internal/pattern"
	"github.com/weir-mcp/weir/policy"
)

// except returns the source of a policy with exceptions from rules, by their names, as terms of conditions; and the
// policy. Nothing else of it changes: that is checked rule by rule.
func except(name string, src []byte, exceptions map[string][][]string) ([]byte, *policy.Policy, error) {
	before, err := policy.Load(name, src)
	if err != nil {
		return nil, nil, err
	}
	lines := strings.Split(string(src), "\n")
	want := map[string]wrapped{}
	for rule, at := range conditions(name, src) { // from the last to the first: the places of the others stay
		if len(exceptions[rule]) == 0 {
			continue
		}
		i := slices.IndexFunc(before.Rules(), func(r policy.Rule) bool { return r.Name == rule })
		if i < 0 {
			continue
		}
		cond := before.Rules()[i].If
		guard := exceptionLines(exceptions[rule])
		want[rule] = wrapped{strings.Join(guard, " "), cond}
		if lines, err = wrap(lines, at, guard, cond); err != nil {
			return nil, nil, fmt.Errorf("rule %q of %s: %w", rule, name, err)
		}
	}
	text := []byte(strings.Join(lines, "\n"))
	after, err := policy.Load(name, text)
	if err != nil {
		return nil, nil, fmt.Errorf("writing exceptions into %s: %w", name, err)
	}
	if len(want) != len(exceptions) || !unchanged(before, after, want) {
		return nil, nil, fmt.Errorf("%s cannot be edited: write its conditions below if: >-", name)
	}
	return text, after, nil
}

// A wrapped condition is one behind a guard.
type wrapped struct{ guard, cond string }

// is reports whether a text is the guard and the condition, which is the same to the last blank: a literal may hold it.
func (w wrapped) is(text string) bool {
	cond := strings.TrimSpace(w.cond)
	guard, ok := strings.CutSuffix(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), ")")), cond)
	return ok && strings.HasSuffix(strings.TrimSpace(text), ")") && strings.TrimSpace(strings.ReplaceAll(guard, "\n", " ")) == w.guard
}

// unchanged reports whether two policies are the same but for the conditions of some rules.
func unchanged(before, after *policy.Policy, conditions map[string]wrapped) bool {
	plain := func(r policy.Rule) policy.Rule {
		r.Line, r.Cost, r.Limited = 0, 0, false
		return r
	}
	return before.Fallback() == after.Fallback() &&
		slices.EqualFunc(before.Rules(), after.Rules(), func(a, b policy.Rule) bool {
			if w, ok := conditions[a.Name]; ok && w.is(b.If) {
				b.If = a.If
			}
			return plain(a) == plain(b)
		})
}

// conditions goes over the places of the conditions in a policy by the names of their rules, the last first.
func conditions(name string, src []byte) func(func(string, document.Mark) bool) {
	return func(yield func(string, document.Mark) bool) {
		d := document.Document{Name: name}
		m, ok := d.Members(d.Parse(src, len(src)), "policy", []string{"version", "default", "rules"})
		if !ok {
			return
		}
		for _, e := range slices.Backward(d.Elements(m["rules"].Value, "rules")) {
			r, _ := d.Members(e, "rule", []string{"name", "when", "if", "effect", "message", "once", "conditions"})
			if cond, ok := r["if"]; ok && !yield(d.Text(r["name"]).Value, cond.At) {
				return
			}
		}
	}
}

// exceptionLines returns the lines that go before a condition.
func exceptionLines(exceptions [][]string) []string {
	const widest = 100
	var lines []string
	for _, terms := range exceptions {
		line := "!("
		for i, term := range terms {
			end := " &&"
			if i == len(terms)-1 {
				end = ") &&"
			}
			if len(line)+len(term) > widest && line != "!(" {
				lines, line = append(lines, strings.TrimSuffix(line, " ")), ""
			}
			line += term + end + " "
		}
		lines = append(lines, strings.TrimSuffix(line, " "))
	}
	return append(lines, "(")
}

// block matches the mark of a block of text.
var block = pattern.New(`^[>|]-?$`)

// wrap puts lines before the condition whose name is at a place, and closes the bracket after it.
func wrap(lines []string, at document.Mark, guard []string, cond string) ([]string, error) {
	first := at.Line - 1
	head, value, ok := strings.Cut(lines[first], "if:")
	if !ok || len(head) != at.Col-1 || strings.Trim(head, " -") != "" {
		return nil, fmt.Errorf("its condition does not begin a line")
	}
	indent := strings.Repeat(" ", at.Col+1)
	end := first + 1
	for n := end; n < len(lines); n++ {
		text := strings.TrimLeft(lines[n], " ")
		if text != "" && len(lines[n])-len(text) < at.Col {
			break
		}
		if text != "" {
			end = n + 1
		}
	}
	mark := ">-" // which turns the ends of lines to blanks
	if strings.Contains(strings.TrimSpace(cond), "\n") {
		mark = "|-" // and this keeps them: one may end a comment
	}
	var body []string
	for line := range strings.Lines(strings.TrimSpace(cond)) {
		body = append(body, indent+strings.TrimSuffix(line, "\n"))
	}
	if block().MatchString(strings.TrimSpace(value)) && end > first+1 {
		body = lines[first+1 : end]
		indent = body[0][:len(body[0])-len(strings.TrimLeft(body[0], " "))]
		mark = strings.TrimSpace(value)
	}
	out := append(slices.Clone(lines[:first]), head+"if: "+mark)
	for _, line := range guard {
		out = append(out, indent+line)
	}
	out = append(append(out, body...), indent+")")
	return append(out, lines[end:]...), nil
}
