package record

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/weir-mcp/weir/label"
)

// An encoder writes events as encoding/json would, without HTML escapes, but does not look at their type anew for each
// of them, nor at a label that it has just written: the label of a session is in every decision, and may be long.
type encoder struct {
	buf  []byte
	last label.Label // the label that was written last
	text []byte      // its member; nil if none was
	err  error
}

// encode returns the event as a line. It is valid until the next call.
func (e *encoder) encode(v *Event) ([]byte, error) {
	e.err = nil
	e.buf = strconv.AppendInt(append(e.buf[:0], `{"v":`...), int64(v.V), 10)
	e.always("id", v.ID)
	e.buf = append(v.Time.AppendFormat(append(e.buf, `,"time":"`...), time.RFC3339Nano), '"')
	e.always("kind", string(v.Kind))
	for _, member := range [...]struct{ name, value string }{
		{"session", v.Session}, {"parent", v.Parent}, {"principal", v.Principal}, {"call", v.Call}, {"server", v.Server},
		{"method", v.Method}, {"name", v.Name}, {"phase", v.Phase}, {"effect", v.Effect}, {"decided", v.Decided}, {"rule", v.Rule},
	} {
		e.member(member.name, member.value)
	}
	if len(v.Matched) > 0 {
		e.json("matched", v.Matched)
	}
	for _, member := range [...]struct{ name, value string }{
		{"message", v.Message}, {"where", v.Where}, {"arguments", v.Arguments}, {"binding", v.Binding},
	} {
		e.member(member.name, member.value)
	}
	if v.Label != nil {
		e.label(*v.Label)
	}
	if len(v.Facts) > 0 {
		e.name("facts")
		e.buf = append(e.buf, v.Facts...)
	}
	if v.Content != nil {
		e.content(v.Content)
	}
	if len(v.Evidence) > 0 {
		e.json("evidence", v.Evidence)
	}
	e.buf = append(e.buf, "}\n"...)
	return e.buf, e.err
}

// content writes the kept parts of arguments and answer. The digests are text that needs no escapes.
func (e *encoder) content(c *Content) {
	if !isPlain(c.Salt) || !isPlain(c.Answer) {
		e.json("content", c)
		return
	}
	e.buf = append(append(append(e.buf, `,"content":{"salt":"`...), c.Salt...), '"')
	e.member("answer", c.Answer)
	if len(c.Fields) > 0 {
		e.json("fields", c.Fields)
	}
	if c.Detection != nil {
		e.json("detection", c.Detection)
	}
	e.buf = append(e.buf, '}')
}

// label writes the event's label.
func (e *encoder) label(l label.Label) {
	if e.text != nil && l.Equal(e.last) {
		e.buf = append(e.buf, e.text...)
		return
	}
	before := len(e.buf)
	if e.json("label", l); e.err == nil {
		e.last, e.text = l, append(e.text[:0], e.buf[before:]...)
	}
}

// member writes a member unless it is empty.
func (e *encoder) member(name, value string) {
	if value != "" {
		e.always(name, value)
	}
}

// always writes a member.
func (e *encoder) always(name, value string) {
	if !isPlain(value) {
		e.json(name, value)
		return
	}
	e.name(name)
	e.buf = append(append(append(e.buf, '"'), value...), '"')
}

func (e *encoder) name(name string) {
	e.buf = append(append(append(e.buf, `,"`...), name...), `":`...)
}

// json writes a member of any type.
func (e *encoder) json(name string, value any) {
	e.name(name)
	b := bytes.NewBuffer(e.buf)
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		e.err = err
	}
	e.buf = bytes.TrimSuffix(b.Bytes(), []byte{'\n'})
}

// isPlain reports whether a string is its own text in JSON.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
