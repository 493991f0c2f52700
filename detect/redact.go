package detect

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// mostRounds is how often a text is read for findings that a report had no room for.
const mostRounds = 64

// Redact returns the text with the values of all findings that hide accepts, and all copies of them, replaced by
// placeholders, as [Redacted] does. It reports false, and returns nothing, if a part of the text was not read or it
// holds too many findings.
func (s *Scanner) Redact(text []byte, form Form, hide func(Finding) bool) (out []byte, ok bool) {
	for range mostRounds {
		report := s.Scan(text, form, nil)
		found := slices.DeleteFunc(report.Findings, func(f Finding) bool { return !hide(f) })
		if len(found) == 0 {
			return text, !report.Cut
		}
		more, read := Copies(text, form, found)
		if !read {
			return nil, false
		}
		text = Redacted(text, form, append(found, more...))
	}
	return nil, false
}

// Redacted returns the text with the value of each finding replaced by a placeholder with its kind,
// "[redacted:github-token]". All other bytes stay. JSON stays JSON of the same shape: only strings change, and a
// number that is a part of a value becomes 0. The findings are those of a scan of this text in this form.
func Redacted(text []byte, form Form, found []Finding) []byte {
	r := &redactor{text: text}
	for _, f := range found {
		if f.parts == nil {
			r.spans = append(r.spans, f)
		}
		for _, part := range f.parts {
			f.ValueOffset, f.ValueSize = part.start, part.end-part.start
			r.spans = append(r.spans, f)
		}
	}
	if form == JSON {
		for i := range r.spans {
			r.spans[i].widen(text)
		}
	}
	slices.SortStableFunc(r.spans, func(a, b Finding) int { return cmp.Compare(a.ValueOffset, b.ValueOffset) })
	eachUnit(text, form, r.unit)
	return append(r.out, text[r.copied:]...)
}

// A redactor writes a text with parts of it replaced.
type redactor struct {
	text   []byte
	spans  []Finding // by the places of their values
	out    []byte
	copied int  // how much of the text is in out
	open   bool // the last unit was replaced, and belongs to spans[0]
}

// unit replaces a unit if a value has bytes of it.
func (r *redactor) unit(u unit) {
	for len(r.spans) > 0 && r.spans[0].valueEnd() <= u.start {
		r.spans, r.open = r.spans[1:], false
	}
	i := -1
	for j := 0; j < len(r.spans) && r.spans[j].ValueOffset < u.end && i < 0; j++ {
		if u.of(r.spans[j].ValueOffset, r.spans[j].valueEnd()) {
			i = j
		}
	}
	if i < 0 || u.kind == structure {
		r.open = r.open && i >= 0 && u.kind != structure
		return
	}
	r.out = append(r.out, r.text[r.copied:u.start]...)
	r.copied = u.end
	switch {
	case u.kind == numeral:
		r.out = append(r.out, '0')
	case !r.open:
		r.out = append(r.out, r.spans[i].placeholder()...)
	}
	r.open = u.kind == character
}

// widen widens the value of a finding in the encoded data of a member to all of it, which cannot be decoded in parts.
func (f *Finding) widen(text []byte) {
	if !f.binary() {
		return
	}
	if from, to, ok := wholeString(text, f.ValueOffset, f.valueEnd()); ok {
		f.ValueOffset, f.ValueSize, f.Offset, f.Size, f.whole = from, to-from, from, to-from, true
	}
}

// placeholder returns the text in the place of a value, encoded as the whole member that it is of, if it is. It ends no
// string, however a program names its kinds.
func (f Finding) placeholder() string {
	text := "[redacted:" + strings.Map(kindByte, string(f.Kind)) + "]"
	if f.whole {
		return base64.StdEncoding.EncodeToString([]byte(text))
	}
	return text
}

// kindByte returns a character of a kind as placeholders have it.
func kindByte(r rune) rune {
	if r < utf8.RuneSelf && wordByte[r] || r == '.' || r == ':' {
		return r
	}
	return '-'
}

func (f Finding) valueEnd() int { return f.ValueOffset + f.ValueSize }

// A unit is a part of a text that is replaced whole or not at all.
type unit struct {
	start, end int
	kind       unitKind
	char       rune

	// alone is the string that the unit is of, if that is the name of a member or a single word, such as the type of a
	// block: findings that go beyond a name, or on both sides beyond a word, leave it as it is.
	alone span
	name  bool
}

// of reports whether a span has bytes of a unit that it may change: of a number, all.
func (u unit) of(start, end int) bool {
	if start >= u.end || end <= u.start || u.kind == numeral && (start > u.start || end < u.end) {
		return false
	}
	begins, ends := u.alone.start < start, end < u.alone.end
	return u.alone == span{} || begins && ends || !u.name && (begins || ends)
}

type unitKind uint8

const (
	character unitKind = iota // of a text or a string: of UTF-8, or an escape
	numeral                   // of JSON
	structure                 // of JSON, which stays
)

// eachUnit calls a function for each unit of a text. JSON in a string of JSON has units of its own, so that it stays
// JSON.
func eachUnit(text []byte, form Form, visit func(unit)) { eachInner(text, form, mostInnerUnits, visit) }

// mostInnerUnits is how deep JSON in strings has units of its own.
const mostInnerUnits = 4

func eachInner(text []byte, form Form, depth int, visit func(unit)) {
	inString, alone, name := form == Plain, span{}, false
	for i := 0; i < len(text); {
		start := i
		switch c := text[i]; {
		case form == JSON && c == '"':
			if inString, alone = !inString, (span{}); inString {
				alone, name = standsAlone(text, i)
			}
			i++
			visit(unit{start, i, structure, 0, span{}, false})
			if inString && depth > 0 {
				i += innerUnits(text, i, depth-1, visit)
			}
		case form == JSON && inString && c == '\\':
			r, n := backslash(text[i:])
			n = max(n, min(2, len(text)-i))
			i += n
			visit(unit{start, i, character, r, alone, name})
		case inString:
			r, n := utf8.DecodeRune(text[i:])
			i += n
			visit(unit{start, i, character, r, alone, name})
		case bytes.IndexByte([]byte("{}[]:, \t\r\n"), c) >= 0:
			i++
			visit(unit{start, i, structure, 0, span{}, false})
		default:
			for i < len(text) && bytes.IndexByte([]byte("{}[]:, \t\r\n\""), text[i]) < 0 {
				i++
			}
			visit(unit{start, i, kindOf(text[start:i]), 0, span{}, false})
		}
	}
}

// innerUnits visits the units of an object or an array in the string that begins at a place, and returns the size of
// the string, without its last quote; 0 if neither is in it.
func innerUnits(text []byte, start, depth int, visit func(unit)) (size int) {
	literal := text[start:max(start, stringEnd(text, start-1)-1)]
	if n := whiteSpace(literal); n == len(literal) || literal[n] != '{' && literal[n] != '[' {
		return 0
	}
	var inner []byte
	var from []int // where each byte of it begins
	for i := 0; i < len(literal); {
		r, n := rune(0), 1
		if literal[i] != '\\' {
			inner, from = append(inner, literal[i]), append(from, start+i)
		} else if r, n = backslash(literal[i:]); n > 0 {
			for inner = utf8.AppendRune(inner, r); len(from) < len(inner); {
				from = append(from, start+i)
			}
		} else {
			return 0
		}
		i += n
	}
	if !json.Valid(inner) {
		return 0
	}
	from = append(from, start+len(literal))
	eachInner(inner, JSON, depth, func(u unit) {
		u.start, u.end = from[u.start], from[u.end]
		if u.alone != (span{}) {
			u.alone = span{from[u.alone.start], from[u.alone.end]}
		}
		visit(u)
	})
	return len(literal)
}

// standsAlone returns the span of the string that begins at a quote, with its quotes, if it is the name of a member or
// a single word.
func standsAlone(text []byte, quote int) (s span, name bool) {
	end := stringEnd(text, quote)
	if name = isName(text, end); name || bytes.IndexByte(text[quote:end], ' ') < 0 {
		s = span{quote, end}
	}
	return s, name
}

// isName reports whether the string that ends at a place is the name of a member.
func isName(text []byte, end int) bool {
	for end < len(text) && space(text[end]) {
		end++
	}
	return end < len(text) && text[end] == ':'
}

// kindOf returns the kind of a word of JSON outside of strings.
func kindOf(word []byte) unitKind {
	switch string(word) {
	case "true", "false", "null":
		return structure
	}
	return numeral
}

// Strip returns the text without the characters that do not show, and all other bytes as they are. Joiners and
// variation selectors stay beside the characters beyond ASCII that they are meant for, one in a row.
func Strip(text []byte, form Form) []byte {
	var out []byte
	copied, before := 0, unit{char: ' '}
	drop := func(u unit) {
		out = append(out, text[copied:u.start]...)
		copied = u.end
	}
	var kept *unit // a joiner whose right neighbour is not known yet
	eachUnit(text, form, func(u unit) {
		hidden := u.kind == character && u.char != utf8.RuneError && shapeless(u.char)
		if kept != nil && (hidden || u.kind != character || u.char < utf8.RuneSelf) && !selects(kept.char) {
			drop(*kept)
		}
		kept = nil
		switch {
		case !hidden:
			before = u
		case (joiner(u.char) || selects(u.char)) && before.kind == character && before.end == u.start && before.char >= utf8.RuneSelf:
			kept = &u
		default:
			drop(u)
		}
	})
	if kept != nil && !selects(kept.char) {
		drop(*kept)
	}
	return append(out, text[copied:]...)
}

func joiner(r rune) bool  { return r == '\u200c' || r == '\u200d' }
func selects(r rune) bool { return r <= '\ufe0f' && unicode.Is(unicode.Variation_Selector, r) }

// Excerpt returns a part of a text, in which the value of each of these findings is replaced by a placeholder.
func Excerpt(text []byte, found []Finding, start, end int) string {
	start, end = max(start, 0), min(end, len(text))
	if start >= end {
		return ""
	}
	var hidden []Finding
	for _, f := range found {
		parts := f.parts
		if parts == nil {
			parts = []span{{f.ValueOffset, f.valueEnd()}}
		}
		for _, s := range parts {
			from, to := max(s.start, start), min(s.end, end)
			if from < to {
				hidden = append(hidden, Finding{Kind: f.Kind, ValueOffset: from - start, ValueSize: to - from})
			}
		}
	}
	return string(Redacted(text[start:end], Plain, hidden))
}
