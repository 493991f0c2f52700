package policy

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
)

// Limits of a policy file.
const (
	maxSource = 1 << 20 // bytes
	maxRules  = 1000
	maxName   = 128 // bytes
)

//go:embed default.yaml
var defaultSource []byte

// DefaultSource returns a copy of the built-in policy's file.
func DefaultSource() []byte { return slices.Clone(defaultSource) }

// Default returns the built-in policy. Each call compiles it anew.
func Default() *Policy {
	p, err := Load("default.yaml", defaultSource)
	if err != nil {
		panic(fmt.Sprintf("policy: the built-in policy does not load: %v", err)) // the tests load it
	}
	return p
}

// Load reads a policy in YAML, or in the JSON form of SEP-1913 (Policy Layer). The name stands in messages. If anything is
// wrong with the file, the error is an [Errors] that holds every problem, and there is no policy.
func Load(name string, src []byte) (*Policy, error) {
	c, err := theCompiler()
	if err != nil {
		return nil, err
	}
	l := &loader{document: document{name: name}, compiler: c}
	p := l.load(src)
	if len(l.problems) > 0 {
		slices.SortStableFunc(l.problems, func(a, b Problem) int {
			return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
		})
		return nil, l.problems
	}
	return p, nil
}

// A loader builds a policy from one file.
type loader struct {
	document
	compiler *compiler
	seen     map[string]int // line by rule name
}

func (l *loader) load(src []byte) *Policy {
	switch {
	case len(src) > maxSource:
		l.complain(mark{}, "", "the file has %d bytes, more than the %d that a policy may", len(src), maxSource)
		return nil
	case !utf8.Valid(src):
		l.complain(mark{}, "save the file as UTF-8", "the file is not valid UTF-8")
		return nil
	}
	root := l.parse(src)
	if root == nil {
		return nil
	}
	m, ok := l.members(root, "policy", []string{"version", "default", "rules"})
	if !ok {
		return nil
	}
	digest := sha256.Sum256(src)
	p := &Policy{name: l.name, digest: hex.EncodeToString(digest[:]), fallback: Allow}
	if d, ok := m["default"]; ok {
		p.fallback = l.effect(l.text(d), effectNames[:])
	}
	l.rules(p, m)
	return p
}

// rules reads the list of rules and, because it depends on their form, the version.
func (l *loader) rules(p *Policy, m map[string]member) {
	list, ok := m["rules"]
	if !ok {
		l.complain(mark{1, 1}, "add rules: and a list of rules; [] for none", "the policy has no rules")
		return
	}
	elements := l.elements(list.value, "rules")
	if len(elements) > maxRules {
		l.complain(list.at, "", "%d rules, more than the %d that a policy may have", len(elements), maxRules)
		return
	}
	l.seen = make(map[string]int, len(elements))
	sepOnly := len(elements) > 0
	for _, e := range elements {
		r, isSEP := l.rule(e)
		sepOnly = sepOnly && isSEP
		p.add(r)
	}
	l.version(m, sepOnly)
}

// version checks the version, which only a file in the SEP's own form need not have.
func (l *loader) version(m map[string]member, sepOnly bool) {
	v, ok := m["version"]
	if !ok {
		if !sepOnly {
			l.complain(mark{1, 1}, "add version: 1", "the policy has no version")
		}
		return
	}
	if n, ok := v.value.(*ast.IntegerNode); !ok || fmt.Sprint(n.Value) != "1" {
		l.complain(at(v.value), "write version: 1", "unknown version")
	}
}

// rule reads one rule: ours has if, the SEP's has conditions.
func (l *loader) rule(n ast.Node) (r rule, isSEP bool) {
	m, ok := l.members(n, "rule", []string{"name", "when", "if", "effect", "message", "conditions"})
	if !ok {
		return rule{}, false
	}
	_, isSEP = m["conditions"]
	_, hasIf := m["if"]
	if isSEP && hasIf {
		l.complain(m["conditions"].at, "keep one of them", "the rule has both if and conditions")
		return rule{}, isSEP
	}
	required := []string{"name", "when", "if", "effect"}
	if isSEP {
		required = []string{"name", "effect"}
	}
	for _, name := range required {
		if _, ok := m[name]; !ok {
			l.complain(at(n), "add "+name+": …", "the rule has no %s", name)
		}
	}
	r.Line = at(n).line
	l.ruleName(&r, m)
	if e, ok := m["effect"]; ok {
		allowed := effectNames[:]
		if isSEP {
			allowed = sepEffects
		}
		r.Effect = l.effect(l.text(e), allowed)
	}
	l.ruleMessage(&r, m)
	l.condition(&r, m)
	return r, isSEP
}

func (l *loader) ruleName(r *rule, m map[string]member) {
	if _, ok := m["name"]; !ok {
		return
	}
	s := l.text(m["name"])
	if !s.present() {
		return
	}
	r.Name = s.value
	if r.Name == "" || len(r.Name) > maxName || strings.ContainsFunc(r.Name, func(c rune) bool { return !unicode.IsPrint(c) }) {
		l.complain(s.at, "use a short word, such as ask-before-publishing", "the name is empty, not printable or longer than %d bytes", maxName)
	}
	if line, seen := l.seen[r.Name]; seen {
		l.complain(s.at, "give each rule a name of its own", "a second rule with the name %q; the first is in line %d", r.Name, line)
	}
	l.seen[r.Name] = s.at.line
}

// sepEffects are the effects of the SEP's form; escalate is ask.
var sepEffects = []string{"block", "escalate"}

func (l *loader) effect(s scalar, allowed []string) Effect {
	if !s.present() {
		return Block
	}
	if !slices.Contains(allowed, s.value) {
		l.complain(s.at, didYouMean(s.value, allowed), "unknown effect %q", s.value)
		return Block
	}
	if s.value == "escalate" {
		return Ask
	}
	e, err := ParseEffect(s.value)
	if err != nil {
		l.complain(s.at, "", "%v", err)
	}
	return e
}

// placeholder is what a message may hold.
var placeholder = regexp.MustCompile(`\{[A-Za-z_.]+\}`)

func (l *loader) ruleMessage(r *rule, m map[string]member) {
	if _, ok := m["message"]; !ok {
		r.Message = fmt.Sprintf("the policy rule %q says %s", r.Name, r.Effect)
		return
	}
	s := l.text(m["message"])
	r.Message = strings.TrimSpace(s.value)
	for _, name := range placeholder.FindAllString(r.Message, -1) {
		if name != "{tool}" && name != "{server}" {
			l.complain(s.at, "use {tool} or {server}", "unknown placeholder %s", name)
		}
	}
}

// condition reads and compiles when and if, or conditions.
func (l *loader) condition(r *rule, m map[string]member) {
	when, whenOK := l.when(m)
	x, ok := l.compileRule(r, m)
	if !ok {
		return
	}
	r.When = when
	if _, said := m["when"]; !said && x.result {
		r.When = OnResult
	}
	if whenOK && x.result && r.When == OnCall {
		l.complain(r.conditionAt, "write when: result", "the rule is for calls but reads a fact of the result")
	}
	r.Cost, r.Limited, r.program = x.cost, x.limited, x.program
}

func (l *loader) when(m map[string]member) (Phase, bool) {
	if _, ok := m["when"]; !ok {
		_, isSEP := m["conditions"]
		return OnCall, isSEP
	}
	s := l.text(m["when"])
	if !s.present() {
		return OnCall, false
	}
	phase, err := ParsePhase(s.value)
	if err != nil {
		l.complain(s.at, didYouMean(s.value, phaseNames[:]), "unknown moment %q", s.value)
	}
	return phase, err == nil
}

func (l *loader) compileRule(r *rule, m map[string]member) (expression, bool) {
	var s scalar
	if c, ok := m["conditions"]; ok {
		text, ok := l.conditions(c.value)
		if !ok {
			return expression{}, false
		}
		s = scalar{value: text, at: at(c.value)}
	} else if c, ok := m["if"]; ok {
		s = l.text(c)
	}
	if !s.present() {
		return expression{}, false
	}
	r.If, r.conditionAt = strings.TrimSpace(s.value), s.at
	x, wrong := l.compiler.compile(s.value)
	for _, w := range wrong {
		place := s.at
		if s.start != (mark{}) {
			place = l.locate(s, w.line, w.col)
		}
		l.complain(place, w.hint, "%s", w.msg)
	}
	return x, len(wrong) == 0
}
