package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/weir-mcp/weir/internal/document"
	"github.com/weir-mcp/weir/internal/spelling"
)

// A reader turns the syntax tree of a file into a draft, and notes every problem on the way.
type reader struct{ d *Draft }

// A member is one key with its value in the syntax tree.
type member struct {
	key     string
	name    string // as it is called in messages: approval.timeout, server "mail": timeout
	pointer string // in the draft
	at      Place  // of its key
	value   ast.Node
}

// fields says how each member of an object is read.
type fields map[string]func(member)

// by returns the reader of a member that read is.
func (r reader) by(read func(reader, member)) func(member) {
	return func(m member) { read(r, m) }
}

// entries returns the members of a mapping that have distinct names; ok is false if m is no mapping.
func (r reader) entries(m member) (members []member, ok bool) {
	mapping, ok := m.value.(*ast.MappingNode)
	if !ok {
		r.wrong(m, "a mapping, NAME: value")
		return nil, false
	}
	first := map[string]int{}
	for _, v := range mapping.Values {
		at := placeOf(v.Key)
		key, ok := v.Key.(*ast.StringNode)
		if !ok {
			r.d.Fault(at, "put a name in quotes; merge keys are not used here", "%sa key that is no string", within(m.name))
			continue
		}
		if line := first[key.Value]; line > 0 {
			r.d.Fault(at, "remove one of them", "%s%.64q is here twice, first on line %d", within(m.name), key.Value, line)
			continue
		}
		first[key.Value] = at.Line
		e := member{key.Value, prefix(m.name) + key.Value, m.pointer + Pointer(key.Value), at, v.Value}
		r.d.Set(e.pointer, at)
		members = append(members, e)
	}
	return members, true
}

// object reads the members of a mapping by their names.
func (r reader) object(m member, fields fields) {
	members, _ := r.entries(m)
	for _, e := range members {
		if read := fields[e.key]; read != nil {
			read(e)
			continue
		}
		known := slices.Sorted(maps.Keys(fields))
		if near := spelling.Nearest(e.key, known); near != "" && !r.d.Has(m.pointer+Pointer(near)) {
			r.d.Set(m.pointer+Pointer(near), e.at) // there, if misspelt: not missing as well
		}
		r.d.Fault(e.at, spelling.DidYouMean(e.key, known), "%s%s", within(m.name), document.Unknown(e.key))
	}
}

// within begins a message about something inside the member named, or with no name in the file.
func within(name string) string {
	if name == "" {
		return ""
	}
	return name + ": "
}

// prefix returns the text before the name of a member of the one named.
func prefix(name string) string {
	if name == "" || strings.HasSuffix(name, `"`) { // server "mail"
		return within(name)
	}
	return name + "."
}

// wrong notes that a member has another type than it needs, without its value.
func (r reader) wrong(m member, want string) {
	hint := "write " + want
	got := "something else"
	switch m.value.(type) {
	case nil, *ast.NullNode:
		got = "nothing"
	case *ast.StringNode, *ast.LiteralNode:
		got = "text"
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		got = "a number"
	case *ast.BoolNode:
		got = "true or false"
	case *ast.SequenceNode:
		got = "a list"
	case *ast.MappingNode:
		got = "a mapping"
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode:
		got, hint = "an anchor, alias or tag", "write the value itself"
	}
	if want == "text" && (got == "a number" || got == "true or false") {
		hint = "put it in quotes"
	}
	r.d.Fault(m.at, hint, "%s%s, not %s", needs(m.name), want, got)
}

// needs begins the message that a member, or with no name the file, is of the wrong type.
func needs(name string) string {
	if name == "" {
		return "the file must be "
	}
	return name + ": must be "
}

func placeOf(n ast.Node) Place {
	if n == nil || n.GetToken() == nil || n.GetToken().Position == nil {
		return Place{}
	}
	p := n.GetToken().Position
	return Place{p.Line, p.Column}
}
