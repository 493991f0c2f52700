// Package rawjson reads and edits JSON documents in place: it is the one scanner of JSON in Weir.
//
// A gateway must decide on the same reading of a message that the next parser will have, and must hand on every byte
// that it does not mean to change. So documents stay raw. [Check] looks at the whole of a document once, when it comes
// in, and refuses documents that parsers read differently: duplicate member names, bad UTF-8 (a lone surrogate escape
// included), text after the value, and nesting deeper than [MaxDepth]. After that [Get], [Members] and [Elements] find
// values without copying them, and [Set], [Edit] and [Delete] splice:
//
//	err := rawjson.Check(data)
//	hint, ok := rawjson.Get(data, "_meta", "annotations", "openWorldHint")
//	data, err = rawjson.Set(data, []byte("true"), "_meta", "annotations", "openWorldHint")
//
// Everything but Check takes a document that passed Check and does not validate it again. A document that did not
// pass gives an answer without meaning, but never a panic, a read out of bounds, or work beyond one scan.
//
// Member names are compared after unescaping, everywhere: "\u006eame" is "name". Functions never change their
// arguments; slices that they return may alias them. Everything is safe for concurrent use.
package rawjson

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Kind returns the kind of a value by the first byte of its text: '{', '[', '"', 't', 'f' or 'n', and '0' for any
// number. It returns 0 for anything else.
func Kind(data []byte) byte {
	i := skipSpace(data, 0)
	if i >= len(data) {
		return 0
	}
	switch c := data[i]; {
	case c == '-' || '0' <= c && c <= '9':
		return '0'
	case strings.IndexByte(`{["tfn`, c) >= 0:
		return c
	}
	return 0
}

// Bool returns the value of a boolean, and false if data is something else.
func Bool(data []byte) (v, ok bool) {
	switch string(bytes.Trim(data, space)) {
	case "true":
		return true, true
	case "false":
		return false, true
	}
	return false, false
}

// String returns the text of a string, unescaped, and false if data is something else.
func String(data []byte) (s string, ok bool) {
	text, ok := Text(data)
	return string(text), ok
}

// Text is [String] without a copy: the text may be a part of data.
func Text(data []byte) (text []byte, ok bool) {
	data = bytes.Trim(data, space)
	if len(data) < 2 || data[0] != '"' || skipString(data, 0) != len(data) {
		return nil, false
	}
	return unescape(data)
}

// unquote returns the text of a string literal.
func unquote(literal []byte) (s string, ok bool) {
	text, ok := unescape(literal)
	return string(text), ok
}

// unescape is unquote without a copy.
func unescape(literal []byte) (text []byte, ok bool) {
	if body := literal[1 : len(literal)-1 : len(literal)-1]; bytes.IndexByte(body, '\\') < 0 {
		return body, true
	}
	text, err := jsontext.AppendUnquote(nil, literal)
	return text, err == nil
}

// Quote returns s as a JSON string, with no escapes but those that JSON demands (RFC 8785, 3.2.2.2). Bytes that are
// not UTF-8 become U+FFFD.
func Quote(s string) []byte { return AppendQuote(make([]byte, 0, len(s)+2), s) }

// AppendQuote appends the text of [Quote] to dst.
func AppendQuote(dst []byte, s string) []byte {
	// The error says that s was not UTF-8; the result is whole in any case.
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}
