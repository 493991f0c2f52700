package trial

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/goccy/go-yaml/ast"

	"github.com/weir-mcp/weir/internal/document"
	"github.com/weir-mcp/weir/internal/spelling"
	"github.com/weir-mcp/weir/policy"
)

// Limits of a file of cases.
const (
	maxSource = 4 << 20 // bytes
	maxCases  = 10_000
)

// Load reads a file of cases. The name stands in messages. The error is a [policy.Errors] that holds every problem.
func Load(name string, src []byte) (*File, error) {
	l := &loader{Document: document.Document{Name: name, Empty: "begin with version: 1 and a list of cases"}}
	f := l.load(src)
	if len(l.Problems) == 0 {
		return f, nil
	}
	l.Problems.Sort()
	return nil, l.Problems
}

type loader struct {
	document.Document
	given map[string]map[string]fact
}

// A fact is a value that the file gives, and where.
type fact struct {
	value any
	at    document.Mark
}

func (l *loader) load(src []byte) *File {
	root := l.Parse(src, maxSource)
	if root == nil {
		return nil
	}
	m, ok := l.Members(root, "the file", []string{"version", "policy", "given", "cases"})
	if !ok {
		return nil
	}
	if v, ok := m["version"]; !ok {
		l.Complain(document.Mark{Line: 1, Col: 1}, "add version: 1", "the file has no version")
	} else if n, ok := v.Value.(*ast.IntegerNode); !ok || fmt.Sprint(n.Value) != "1" {
		l.Complain(document.At(v.Value), "write version: 1", "unknown version")
	}
	f := &File{}
	if p, ok := m["policy"]; ok {
		f.Policy = l.Text(p).Value
	}
	l.given = map[string]map[string]fact{}
	if g, ok := m["given"]; ok {
		for _, e := range l.Entries(g.Value, "given") {
			l.given[e.Name] = l.facts(e.Value)
		}
	}
	list, ok := m["cases"]
	if !ok {
		l.Complain(document.Mark{Line: 1, Col: 1}, "add cases: and a list of cases", "the file has no cases")
		return nil
	}
	elements := l.Elements(list.Value, "cases")
	if len(elements) > maxCases {
		l.Complain(list.At, "", "%d cases, more than the %d that a file may have", len(elements), maxCases)
		return nil
	}
	seen := map[string]int{}
	for _, e := range elements {
		if c, ok := l.caseOf(e, seen); ok {
			f.Cases = append(f.Cases, c)
		}
	}
	return f
}

func (l *loader) caseOf(n ast.Node, seen map[string]int) (c Case, ok bool) {
	m, ok := l.Members(n, "case", []string{"name", "when", "with", "facts", "effect", "rule", "matched"})
	if !ok {
		return c, false
	}
	before := len(l.Problems)
	c.Line = document.At(n).Line
	for _, name := range []string{"name", "effect"} {
		if _, ok := m[name]; !ok {
			l.Complain(document.At(n), "add "+name+": …", "the case has no %s", name)
			return c, false
		}
	}
	name := l.Text(m["name"])
	if line, twice := seen[name.Value]; twice {
		l.Complain(name.At, "give each case a name of its own", "a second case with the name %q; the first is in line %d", name.Value, line)
	}
	c.Name, seen[name.Value] = name.Value, name.At.Line
	effect := l.Text(m["effect"])
	var err error
	if c.Effect, err = policy.ParseEffect(effect.Value); err != nil && effect.Present() {
		l.Complain(effect.At, "", "%v", err)
	}
	phase := policy.OnCall
	if w, ok := m["when"]; ok {
		s := l.Text(w)
		if phase, err = policy.ParsePhase(s.Value); err != nil && s.Present() {
			l.Complain(s.At, "write call or result", "unknown moment %q", s.Value)
		}
	}
	if r, ok := m["rule"]; ok {
		c.Rule, c.HasRule = l.Text(r).Value, true
	}
	if all, ok := m["matched"]; ok {
		c.HasAll = true
		for _, s := range l.Texts(all) {
			c.Matched = append(c.Matched, s.Value)
		}
	}
	c.Given = l.give(phase, l.gather(m), document.At(n))
	return c, len(l.Problems) == before
}

// gather joins the facts that a case shares with others and its own.
func (l *loader) gather(m map[string]document.Member) map[string]fact {
	all := map[string]fact{}
	if with, ok := m["with"]; ok {
		for _, s := range l.Texts(with) {
			shared, ok := l.given[s.Value]
			if !ok {
				l.Complain(s.At, spelling.DidYouMean(s.Value, slices.Sorted(maps.Keys(l.given))), "nothing is given under the name %q", s.Value)
			}
			maps.Copy(all, shared)
		}
	}
	if own, ok := m["facts"]; ok {
		maps.Copy(all, l.facts(own.Value))
	}
	return all
}

// facts reads facts by their names. Their types are checked when they are given, each where it stands.
func (l *loader) facts(n ast.Node) map[string]fact {
	all := map[string]fact{}
	if m, ok := n.(*ast.MappingNode); ok && len(m.Values) == 0 {
		return all
	}
	for _, e := range l.Entries(n, "facts") {
		v, err := value(e.Value)
		if err == nil && e.Name == "call.arguments" {
			v, err = object(v)
		}
		if err != nil {
			l.Complain(document.At(e.Value), "", "%s is %v", e.Name, err)
			continue
		}
		all[e.Name] = fact{texts(v), e.At}
	}
	return all
}

// give puts the facts of a case together.
func (l *loader) give(phase policy.Phase, all map[string]fact, at document.Mark) *policy.ParsedFacts {
	wrong := false
	for name, f := range all {
		if _, err := policy.ParseFacts(phase, policy.Values{name: f.value}); err != nil {
			wrong = true
			l.complain(err, f.at)
		}
	}
	if wrong {
		return nil
	}
	values := policy.Values{}
	for name, f := range all {
		values[name] = f.value
	}
	follow(values)
	g, err := policy.ParseFacts(phase, values)
	if err != nil {
		l.complain(err, at)
	}
	return g
}

// complain reports facts that cannot be given.
func (l *loader) complain(err error, at document.Mark) {
	problems, ok := err.(policy.Errors)
	if !ok {
		l.Complain(at, "", "%v", err)
	}
	for _, p := range problems {
		found := slices.ContainsFunc(l.Problems, func(o document.Problem) bool { return o.Line == at.Line && o.Msg == p.Msg })
		if !found { // facts that cases share are given several times
			l.Complain(at, p.Hint, "%s", p.Msg)
		}
	}
}

// follow adds the facts that follow from the given ones, as the package comment says.
func follow(v policy.Values) {
	to, hasTo := v["call.destination.from"].([]string)
	content, hasContent := v["call.content.from"].([]string)
	if _, given := v["call.from"]; !given && (hasTo || hasContent) {
		v["call.from"] = slices.Concat(to, content)
	}
	if _, given := v["call.destination.values"]; !given && len(to) > 0 {
		v["call.destination.values"] = []string{"somewhere"}
	}
}

// value returns the JSON of a node.
func value(n ast.Node) (any, error) {
	switch n := n.(type) {
	case *ast.NullNode:
		return nil, nil
	case *ast.BoolNode:
		return n.Value, nil
	case *ast.IntegerNode:
		switch i := n.Value.(type) {
		case int64:
			return int(i), nil
		case uint64:
			if i < 1<<53 {
				return int(i), nil
			}
		}
	case *ast.FloatNode:
		return n.Value, nil
	case *ast.StringNode:
		return n.Value, nil
	case *ast.LiteralNode:
		return n.Value.Value, nil
	case *ast.SequenceNode:
		list := []any{}
		for _, e := range n.Values {
			v, err := value(e)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	case *ast.MappingNode:
		return members(n.Values)
	case *ast.MappingValueNode:
		return members([]*ast.MappingValueNode{n})
	}
	return nil, fmt.Errorf("%s, which is no value of a fact", document.Kind(n))
}

func members(values []*ast.MappingValueNode) (any, error) {
	object := map[string]any{}
	for _, m := range values {
		name := m.Key.String()
		if s, ok := m.Key.(*ast.StringNode); ok {
			name = s.Value
		}
		if _, twice := object[name]; twice {
			return nil, fmt.Errorf("an object with the member %q twice", name)
		}
		v, err := value(m.Value)
		if err != nil {
			return nil, err
		}
		object[name] = v
	}
	return object, nil
}

// object returns the JSON text of an object.
func object(v any) (any, error) {
	if _, ok := v.(map[string]any); !ok {
		return nil, fmt.Errorf("not an object")
	}
	text, err := json.Marshal(v)
	return string(text), err
}

// texts returns a list of texts as such, and anything else as it is.
func texts(v any) any {
	list, ok := v.([]any)
	if !ok {
		return v
	}
	out := make([]string, 0, len(list))
	for _, item := range list {
		s, ok := item.(string)
		if !ok {
			return v
		}
		out = append(out, s)
	}
	return out
}
