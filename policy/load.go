package policy

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/goccy/go-yaml/ast"

	"github.com/weir-mcp/weir/internal/document"
	"github.com/weir-mcp/weir/internal/expression"
	"github.com/weir-mcp/weir/internal/pattern"
	"github.com/weir-mcp/weir/internal/spelling"
)

// Limits of a policy file.
const (
	maxSource = 1 << 20 // bytes
	maxRules  = 1000
	maxName   = 128 // bytes
)

// Load reads a policy in YAML, or in the JSON form of SEP-1913 (Policy Layer). The name stands in messages. If anything
// is wrong with the file, the error is an [Errors] that holds every problem, and there is no policy.
func Load(name string, src []byte) (*Policy, error) {
	c, err := language()
	if err != nil {
		return nil, err
	}
	return load(name, src, c)
}

// load reads a policy; without a compiler, all but the conditions, and without rules to evaluate.
func load(name string, src []byte, c *expression.Compiler) (*Policy, error) {
	l := &loader{Document: document.Document{Name: name, Empty: "begin with version: 1 and a list of rules"}, compiler: c}
	p := l.load(src)
	if len(l.Problems) > 0 {
		l.Problems.Sort()
		return nil, l.Problems
	}
	return p, nil
}

// A loader builds a policy from one file.
type loader struct {
	document.Document
	compiler *expression.Compiler // nil: conditions are left out
	seen     map[string]int       // line by rule name
}

func (l *loader) load(src []byte) *Policy {
	root := l.Parse(src, maxSource)
	if root == nil {
		return nil
	}
	m, ok := l.Members(root, "policy", []string{"version", "default", "rules"})
	if !ok {
		return nil
	}
	digest := sha256.Sum256(src)
	p := &Policy{name: l.Name, digest: hex.EncodeToString(digest[:]), fallback: Allow}
	if d, ok := m["default"]; ok {
		p.fallback = l.effect(l.Text(d), slices.DeleteFunc(slices.Clone(effectNames[:]), func(e string) bool { return e == Hide.String() }))
	}
	l.rules(p, m)
	return p
}

// rules reads the list of rules and, because it depends on their form, the version.
func (l *loader) rules(p *Policy, m map[string]document.Member) {
	list, ok := m["rules"]
	if !ok {
		l.Complain(document.Mark{Line: 1, Col: 1}, "add rules: and a list of rules; [] for none", "the policy has no rules")
		return
	}
	elements := l.Elements(list.Value, "rules")
	if len(elements) > maxRules {
		l.Complain(list.At, "", "%d rules, more than the %d that a policy may have", len(elements), maxRules)
		return
	}
	l.seen = make(map[string]int, len(elements))
	sepOnly, set := len(elements) > 0, new(compiled)
	for _, e := range elements {
		r, isSEP := l.rule(e)
		sepOnly = sepOnly && isSEP
		p.effects[r.When] = append(p.effects[r.When], r.Effect)
		set.all = append(set.all, r.Rule)
		set.keep(r)
	}
	if l.compiler != nil {
		p.rules = func() *compiled { return set }
	}
	l.version(m, sepOnly)
}

// version checks the version, which only a file in the SEP's own form need not have.
func (l *loader) version(m map[string]document.Member, sepOnly bool) {
	v, ok := m["version"]
	if !ok {
		if !sepOnly {
			l.Complain(document.Mark{Line: 1, Col: 1}, "add version: 1", "the policy has no version")
		}
		return
	}
	if n, ok := v.Value.(*ast.IntegerNode); !ok || fmt.Sprint(n.Value) != "1" {
		l.Complain(document.At(v.Value), "write version: 1", "unknown version")
	}
}

// rule reads one rule: ours has if, the SEP's has conditions.
func (l *loader) rule(n ast.Node) (r rule, isSEP bool) {
	m, ok := l.Members(n, "rule", []string{"name", "when", "if", "effect", "message", "once", "conditions"})
	if !ok {
		return rule{}, false
	}
	_, isSEP = m["conditions"]
	_, hasIf := m["if"]
	if isSEP && hasIf {
		l.Complain(m["conditions"].At, "keep one of them", "the rule has both if and conditions")
		return rule{}, isSEP
	}
	required := []string{"name", "when", "if", "effect"}
	if isSEP {
		required = []string{"name", "effect"}
	}
	for _, name := range required {
		if _, ok := m[name]; !ok {
			l.Complain(document.At(n), "add "+name+": …", "the rule has no %s", name)
		}
	}
	r.Line = document.At(n).Line
	l.ruleName(&r, m)
	if e, ok := m["effect"]; ok {
		allowed := effectNames[:]
		if isSEP {
			allowed = sepEffects
		}
		r.Effect = l.effect(l.Text(e), allowed)
	}
	l.ruleMessage(&r, m)
	l.once(&r, m)
	l.condition(&r, m)
	return r, isSEP
}

func (l *loader) ruleName(r *rule, m map[string]document.Member) {
	if _, ok := m["name"]; !ok {
		return
	}
	s := l.Text(m["name"])
	if !s.Present() {
		return
	}
	r.Name = s.Value
	if r.Name == "" || len(r.Name) > maxName || strings.ContainsFunc(r.Name, func(c rune) bool { return !unicode.IsPrint(c) }) {
		l.Complain(s.At, "use a short word, such as ask-before-publishing", "the name is empty, not printable or longer than %d bytes", maxName)
	}
	if line, seen := l.seen[r.Name]; seen {
		l.Complain(s.At, "give each rule a name of its own", "a second rule with the name %q; the first is in line %d", r.Name, line)
	}
	l.seen[r.Name] = s.At.Line
}

// sepEffects are the effects of the SEP's form; escalate is ask.
var sepEffects = []string{"block", "escalate"}

func (l *loader) effect(s document.Scalar, allowed []string) Effect {
	if !s.Present() {
		return Block
	}
	if !slices.Contains(allowed, s.Value) {
		l.Complain(s.At, spelling.DidYouMean(s.Value, allowed), "unknown effect %q", s.Value)
		return Block
	}
	if s.Value == "escalate" {
		return Ask
	}
	e, err := ParseEffect(s.Value)
	if err != nil {
		l.Complain(s.At, "", "%v", err)
	}
	return e
}

// placeholder matches the placeholders of a message.
var placeholder = pattern.New(`\{[A-Za-z_.]+\}`)

func (l *loader) ruleMessage(r *rule, m map[string]document.Member) {
	if _, ok := m["message"]; !ok {
		r.Message = fmt.Sprintf("the policy rule %q says %s", r.Name, r.Effect)
		return
	}
	s := l.Text(m["message"])
	r.Message = strings.TrimSpace(s.Value)
	for _, name := range placeholder().FindAllString(r.Message, -1) {
		if name != "{tool}" && name != "{server}" {
			l.Complain(s.At, "use {tool} or {server}", "unknown placeholder %s", name)
		}
	}
}

// once reads how often the rule's question is put.
func (l *loader) once(r *rule, m map[string]document.Member) {
	o, ok := m["once"]
	if !ok {
		return
	}
	switch s := l.Text(o); {
	case !s.Present():
	case s.Value != "destination":
		l.Complain(s.At, "write once: destination, or leave it out", "unknown value %q of once", s.Value)
	case r.Effect != Ask:
		l.Complain(s.At, "remove once", "only a rule with the effect ask can ask once")
	default:
		r.Once = true
	}
}

// condition reads and compiles when and if, or conditions.
func (l *loader) condition(r *rule, m map[string]document.Member) {
	when, whenOK := l.when(m)
	if l.compiler == nil {
		r.When = when
		return
	}
	x, ok := l.compileRule(r, m)
	if !ok {
		return
	}
	result := readsResult(x)
	r.When = when
	if _, said := m["when"]; !said && result {
		r.When = OnResult
	}
	if whenOK && r.Effect == Hide && r.When == OnCall {
		l.Complain(r.conditionAt, "write when: result", "the rule hides, but only results can be hidden")
		return
	}
	if whenOK && result && r.When == OnCall {
		l.Complain(r.conditionAt, "write when: result", "the rule is for calls but reads a fact of the result")
	}
	r.Cost, r.Limited, r.condition = x.Cost, x.Limited, x
}

func (l *loader) when(m map[string]document.Member) (Phase, bool) {
	if _, ok := m["when"]; !ok {
		_, isSEP := m["conditions"]
		return OnCall, isSEP
	}
	s := l.Text(m["when"])
	if !s.Present() {
		return OnCall, false
	}
	phase, err := ParsePhase(s.Value)
	if err != nil {
		l.Complain(s.At, spelling.DidYouMean(s.Value, phaseNames[:]), "unknown moment %q", s.Value)
	}
	return phase, err == nil
}

func (l *loader) compileRule(r *rule, m map[string]document.Member) (*expression.Condition, bool) {
	var s document.Scalar
	if c, ok := m["conditions"]; ok {
		text, ok := l.conditions(c.Value)
		if !ok {
			return nil, false
		}
		s = document.Scalar{Value: text, At: document.At(c.Value)}
	} else if c, ok := m["if"]; ok {
		s = l.Text(c)
	}
	if !s.Present() {
		return nil, false
	}
	r.If, r.conditionAt = strings.TrimSpace(s.Value), s.At
	x, wrong := l.compiler.Compile(s.Value)
	for _, w := range wrong {
		place := s.At
		if s.Start != (document.Mark{}) {
			place = l.Locate(s, w.Line, w.Col)
		}
		l.Complain(place, w.Hint, "%s", w.Msg)
	}
	return x, len(wrong) == 0
}

// readsResult reports whether the condition reads a fact that is known only once there is a result.
func readsResult(x *expression.Condition) bool {
	return slices.ContainsFunc(facts, func(f fact) bool { return f.result && x.Reads(f.name) })
}
