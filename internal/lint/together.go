package lint

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/draft"
	"github.com/weir-mcp/weir/internal/report"
	"github.com/weir-mcp/weir/label"
)

// names looks for tools that could be taken for one another.
func (l *linter) names() {
	same := map[string][]*tool{}
	alike := map[string][]*tool{}
	for _, t := range l.tools {
		same[t.name] = append(same[t.name], t)
		alike[skeleton(t.name)] = append(alike[skeleton(t.name)], t)
	}
	seen := map[string]bool{}
	for _, t := range l.tools {
		if group := same[t.name]; len(group) > 1 && !seen["="+t.name] {
			seen["="+t.name] = true
			l.add(Collision, "", t.name, "servers "+serversOf(group)+" have it; hosts see each as SERVER__"+t.name, "")
		}
		key := skeleton(t.name)
		if group := alike[key]; !seen["~"+key] && slices.ContainsFunc(group, func(o *tool) bool { return o.name != t.name }) {
			seen["~"+key] = true
			l.add(LookAlike, "", t.name, "it looks like another tool: "+namesOf(group), "disable the server that you do not mean")
		}
	}
}

// skeleton returns the form of a name that people see at a glance: without case, separators and accents, with letters
// of other scripts and digits that look like Latin ones as these (after UTS #39, Confusable Detection, for the usual
// ones).
func skeleton(name string) string {
	lookalikes := map[rune]rune{
		'а': 'a', 'е': 'e', 'о': 'o', 'р': 'p', 'с': 'c', 'у': 'y', 'х': 'x', 'і': 'i', 'ѕ': 's', 'ԁ': 'd', 'ո': 'n', 'ս': 'u',
		'α': 'a', 'ο': 'o', 'ρ': 'p', 'ν': 'v', 'ι': 'i', 'κ': 'k', '0': 'o', '1': 'l', 'ı': 'i', 'ⅼ': 'l', '|': 'l',
	}
	var b strings.Builder
	for _, r := range norm.NFKD.String(name) {
		r = unicode.ToLower(r)
		if l, ok := lookalikes[r]; ok {
			r = l
		}
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// trifecta looks for the three parts that make an agent leak: untrusted content, private data, and a way out. It says
// so once, with the tools that bring each.
func (l *linter) trifecta() {
	var in, private, out []string
	for _, t := range l.tools {
		name := t.server.Name + "." + t.name
		c := t.effective
		if c.Sources.Has(label.UntrustedPublic) || c.OpenWorld == contract.Yes && c.Sources.Set().Len() == 0 {
			in = append(in, name)
		}
		if t.holdsPrivate() {
			private = append(private, name)
		}
		if c.Discloses() {
			out = append(out, name)
		}
	}
	if len(in) == 0 || len(private) == 0 || len(out) == 0 {
		return
	}
	l.found.All = append(l.found.All, report.Finding{
		Rule: Trifecta, Severity: severity(Trifecta), Message: "together these servers let an outsider get at private data",
		Details: []string{
			"untrusted content comes in by " + some(in),
			"private data is read by " + some(private),
			"data can leave by " + some(out),
			"so a page or a mail can tell the agent to read the data and to send it away, and the agent may obey",
		},
		Hint: "behind weir a conversation that has seen such text or definitions that nobody has reviewed is untrusted; see weir review, and weir policy prove for the calls that the policy allows then",
	})
}

// holdsPrivate reports whether results of the tool may be private, by its contract, or else by its name.
func (t *tool) holdsPrivate() bool {
	l := label.Label{Sources: t.effective.Sources.Set(), Sensitivity: t.effective.Returns.Set()}
	if l.Normal().Private {
		return true
	}
	_, known := t.effective.Returns.Known()
	_, stated := t.said.Static().Over(t.declared).Sources.Known()
	return !known && !stated && slices.ContainsFunc(t.guess.Lines, func(line draft.Line) bool {
		return line.Member == "returns" || line.Member == "sources" && strings.Contains(line.Value, "internal")
	})
}

func serversOf(group []*tool) string {
	var names []string
	for _, t := range group {
		if !slices.Contains(names, t.server.Name) {
			names = append(names, t.server.Name)
		}
	}
	return strings.Join(names, ", ")
}

func namesOf(group []*tool) string {
	var names []string
	for _, t := range group {
		names = append(names, fmt.Sprintf("%s of %s", t.name, t.server.Name))
	}
	return strings.Join(names, ", ")
}

// few is how many names a message lists.
const few = 4

// some lists a few of the names.
func some(names []string) string {
	if len(names) <= few+1 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
}

func counted(n, all int) string {
	if n == all {
		return fmt.Sprintf("none of its %d tools says anything", all)
	}
	return fmt.Sprintf("%d of its %d tools say nothing", n, all)
}
