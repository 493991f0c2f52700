package hostfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/weir-mcp/weir/internal/rawjson"
)

// decodeJSONC reads JSON with comments and trailing commas.
func decodeJSONC(src []byte) (any, error) { return decodeJSON(Standard(src)) }

// syntaxError returns why a text is not JSON, with the place.
func syntaxError(src []byte, err error) error {
	var e *rawjson.SyntaxError
	if !errors.As(err, &e) {
		return &Error{Msg: "not JSON"}
	}
	line, col := place(src, int(e.Offset))
	hint := "check quotes, commas and brackets around here"
	if e.Fault == rawjson.DuplicateName {
		hint = "remove one of them: readers differ in which one counts"
	}
	return &Error{line, col, "bad JSON: " + e.Reason, hint}
}

// editJSON changes a list in a text that decodes.
func editJSON(src []byte, c Change) ([]byte, error) {
	root, err := hujson.Parse(src)
	if err != nil {
		return nil, &Error{Msg: "not JSON"}
	}
	object, err := findObject(&root, c.List, len(c.Back)+len(c.Put) > 0)
	if err != nil {
		return nil, err
	}
	e := objectEdit{object: object, newline: newlineOf(src)}
	fresh, err := e.fresh(c)
	if err != nil {
		return nil, err
	}
	e.rebuild(&c, fresh)
	return root.Pack(), nil
}

// findObject returns the object at a path. With make, a missing last member is added.
func findObject(root *hujson.Value, path []string, make bool) (*hujson.Object, error) {
	around, ok := root.Value.(*hujson.Object)
	for i, name := range path {
		if !ok {
			break
		}
		j := slices.IndexFunc(around.Members, func(m hujson.ObjectMember) bool { return memberName(m) == name })
		if j < 0 && make && i == len(path)-1 {
			e := objectEdit{object: around, newline: "\n"}
			m, err := e.member(Entry{name, []byte("{}")}, e.lead(nil))
			if err != nil {
				return nil, err
			}
			e.rebuild(&Change{}, []hujson.ObjectMember{m})
			j = len(around.Members) - 1
		}
		if j < 0 {
			ok = false
			break
		}
		around, ok = around.Members[j].Value.Value.(*hujson.Object)
	}
	if !ok {
		return nil, &Error{Msg: strings.Join(path, ".") + " is not there any more", Hint: "change the file by hand"}
	}
	return around, nil
}

func memberName(m hujson.ObjectMember) string {
	literal, _ := m.Name.Value.(hujson.Literal)
	return literal.String()
}

// An objectEdit changes the members of one object.
type objectEdit struct {
	object  *hujson.Object
	newline string
}

// fresh returns the members that come, those of the earlier text first.
func (e objectEdit) fresh(c Change) (fresh []hujson.ObjectMember, err error) {
	if len(c.Back) > 0 {
		root, err := hujson.Parse(c.From)
		if err != nil {
			return nil, &Error{Msg: "the earlier text is not JSON"}
		}
		earlier, err := findObject(&root, c.List, false)
		if err != nil {
			return nil, err
		}
		for _, m := range earlier.Members {
			if slices.Contains(c.Back, memberName(m)) {
				fresh = append(fresh, m)
			}
		}
	}
	for _, p := range c.Put {
		m, err := e.member(p, e.lead(&c))
		if err != nil {
			return nil, err
		}
		fresh = append(fresh, m)
	}
	return fresh, nil
}

// rebuild takes members out and puts others where the first of them was, or at the end.
func (e objectEdit) rebuild(c *Change, fresh []hujson.ObjectMember) {
	o := e.object
	trailing := len(o.Members) > 0 && o.Members[len(o.Members)-1].Value.AfterExtra != nil
	wasEmpty := len(o.Members) == 0
	var members []hujson.ObjectMember
	var carry hujson.Extra // comments on the line of a member that stays, which are read with the next one
	placed, kept := false, true
	add := func(all ...hujson.ObjectMember) {
		if before := &all[0].Name.BeforeExtra; !bytes.HasPrefix(*before, carry) {
			*before = slices.Concat(carry, *before)
		}
		carry = nil
		members = append(members, all...)
	}
	for _, m := range o.Members {
		if !c.goes(memberName(m)) {
			add(m)
			kept = true
			continue
		}
		if kept {
			carry = slices.Concat(carry, commentOf(m.Name.BeforeExtra))
		}
		if kept = false; !placed && len(fresh) > 0 {
			add(fresh...)
		}
		placed = true
	}
	if !placed && len(fresh) > 0 {
		add(fresh...)
	}
	o.Members = members
	o.AfterExtra = slices.Concat(carry, o.AfterExtra)
	e.close(trailing, wasEmpty)
}

// commentOf returns the comments before the first line break; nil if there are none.
func commentOf(extra hujson.Extra) hujson.Extra {
	line, _, _ := bytes.Cut(extra, []byte("\n"))
	line = bytes.TrimSuffix(line, []byte("\r"))
	if open := bytes.LastIndex(line, []byte("/*")); open > bytes.Index(line, []byte("//")) && !bytes.HasSuffix(bytes.TrimSpace(line), []byte("*/")) {
		return nil // it goes on in the next line
	}
	return hujson.Extra(bytes.TrimRight(line, " \t"))
}

// close keeps the comma after the last member as it was.
func (e objectEdit) close(trailing, wasEmpty bool) {
	o := e.object
	if len(o.Members) == 0 {
		return
	}
	last := &o.Members[len(o.Members)-1].Value
	switch {
	case trailing && last.AfterExtra == nil:
		last.AfterExtra = hujson.Extra{}
	case !trailing && last.AfterExtra != nil:
		o.AfterExtra = slices.Concat(last.AfterExtra, o.AfterExtra)
		last.AfterExtra = nil
	}
	if lead := spaceOf(o.Members[0].Name.BeforeExtra); wasEmpty && len(o.AfterExtra) == 0 && strings.Contains(lead, "\n") {
		o.AfterExtra = hujson.Extra(strings.TrimSuffix(lead, "  "))
	}
}

// lead returns the space before a new member: as before the first member that goes, or before any.
func (e objectEdit) lead(c *Change) string {
	members := e.object.Members
	if len(members) == 0 {
		if closing := spaceOf(e.object.AfterExtra); strings.Contains(closing, "\n") {
			return closing + "  "
		}
		return ""
	}
	i := 0
	if c != nil {
		i = max(0, slices.IndexFunc(members, func(m hujson.ObjectMember) bool { return c.goes(memberName(m)) }))
	}
	return spaceOf(members[i].Name.BeforeExtra)
}

// spaceOf returns the line break and the indentation of the next token, or the space before it on the same line.
func spaceOf(extra hujson.Extra) string {
	s := string(extra)
	n := strings.LastIndexByte(s, '\n')
	if n < 0 {
		return s[len(strings.TrimRight(s, " \t\r")):]
	}
	indent := s[n+1:]
	indent = indent[:len(indent)-len(strings.TrimLeft(indent, " \t"))]
	if n > 0 && s[n-1] == '\r' {
		return "\r\n" + indent
	}
	return "\n" + indent
}

// member returns a member with the space before it. It stands on lines of its own if that has a line break.
func (e objectEdit) member(entry Entry, lead string) (hujson.ObjectMember, error) {
	text := entry.Value
	if i := strings.LastIndexByte(lead, '\n'); i >= 0 {
		indent := lead[i+1:]
		unit := "  "
		if closing := spaceOf(e.object.AfterExtra); strings.HasPrefix(lead, closing) && len(closing) < len(lead) && closing != "" {
			unit = lead[len(closing):]
		}
		var b bytes.Buffer
		if err := json.Indent(&b, text, indent, unit); err != nil {
			return hujson.ObjectMember{}, &Error{Msg: "not JSON"}
		}
		text = bytes.ReplaceAll(b.Bytes(), []byte("\n"), []byte(e.newline))
	}
	value, err := hujson.Parse(text)
	if err != nil {
		return hujson.ObjectMember{}, &Error{Msg: "not JSON"}
	}
	value.BeforeExtra = hujson.Extra(" ")
	name := hujson.Value{BeforeExtra: hujson.Extra(lead), Value: hujson.Literal(rawjson.Quote(entry.Name))}
	return hujson.ObjectMember{Name: name, Value: value}, nil
}

// newlineOf returns how lines end in a text.
func newlineOf(src []byte) string {
	if bytes.Contains(src, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}
