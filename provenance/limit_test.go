package provenance_test

import (
	"strings"
	"testing"

	"github.com/weir-mcp/weir/provenance"
)

// Of a large document the beginning is known, and what is not is nobody's.
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
