package rawjson

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrNotObject says that a path leads through a value that has no members.
var ErrNotObject = errors.New("not an object")

// Set returns a copy of data with the value at the path replaced, or added as the last member of its object, with the
// objects on the way made as needed. All other bytes stay as they are. The empty path replaces the document's value.
// The error is [ErrNotObject], with the path, if a value on the way is there but is no object. The value is spliced in
// as it is: it must be one JSON value. Names on the path must be UTF-8.
func Set(data, value []byte, path ...string) ([]byte, error) {
	return Edit(data, func([]byte) ([]byte, error) { return value, nil }, path...)
}

// Edit is [Set] for a value that follows from the one before, in one scan: edit gets the value at the path, nil if
// there is none, and returns the new one. If that is nil, or edit returns an error, Edit returns data itself.
func Edit(data []byte, edit func(old []byte) ([]byte, error), path ...string) ([]byte, error) {
	at := span{start: skipSpace(data, 0)}
	var old, lead []byte // lead is the text before a value that is added
	if len(path) == 0 {
		var ok bool
		if at, ok = root(data); !ok {
			return data, fmt.Errorf("document: %w", ErrNotObject)
		}
		old = at.of(data)
	}
	for depth, name := range path {
		s, found := find(data, at.start, name)
		if found {
			at, old = s.value, s.value.of(data)
			continue
		}
		switch {
		case s.closing < 0:
			return data, fmt.Errorf("%s: %w", where(path[:depth]), ErrNotObject)
		case s.before < 0:
			at = span{at.start + 1, at.start + 1}
		default:
			at, lead = span{s.before, s.before}, []byte{','}
		}
		old, path = nil, path[depth:]
		break
	}
	value, err := edit(old)
	if err != nil || value == nil {
		return data, err
	}
	if old == nil {
		value = addition(lead, path, value)
	}
	return splice(data, at, value), nil
}

// addition appends the text of a new member to dst: the path as nested objects, the value.
func addition(dst []byte, path []string, value []byte) []byte {
	size := len(value)
	for _, name := range path {
		size += len(name) + len(`,"":{}`)
	}
	dst = slices.Grow(dst, size)
	for i, name := range path {
		if i > 0 {
			dst = append(dst, '{')
		}
		dst = append(AppendQuote(dst, name), ':')
	}
	dst = append(dst, value...)
	for range path[1:] {
		dst = append(dst, '}')
	}
	return dst
}

// Open returns an object without its closing brace and the white space around that, which are the bytes that [Add] may
// write over. It returns nil for anything else.
func Open(data []byte) []byte {
	end := bytes.TrimRight(data, space)
	if Kind(data) != '{' || end[len(end)-1] != '}' {
		return nil
	}
	return bytes.TrimRight(end[:len(end)-1], space)
}

// Add appends a member to an object that is known to have none of that name. Unlike [Set] it does not scan the
// document. It writes into data if that has room behind its end, as append does; anything that is no object is an
// error.
func Add(data, value []byte, name string) ([]byte, error) {
	end := Open(data)
	if end == nil {
		return data, fmt.Errorf("document: %w", ErrNotObject)
	}
	lead := []byte{','}
	if end[len(end)-1] == '{' && len(bytes.TrimLeft(end, space)) == 1 {
		lead = nil
	}
	member := append(addition(lead, []string{name}, value), '}')
	if cap(data)-len(end) < len(member) {
		return bytes.Join([][]byte{end, member}, nil), nil
	}
	return append(data[:len(end)], member...), nil
}

// Delete returns a copy of data without the member at the path and the comma that parted it from the next member, or
// if it was the last, from the one before. All other bytes stay as they are. If there is no such member, or the path is
// empty, it returns data itself.
func Delete(data []byte, path ...string) []byte {
	if len(path) == 0 {
		return data
	}
	object, ok := locate(data, path[:len(path)-1])
	if !ok {
		return data
	}
	s, ok := find(data, object.start, path[len(path)-1])
	if !ok {
		return data
	}
	gone := span{s.name.start, s.value.end}
	if comma := skipSpace(data, gone.end); comma < len(data) && data[comma] == ',' {
		gone.end = comma + 1
	} else if s.before >= 0 {
		gone.start = skipSpace(data, s.before)
	}
	return splice(data, gone, nil)
}

// splice returns data with one part replaced. Join, unlike make, does not clear the memory first.
func splice(data []byte, at span, value []byte) []byte {
	return bytes.Join([][]byte{data[:at.start], value, data[at.end:]}, nil)
}

// where names a path in errors, as "_meta.annotations".
func where(path []string) string {
	if len(path) == 0 {
		return "document"
	}
	return strings.Join(path, ".")
}
