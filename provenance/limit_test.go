package provenance_test

import (
	"strings"
	"testing"

	"github.com/weir-mcp/weir/provenance"
)

// Of a large document the beginning is known, and the rest has no source.
func TestLargeDocuments(t *testing.T) {
	x := provenance.New(provenance.Options{})
	doc := `{"first":"the quick brown fox","filler":"` + strings.Repeat("lorem ipsum ", provenance.MaxDocument/12) + `","last":"jumped over lazy dogs"}`
	x.AddJSON(provenance.Source{URI: "mcp://s/t", Kinds: provenance.Trusted}, []byte(doc))
	if from := x.Trace("the quick brown fox").From; from != provenance.Trusted {
		t.Errorf("the beginning is %v", from)
	}
	if from := x.Trace("jumped over lazy dogs").From; from != provenance.Novel || x.Complete() {
		t.Errorf("the end is %v, complete %t", from, x.Complete())
	}
}

// TestRepeats holds that text that comes again and again does not push out of the index text that came once.
func TestRepeats(t *testing.T) {
	for _, name := range []string{"byron@mail.example", "ada.king@mail.example", "www.shop.example/a"} {
		x := provenance.New(provenance.Options{})
		const said = "brbpjpzb bbbbb bbbbb"
		x.Add(page, said)
		for range 40 {
			x.Add(listing, name+" ")
		}
		if got := x.Trace(said); got.From != provenance.Untrusted {
			t.Errorf("beside %s it is from %q: %+v", name, got.From, got.Matches)
		}
	}
}
