package program

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/vault"
)

// A hidden is a value that the program has not read: parts of documents and text in a row. Only read tells
// anything of it.
type hidden struct {
	run   observer
	parts []part
}

// An observer is told which values a program reads, and that it ends.
type observer interface {
	saw(h *hidden)
	stop(k Kind)
}

// A part is text of the program, or a part of a result.
type part struct {
	text    string
	of      *Value // nil for text of the program
	pointer string // in the document
}

// maxParts bounds the parts of one value.
const maxParts = 256

var (
	errRead    = errors.New("a hidden value has no such operation: use read() on it first")
	errKey     = errors.New("a hidden value has parts by names and by numbers from 0")
	errParts   = errors.New("a hidden value is joined of too many parts")
	errMissing = errors.New("not in the hidden value")
)

// raw returns the JSON of the value. The caller accounts for its sources.
func (h *hidden) raw() (json.RawMessage, error) {
	if len(h.parts) == 1 && h.parts[0].of != nil {
		return vault.Select(h.parts[0].of.Document, h.parts[0].pointer)
	}
	var b strings.Builder
	for _, p := range h.parts {
		text := p.text
		if p.of != nil {
			raw, err := vault.Select(p.of.Document, p.pointer)
			if err != nil {
				return nil, err
			}
			var ok bool
			if text, ok = rawjson.String(raw); !ok {
				return nil, errMissing
			}
		}
		if b.Len()+len(text) > MaxOutput {
			return nil, errTooLong
		}
		b.WriteString(text)
	}
	return rawjson.Quote(b.String()), nil
}

// read returns the value, on which everything in the program may depend from now on. If there is none, the program
// ends.
func (h *hidden) read() starlark.Value {
	h.run.saw(h)
	raw, err := h.raw()
	if err != nil {
		h.run.stop(Hidden)
		return starlark.None
	}
	v, err := decode(raw)
	if err != nil {
		h.run.stop(Hidden)
		return starlark.None
	}
	return v
}

// Get selects a part, and does not look whether it is there.
func (h *hidden) Get(key starlark.Value) (starlark.Value, bool, error) {
	if len(h.parts) != 1 || h.parts[0].of == nil {
		return nil, false, errRead
	}
	name := ""
	switch key := key.(type) {
	case starlark.String:
		name = string(key)
	case starlark.Int:
		n, ok := key.Uint64()
		if !ok {
			return nil, false, errKey
		}
		name = strconv.FormatUint(n, 10)
	default:
		return nil, false, errKey
	}
	from := h.parts[0]
	from.pointer += rawjson.Pointer(name)
	if len(from.pointer) > 4096 {
		return nil, false, errParts
	}
	return &hidden{h.run, []part{from}}, true, nil
}

// Binary joins texts. Other operators have read both sides before.
func (h *hidden) Binary(op syntax.Token, y starlark.Value, side starlark.Side) (starlark.Value, error) {
	if op != syntax.PLUS {
		return nil, errRead
	}
	var more []part
	switch y := y.(type) {
	case starlark.String:
		more = []part{{text: string(y)}}
	case *hidden:
		more = y.parts
	default:
		if side == starlark.Left {
			return starlark.Binary(op, h.read(), y)
		}
		return starlark.Binary(op, y, h.read())
	}
	if len(h.parts)+len(more) > maxParts {
		return nil, errParts
	}
	if side == starlark.Left {
		return &hidden{h.run, append(append([]part{}, h.parts...), more...)}, nil
	}
	return &hidden{h.run, append(append([]part{}, more...), h.parts...)}, nil
}

// CompareSameType compares the values, which reads both.
func (h *hidden) CompareSameType(op syntax.Token, y starlark.Value, depth int) (bool, error) {
	return starlark.CompareDepth(op, h.read(), y.(*hidden).read(), depth-1)
}

func (h *hidden) Truth() starlark.Bool  { return h.read().Truth() }
func (h *hidden) Type() string          { return "hidden" }
func (h *hidden) Freeze()               {}
func (h *hidden) Hash() (uint32, error) { return 0, errRead }

// String returns the text of the value, without the quotes of one that is a text.
func (h *hidden) String() string {
	v := h.read()
	if s, ok := starlark.AsString(v); ok {
		return s
	}
	return v.String()
}

func (h *hidden) Len() int { return max(starlark.Len(h.read()), 0) }

// Iterate reads the value. The program ends if that has no elements.
func (h *hidden) Iterate() starlark.Iterator {
	if it := starlark.Iterate(h.read()); it != nil {
		return it
	}
	h.run.stop(Hidden)
	return new(starlark.List).Iterate()
}

var (
	_ starlark.Mapping    = (*hidden)(nil)
	_ starlark.HasBinary  = (*hidden)(nil)
	_ starlark.Comparable = (*hidden)(nil)
	_ starlark.Sequence   = (*hidden)(nil)
)

// plain returns a value without hidden ones, which are read; a value without any is returned itself.
func plain(v starlark.Value, depth int) (starlark.Value, error) {
	if depth == 0 {
		return nil, errTooDeep
	}
	switch v := v.(type) {
	case *hidden:
		return v.read(), nil
	case *starlark.List, starlark.Tuple:
		all := v.(starlark.Indexable)
		out, changed := make([]starlark.Value, all.Len()), false
		for i := range out {
			e := all.Index(i)
			p, err := plain(e, depth-1)
			if err != nil {
				return nil, err
			}
			out[i], changed = p, changed || !same(p, e)
		}
		if !changed {
			return v, nil
		}
		if _, ok := v.(starlark.Tuple); ok {
			return starlark.Tuple(out), nil
		}
		return starlark.NewList(out), nil
	}
	return v, nil
}

// same reports whether plain returned the value itself: only lists, tuples and hidden values have another.
func same(p, v starlark.Value) bool {
	switch v := v.(type) {
	case *hidden:
		return false
	case *starlark.List:
		l, ok := p.(*starlark.List)
		return ok && l == v
	case starlark.Tuple:
		t, ok := p.(starlark.Tuple)
		return ok && len(t) == len(v) && (len(t) == 0 || &t[0] == &v[0])
	}
	return true
}
