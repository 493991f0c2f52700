package demo

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/internal/demo/agent"
	"github.com/weir-mcp/weir/label"
)

// width is the width of the text, in columns.
const width = 100

// Text writes stories as they happen and the totals after them, for a terminal.
//
//	text := &demo.Text{Out: os.Stdout}
//	text.Intro()
//	report, err := demo.Run(ctx, demo.Options{…, Observe: text.Story})
//	text.Totals(report)
type Text struct {
	Out   io.Writer
	Color bool // use the colours of an ANSI terminal

	shown bool  // a question was shown in full
	err   error // the first error of Out
}

// Report writes all of a finished report: the introduction, every story and the totals.
func (t *Text) Report(r *Report) error {
	t.Intro()
	for i, s := range r.Stories {
		t.Story(i+1, s)
	}
	return t.Totals(r)
}

// Intro explains the scenarios.
func (t *Text) Intro() {
	t.wrapped("", `An agent that obeys every instruction it reads works with four MCP servers: files, mail, web and database.
		It does each task twice, without Weir and with it. A call marked > was no part of the task: a text that the agent
		read told it to. On the right stands what the result is known to be.`, none)
}

// Story writes one story.
func (t *Text) Story(n int, s *Story) {
	kind, paint := "harmless", green
	if s.Attack {
		kind, paint = "attack", red
	}
	t.line("", "")
	title := fmt.Sprintf("%d. %s · ", n, s.Title)
	line := " " + rule(width-runes(title)-runes(s.Origin)-runes(kind)-4) + " "
	t.print(t.paint(bold, title), t.paint(dim, s.Origin+line), t.paint(paint, kind), "\n")
	t.wrapped("   ", "“"+s.Task+"”", none)
	t.telling("without Weir", s, s.Without)
	if s.With != nil {
		t.telling("with Weir", s, s.With)
	}
}

// Totals writes the last lines and returns the first error that writing met.
func (t *Text) Totals(r *Report) error {
	c := r.Totals
	guarded := slices.ContainsFunc(r.Stories, func(s *Story) bool { return s.With != nil })
	t.line("", "")
	t.line("", rule(width))
	t.line("", fmt.Sprintf("without Weir   %d of %d attacks succeeded   %d of %d harmless calls passed",
		c.Succeeded, c.Attacks, c.HarmlessWithout, c.Harmless))
	if guarded {
		t.line("", fmt.Sprintf("with Weir      %d of %d attacks stopped     %d of %d harmless calls passed   "+
			"%d questions, %d agreed to", c.Stopped, c.Attacks, c.HarmlessWith, c.Harmless, c.Asked, c.Agreed))
	}
	if r.OK {
		t.line("", t.paint(green, "all went as it should"))
	} else {
		t.line("", t.paint(red, "not all went as it should: see the lines marked problem"))
	}
	return t.err
}

// telling writes the calls of one telling and their outcomes.
func (t *Text) telling(head string, s *Story, telling *Telling) {
	t.line("   ", t.paint(bold, head))
	for i := range telling.Calls {
		t.call(&telling.Calls[i], telling == s.With)
	}
	for _, e := range telling.Evidence {
		if e.Found {
			t.line("     ", t.paint(red, "✗ "+e.What))
		} else {
			t.line("     ", t.paint(green, "✓ "+e.What))
		}
	}
	for _, p := range telling.Problems {
		t.wrapped("     ", "problem: "+p, red)
	}
}

// call writes one call in columns, and below it why it did not simply pass.
func (t *Text) call(c *Call, guarded bool) {
	mark := "  "
	if !c.Planned {
		mark = t.paint(yellow, "> ")
	}
	word, paint := c.fate(guarded)
	t.print("     ", mark, pad(cut(clean(c.Tool), 12), 12), pad(cut(c.object(), 39), 41), t.paint(paint, word))
	if known := words(c.Label); known != "" {
		t.print(strings.Repeat(" ", max(1, 14-runes(word))), t.paint(dim, cut(known, 26)))
	}
	t.print("\n")
	if c.Skipped != "" {
		return
	}
	for _, q := range c.Questions {
		t.question(q, c)
	}
	if c.Verdict != nil && !c.Passed {
		t.wrapped("         ", c.Verdict.Rule+": "+c.Verdict.Message, dim)
	}
}

// question shows the first question as the user sees it. Of later ones it shows the line that says why, unless the
// verdict on the call says so already.
func (t *Text) question(q agent.Question, c *Call) {
	lines := strings.Split(strings.TrimSpace(q.Prompt), "\n")
	if !t.shown {
		t.shown = true
		t.line("         ", t.paint(dim, "the user is asked:"))
		for _, line := range lines {
			text := strings.TrimLeft(line, " ")
			t.wrapped("         │ "+line[:len(line)-len(text)], text, none)
		}
		return
	}
	if c.Verdict == nil {
		why := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "Why") })
		t.wrapped("         ", lines[max(0, why)], dim)
	}
}

// fate returns the outcome of the call, in a word or two.
func (c *Call) fate(guarded bool) (word string, paint color) {
	declined := slices.ContainsFunc(c.Questions, func(q agent.Question) bool { return !q.Agreed })
	switch {
	case c.Skipped != "":
		return "not made", dim
	case c.Broken != "":
		return "no answer", red
	case declined:
		return "asked: no", yellow
	case len(c.Questions) > 0 && c.Passed:
		return "asked: yes", yellow
	case !c.Passed && c.Verdict != nil && c.Verdict.Effect == "ask":
		return "nobody to ask", red
	case !c.Passed && c.Verdict != nil && c.Verdict.When == "result":
		return "withheld", red
	case !c.Passed && c.Verdict != nil:
		return "blocked", red
	case !c.Passed:
		return "failed", red
	case c.Hidden:
		return "hidden", green
	case guarded:
		return "allowed", green
	}
	return "done", none
}

// object returns the object of a call: the argument that says most.
func (c *Call) object() string {
	for _, name := range []string{"path", "url", "to", "statement"} {
		if v, ok := c.Arguments[name].(string); ok {
			return strings.Join(strings.Fields(clean(v)), " ")
		}
	}
	return ""
}

// words returns a label in a few words, the worst first.
func words(l label.Label) string {
	var out []string
	for _, w := range []struct {
		set  bool
		word string
	}{{l.Malicious, "malicious"}, {l.Untrusted, "untrusted"}, {l.Private, "private"}} {
		if w.set {
			out = append(out, w.word)
		}
	}
	for class := range l.Sensitivity.All() {
		if class != label.User {
			out = append(out, string(class))
		}
	}
	return strings.Join(out, ", ")
}
