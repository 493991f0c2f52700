package rawjson

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// A Fault is the reason why Check refuses a document.
type Fault uint8

// The faults. The zero Fault is BadSyntax.
const (
	BadSyntax     Fault = iota // not one JSON value
	BadUTF8                    // not UTF-8, or an escape for half a surrogate pair
	DuplicateName              // two members of one object have the same name
	TooDeep                    // nested deeper than MaxDepth
)

// String returns the name of the fault in a few words.
func (f Fault) String() string {
	return [...]string{"bad syntax", "bad UTF-8", "duplicate name", "nested too deep"}[min(f, TooDeep)]
}

// A SyntaxError says why Check refused a document.
type SyntaxError struct {
	Fault  Fault
	Offset int64  // index of the first byte that is wrong
	Reason string // bounded in length; quotations of the document are escaped
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("at byte %d: %s", e.Offset, e.Reason) }

// Check reports whether data is exactly one JSON value, with white space around it at most, in valid UTF-8, without two
// members of the same unescaped name in any object, and no deeper than [MaxDepth]. The error is a [*SyntaxError]. It
// costs one pass for a good document, and up to five for a bad one.
func Check(data []byte) error {
	c := checker{data: data}
	if c.check() {
		return nil
	}
	if at := tooDeep(data); at >= 0 {
		return &SyntaxError{TooDeep, int64(at), fmt.Sprintf("nested deeper than %d", MaxDepth)}
	}
	if jsontext.Value(data).IsValid() {
		return nil
	}
	err := read(data)
	if err.Fault != BadSyntax {
		return err
	}
	// Its UTF-8 is at fault if the same place is fine without regard to that.
	if later := read(data, jsontext.AllowInvalidUTF8(true)); later == nil || later.Offset > err.Offset {
		err.Fault = BadUTF8
	}
	return err
}

// read decodes a document that is not valid, for the reason; nil if the options allow it.
func read(data []byte, opts ...jsontext.Options) *SyntaxError {
	d := jsontext.NewDecoder(bytes.NewBuffer(data), opts...)
	_, err := d.ReadValue()
	if err == nil {
		if end := skipSpace(data, int(d.InputOffset())); end < len(data) {
			return &SyntaxError{BadSyntax, int64(end), "text after the value"}
		}
		return nil
	}
	var syntactic *jsontext.SyntacticError
	switch {
	case !errors.As(err, &syntactic): // io.EOF
		return &SyntaxError{BadSyntax, int64(len(data)), "empty document"}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &SyntaxError{BadSyntax, int64(len(data)), "unexpected end"}
	}
	if errors.Is(err, jsontext.ErrDuplicateName) {
		name := syntactic.JSONPointer.LastToken()
		return &SyntaxError{DuplicateName, syntactic.ByteOffset, fmt.Sprintf("duplicate name %.64q", name)}
	}
	return &SyntaxError{BadSyntax, syntactic.ByteOffset, fmt.Sprintf("%.100s", syntactic.Err)}
}

// tooDeep returns the index of the bracket that nests deeper than MaxDepth, or -1. It looks at brackets and strings
// only, which is exact for whatever is well formed.
func tooDeep(data []byte) int {
	for i, depth := 0, 0; i < len(data); i++ {
		what := nesting[data[i]]
		if what == neutral {
			continue
		}
		switch what {
		case quotes:
			if i = skipString(data, i) - 1; i < 0 {
				return -1
			}
		case opens:
			if depth++; depth > MaxDepth {
				return i
			}
		case closes:
			depth--
		}
	}
	return -1
}

// A Member is one member of an object: its name, unescaped, and its value without white space around it.
type Member struct {
	Name, Value []byte
	At          int // where Value begins in the document

	// Inside are the members of Value, if that is an object with few, and the whole document is so large that they
	// should not be looked for again; else nil.
	Inside []Member

	Bare bool // no object in Value has a member with a marked name, see [Names.Mark]; false also if that is not known
}

const (
	largeDocument = 64 << 10
	fewInside     = 64
)

// CheckMembers is [Check] and then, unless it refuses the document, what [Members] yields, in one pass over the
// document. It also reports whether the document may be odd: if it is false, no object at any depth has two names that
// fold to the same, and none has one that misspells one of the known names.
func CheckMembers(data []byte, known *Names) (_ []Member, odd bool, _ error) {
	var room [16]span
	c := checker{data: data, names: room[:0], outer: make([]Member, 0, 5), known: known}
	if c.check() {
		return c.outer, c.odd, nil
	}
	if err := Check(data); err != nil {
		return nil, false, err
	}
	var list []Member
	members(data, skipSpace(data, 0), func(m member) bool {
		name, ok := unquote(m.name.of(data))
		list = append(list, Member{Name: []byte(name), Value: m.value.of(data), At: m.value.start})
		return ok
	})
	return list, true, nil
}
