package detect

import (
	"cmp"
	"slices"
)

// CanaryKind is the kind of findings of canaries.
const CanaryKind Kind = "canary"

// canaryRules are of values that the operator has put where nobody should have them from, in any case of ASCII letters.
func canaryRules(values []string) (all []Rule) {
	for _, value := range values {
		anchor := string(lowered([]byte(value)))
		all = append(all, Rule{
			Kind: CanaryKind, Name: "canary of the operator's", Class: Canary, Confidence: High, Source: "docs/detection.md", anchors: []string{anchor},
			find: func(_ *scan, v *view, start, end int) (m match, ok bool) {
				ok = start >= 0 && equal(v.text[start:end], anchor, true)
				return match{start: start, end: end, secret: start, last: end, confidence: High}, ok
			},
		})
	}
	return all
}

// searches adds the findings of further searches in a view.
func searches(w *scan, v *view) {
	for _, search := range w.s.further {
		if !w.spend(len(v.text)) {
			return
		}
		for _, f := range search(v.text) {
			m := match{start: f.Offset, end: f.end(), secret: f.ValueOffset, last: f.valueEnd()}
			if m.start < 0 || m.start > m.secret || m.secret >= m.last || m.last > m.end || m.end > len(v.text) {
				continue
			}
			if v.open && m.start == 0 || v.goes && m.end == len(v.text) || !w.room(f.Class, f.Confidence) {
				continue
			}
			f.Digest, f.Layers = digest(w.salt, v.text[m.secret:m.last]), slices.Clone(f.Layers)
			w.add(v, f, m)
		}
	}
}

// Placed returns findings in a text that something else has searched, in the order of their places, with digests and
// members. Findings outside of the text are left out.
func Placed(text []byte, form Form, salt []byte, found []Finding) []Finding {
	found = slices.DeleteFunc(slices.Clone(found), func(f Finding) bool { return f.Offset < 0 || f.Size <= 0 || f.Size > len(text)-f.Offset })
	for i := range found {
		f := &found[i]
		f.ValueOffset, f.ValueSize, f.Digest = f.Offset, f.Size, digest(salt, text[f.Offset:f.end()])
	}
	slices.SortStableFunc(found, func(a, b Finding) int { return cmp.Compare(a.Offset, b.Offset) })
	if form == JSON {
		Locate(text, true, found)
	}
	return found
}

// Unescaped returns a JSON text without the escapes of its strings, and a function that returns the span of the text
// from which a span of the result comes. Programs that search the result read it as an agent does.
func Unescaped(text []byte) (plain []byte, at func(start, end int) (from, to int)) {
	var marks []mark
	for from := 0; from < len(text); {
		buf, inner, next := flatten(nil, nil, text, from, jsonEscapes)
		for _, m := range inner {
			marks = append(marks, mark{m.at + len(plain), m.from})
		}
		plain, from = append(plain, buf...), next
	}
	v := view{text: plain, marks: marks, rate: rate{1, 1}, from: &view{text: text}}
	return plain, func(start, end int) (from, to int) { return v.root(start), v.rootEnd(end) }
}
