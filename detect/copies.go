package detect

import (
	"bytes"
	"cmp"
	"slices"
	"sort"
	"strings"
	"sync"
)

// Bounds of copies of values, in bytes.
const (
	leastCopy  = 8  // a shorter one stands in other text by chance
	copyAnchor = 32 // of a value, by which its copies are found
)

// A literal is a value that was found, as some form of the text has it.
type literal struct {
	value string
	of    Finding
}

// plainScanner has the forms of a text read out.
var plainScanner = sync.OnceValue(New)

// Copies returns findings of the same values at other places of a text, in any encoding: a rule may know a value by
// the name beside it, which its copies need not have. The findings are those of a scan of this text in this form. It
// reports false if a part of the text was not read.
func Copies(text []byte, form Form, found []Finding) (all []Finding, ok bool) {
	known := literals(text, form, found)
	if len(known) == 0 {
		return nil, true
	}
	s := newScanner(newTables(copyRules(known), nil, nil))
	s.only = true
	report := s.Scan(text, form, nil)
	return slices.DeleteFunc(report.Findings, func(f Finding) bool {
		return slices.ContainsFunc(found, func(k Finding) bool { return k.ValueOffset <= f.ValueOffset && f.valueEnd() <= k.valueEnd() })
	}), !report.Cut
}

// copyRules are of literals.
func copyRules(known []literal) (rules []Rule) {
	for _, l := range known {
		anchor := l.value[:min(len(l.value), copyAnchor)]
		r := Rule{Kind: l.of.Kind, Name: "copy of a value", Class: l.of.Class, Confidence: l.of.Confidence}
		r.anchors = []string{string(lowered([]byte(anchor)))}
		r.find = func(_ *scan, v *view, start, _ int) (m match, ok bool) {
			end := start + len(l.value)
			ok = start >= 0 && end <= len(v.text) && string(v.text[start:end]) == l.value
			return match{start: start, end: end, secret: start, last: end, confidence: l.of.Confidence}, ok
		}
		rules = append(rules, r)
	}
	return rules
}

// literals returns the values of findings as the forms of the text have them.
func literals(text []byte, form Form, found []Finding) (all []literal) {
	seen := map[string]bool{}
	each := func(v *view) {
		for _, f := range found {
			start := sort.Search(len(v.text), func(i int) bool { return v.root(i) >= f.ValueOffset })
			end := sort.Search(len(v.text), func(i int) bool { return v.rootEnd(i) >= f.valueEnd() })
			if end-start < leastCopy || v.root(start) != f.ValueOffset || v.rootEnd(end) != f.valueEnd() {
				continue
			}
			if value := string(v.text[start:end]); !seen[value] && strings.TrimSpace(value) != "" {
				seen[value] = true
				all = append(all, literal{value, f})
			}
		}
	}
	plainScanner().scan(text, form, nil, Named{}, each)
	slices.SortStableFunc(all, func(a, b literal) int { return cmp.Compare(len(b.value), len(a.value)) })
	return all[:min(len(all), 2*maxFindings)]
}

// root returns the place in the whole text that a byte of the view comes from.
func (v *view) root(at int) int {
	for ; v.from != nil; v = v.from {
		at = v.origin(at)
	}
	return at
}

// rootEnd returns the end of the span in the whole text that a span of the view comes from, by its end.
func (v *view) rootEnd(end int) int {
	for ; v.from != nil; v = v.from {
		end = v.originEnd(end)
	}
	return end
}

// Marked returns the text with marks before and after the span of each finding, and all other bytes as they are. The
// marks are ASCII without quotes and backslashes. JSON stays JSON of the same shape: a span of several strings has
// marks in each, and one in an encoded member for binary data has none.
func Marked(text []byte, form Form, found []Finding, before, after string) []byte {
	spans := slices.DeleteFunc(slices.Clone(found), Finding.binary)
	slices.SortStableFunc(spans, func(a, b Finding) int { return cmp.Compare(a.Offset, b.Offset) })
	var out []byte
	copied, inside := 0, false
	put := func(at int, mark string) {
		out = append(append(out, text[copied:at]...), mark...)
		copied, inside = at, !inside
	}
	last := 0 // the end of the unit before
	eachUnit(text, form, func(u unit) {
		for len(spans) > 0 && spans[0].end() <= u.start {
			spans = spans[1:]
		}
		marked := false
		for i := 0; i < len(spans) && spans[i].Offset < u.end && !marked; i++ {
			marked = u.kind == character && u.of(spans[i].Offset, spans[i].end())
		}
		switch {
		case marked && !inside:
			put(u.start, before)
		case !marked && inside:
			put(last, after)
		}
		last = u.end
	})
	if inside {
		put(last, after)
	}
	return append(out, text[copied:]...)
}

// binary reports whether a finding stands in the encoded data of a member that programs decode.
func (f Finding) binary() bool {
	return len(f.Layers) > 0 && f.Layers[0] == Base64 && (strings.HasSuffix(f.Path, "/blob") || strings.HasSuffix(f.Path, "/data"))
}

// wholeString returns the span of the string of base64 that a place is in; ok is false if it is no such string.
func wholeString(text []byte, start, end int) (from, to int, ok bool) {
	digit := func(c byte) bool { return base64Value[c] <= 63 || c == '=' }
	for from = start; from > 0 && digit(text[from-1]); from-- {
	}
	for to = end; to < len(text) && digit(text[to]); to++ {
	}
	return from, to, from > 0 && to < len(text) && text[from-1] == '"' && text[to] == '"' && bytes.IndexByte(text[start:end], '"') < 0
}
