package provenance

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Property: an index that takes in a document once says of every value the same as one that takes it in each time,
// as long as that one forgets no place; and it never charges more.
func TestDocumentsThatComeAgain(t *testing.T) {
	kinds := rapid.SampledFrom([]Kinds{Trusted, Untrusted, Trusted | Private, Untrusted | Private})
	rapid.Check(t, func(t *rapid.T) {
		sources, docs := make([]Source, 3), make([]string, 3)
		for i := range docs {
			words := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{3,9}`), 1, 12, rapid.ID[string]).Draw(t, "words")
			sources[i] = Source{fmt.Sprint("mcp://s/", rapid.IntRange(0, 1).Draw(t, "source")), kinds.Draw(t, "kinds")}
			docs[i] = fmt.Sprintf(`{"text":%q}`, strings.Join(words, " "))
		}
		once, each := New(Options{}), New(Options{})
		for _, i := range rapid.SliceOfN(rapid.IntRange(0, 2), 1, alike).Draw(t, "order") {
			once.AddJSON(sources[i], []byte(docs[i]))
			each.data.added = nil
			each.AddJSON(sources[i], []byte(docs[i]))
		}
		of := func(m Match) [2]int { return [2]int{m.Start, m.End} }
		value := docs[rapid.IntRange(0, 2).Draw(t, "value")]
		from := rapid.IntRange(0, len(value)-1).Draw(t, "from")
		value = value[from:rapid.IntRange(from, len(value)).Draw(t, "to")]
		got, want := once.Trace(value), each.Trace(value)
		if got.From != want.From || got.Whole != want.Whole || got.Bits > want.Bits || got.Known > want.Known ||
			!slices.EqualFunc(got.Matches, want.Matches, func(a, b Match) bool { return of(a) == of(b) && a.Source == b.Source && a.How == b.How }) {
			t.Fatalf("%q: %+v, want %+v", value, got, want)
		}
	})
}

// A document is added again once more text than it has itself came after it, or another source tells it.
func TestDocumentsComeAgainLater(t *testing.T) {
	x := New(Options{})
	page, other := Source{"page", Untrusted}, Source{"other", Untrusted}
	long := []byte(`{"text":"` + strings.Repeat("some words of a page ", 100) + `"}`)
	adds := func(s Source, doc []byte) bool {
		before := x.data.end()
		x.AddJSON(s, doc)
		return x.data.end() > before
	}
	for i, c := range []struct {
		source Source
		doc    []byte
		adds   bool
	}{
		{page, long, true},
		{page, long, false},
		{page, []byte(`{"text":"something short"}`), true},
		{page, long, false},
		{other, long, true},
		{page, []byte(`{"text":"something short too"}`), true},
		{page, long, true},
		{page, long, false},
		{page, long[:len(long)-1], true},
	} {
		if got := adds(c.source, c.doc); got != c.adds {
			t.Errorf("document %d is added: %v", i, got)
		}
	}
	x.data.drop(x.data.end() - x.data.base - 10) // as when the shelf is full
	if !adds(page, long[:len(long)-1]) {
		t.Error("a document that is not on the shelf any more is not added")
	}
}
