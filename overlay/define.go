package overlay

import (
	"strings"
	"sync"

	"github.com/goccy/go-yaml/ast"

	"github.com/weir-mcp/weir/internal/document"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/label"
)

// definitionMembers are the members that a tool, resource or prompt may have.
var definitionMembers = []string{"contract", "when", "arguments", "resource", "results", "lists"}

// definitions reads the mapping below tools, resources or prompts.
func (l *loader) definitions(e *entry, m document.Member) definitions {
	var all definitions
	entries := l.Entries(m.Value, m.Name)
	if len(entries) > maxDefinitions {
		l.Complain(m.At, "", "%d %s, more than the %d that an overlay may have", len(entries), m.Name, maxDefinitions)
		return nil
	}
	for _, one := range entries {
		if one.Name == "" || len(one.Name) > maxName {
			l.Complain(one.At, "write a name, or a glob with *", "a name is empty or longer than %d bytes", maxName)
			continue
		}
		all = append(all, l.definition(e, one))
	}
	return all
}

func (l *loader) definition(e *entry, one document.Member) *definition {
	d := &definition{pattern: one.Name, line: one.At.Line, entry: e}
	d.named = sync.OnceValue(d.names)
	before := len(l.Problems)
	m, ok := l.Members(one.Value, one.Name, definitionMembers)
	if !ok {
		return d
	}
	if len(m) == 0 && len(l.Problems) == before {
		l.Complain(one.At, "add contract: …", "nothing is said of %s", one.Name)
	}
	if member, ok := m["contract"]; ok {
		d.base = l.contract(member)
	}
	if member, ok := m["when"]; ok {
		for _, n := range l.Elements(member.Value, "when") {
			l.refinement(d, n)
		}
	}
	if member, ok := m["arguments"]; ok {
		l.roles(d, member)
	}
	if member, ok := m["resource"]; ok {
		l.resource(d, member)
	}
	if member, ok := m["results"]; ok {
		for _, n := range l.Elements(member.Value, "results") {
			l.rule(d, n)
		}
	}
	if member, ok := m["lists"]; ok {
		l.lists(d, member)
	}
	return d
}

func (l *loader) refinement(d *definition, n ast.Node) {
	m, ok := l.Members(n, "when", []string{"if", "contract", "why"})
	if !ok {
		return
	}
	r := refinement{line: document.At(n).Line}
	if member, ok := m["why"]; ok {
		r.why = strings.TrimSpace(l.Text(member).Value)
	}
	if member, ok := m["contract"]; ok {
		r.contract = l.contract(member)
	} else {
		l.Complain(document.At(n), "add contract: …", "the refinement changes nothing")
	}
	member, ok := m["if"]
	if !ok {
		l.Complain(document.At(n), "add if: and a condition over call.arguments", "the refinement has no condition")
		return
	}
	s := l.Text(member)
	if !s.Present() {
		return
	}
	r.text = strings.TrimSpace(s.Value)
	x, wrong := l.compiler.Compile(s.Value)
	for _, w := range wrong {
		l.Complain(l.Locate(s, w.Line, w.Col), w.Hint, "%s", w.Msg)
	}
	if x != nil {
		r.condition = x
		d.refinements = append(d.refinements, r)
	}
}

func (l *loader) roles(d *definition, member document.Member) {
	m, ok := l.Members(member.Value, "arguments", []string{"destination", "content"})
	if !ok {
		return
	}
	d.roles = true
	d.destination, d.content = l.paths(m, "destination"), l.paths(m, "content")
}

func (l *loader) paths(m map[string]document.Member, name string) []path {
	member, ok := m[name]
	if !ok {
		return nil
	}
	var paths []path
	for _, s := range l.Texts(member) {
		p, err := parsePath(s.Value, false)
		if err != nil {
			l.Complain(s.At, "write it as name, a.b or list[*].b", "bad path: %v", err)
			continue
		}
		paths = append(paths, p)
	}
	return paths
}

func (l *loader) resource(d *definition, member document.Member) {
	m, ok := l.Members(member.Value, "resource", []string{"reads", "folders", "writes"})
	if !ok {
		return
	}
	d.resource = true
	for name, to := range map[string]*[]template{"reads": &d.reads, "folders": &d.folders, "writes": &d.writes} {
		list, ok := m[name]
		if !ok {
			continue
		}
		for _, s := range l.Texts(list) {
			t, err := parseTemplate(s.Value)
			if err == nil && (len(t) == 0 || len(t) > maxSteps) {
				l.Complain(s.At, "write a URI, as file://{path}", "the template is empty or has more than %d parts", maxSteps)
			} else if err != nil {
				l.Complain(s.At, "write a URI with arguments in braces, as file://{path}", "bad template: %v", err)
			}
			*to = append(*to, t)
		}
	}
}

// rule reads one item of results.
func (l *loader) rule(d *definition, n ast.Node) {
	m, ok := l.Members(n, "results", []string{"path", "equals", "label"})
	if !ok {
		return
	}
	r := rule{equals: [][]byte{[]byte("true")}}
	for _, name := range []string{"path", "label"} {
		if _, ok := m[name]; !ok {
			l.Complain(document.At(n), "add "+name+": …", "the rule has no %s", name)
			return
		}
	}
	if s := l.Text(m["path"]); s.Present() {
		p, err := parsePath(s.Value, true)
		if err != nil {
			l.Complain(s.At, "write it as $.items[*].private", "bad path: %v", err)
		}
		r.path = p
	}
	if member, ok := m["equals"]; ok {
		r.equals = l.scalars(member)
	}
	r.label = l.label(m["label"])
	d.results = append(d.results, r)
}

// scalars reads a scalar or a list of them as canonical JSON.
func (l *loader) scalars(m document.Member) [][]byte {
	nodes := []ast.Node{m.Value}
	if list, ok := m.Value.(*ast.SequenceNode); ok {
		nodes = list.Values
	}
	var all [][]byte
	for _, n := range nodes {
		switch n := n.(type) {
		case *ast.StringNode:
			all = append(all, rawjson.Quote(n.Value))
		case *ast.BoolNode, *ast.IntegerNode, *ast.FloatNode, *ast.NullNode:
			value := []byte(n.GetToken().Value)
			if rawjson.Check(value) != nil {
				l.Complain(document.At(n), "write it as JSON would", "a value that JSON does not have")
				continue
			}
			all = append(all, rawjson.Canonical(value))
		default:
			l.Complain(document.At(n), "write a text, a number, true, false or null", "%s is %s", m.Name, document.Kind(n))
		}
	}
	if len(all) == 0 {
		l.Complain(document.At(m.Value), "name at least one value", "the rule fits nothing")
	}
	return all
}

func (l *loader) label(member document.Member) label.Label {
	var out label.Label
	before := len(l.Problems)
	m, ok := l.Members(member.Value, "label", []string{"private", "untrusted", "malicious", "sensitivity", "sources"})
	if !ok {
		return out
	}
	for name, to := range map[string]*bool{"private": &out.Private, "untrusted": &out.Untrusted, "malicious": &out.Malicious} {
		field, ok := m[name]
		if !ok {
			continue
		}
		if v, ok := l.Bool(field); ok {
			if !v {
				l.Complain(document.At(field.Value), "leave it out", "a label only raises: %s: false says nothing", name)
			}
			*to = v
		}
	}
	if field, ok := m["sensitivity"]; ok {
		out.Sensitivity = label.SetOf(l.classes(field)...)
	}
	if field, ok := m["sources"]; ok {
		out.Sources = label.SetOf(words(l, field, label.Sources())...)
	}
	if len(m) == 0 && len(l.Problems) == before {
		l.Complain(document.At(member.Value), "add private, untrusted, malicious, sensitivity or sources", "the label says nothing")
	}
	return out.Normal()
}

// lists reads the description of lists in results.
func (l *loader) lists(d *definition, member document.Member) {
	m, ok := l.Members(member.Value, "lists", []string{"items", "id", "name"})
	if !ok {
		return
	}
	d.lists = &listing{}
	for _, part := range []struct {
		name string
		root bool
		to   *path
	}{{"items", true, &d.lists.items}, {"id", false, &d.lists.id}, {"name", false, &d.lists.name}} {
		field, ok := m[part.name]
		if !ok {
			l.Complain(document.At(member.Value), "write items, id and name", "lists has no %s", part.name)
			return
		}
		s := l.Text(field)
		p, err := parsePath(s.Value, part.root)
		if s.Present() && err != nil {
			l.Complain(s.At, "write items as $.channels[*], id and name as a or a.b", "bad path: %v", err)
		}
		*part.to = p
	}
}
