package provenance_test

import (
	"fmt"

	"github.com/weir-mcp/weir/provenance"
)

func ExampleIndex_Trace() {
	x := provenance.New(provenance.Options{})
	x.AddUser("pay Ada Byron 20 euros")
	x.AddJSON(provenance.Source{URI: "mcp://bank/history", Kinds: provenance.Untrusted}, []byte(`{"from":"Mallory Smith"}`))
	for _, payee := range []string{"Ada Byron", "Mallory Smith", "Grace Hopper"} {
		fmt.Println(payee, x.Trace(payee).From)
	}
	// Output:
	// Ada Byron user
	// Mallory Smith untrusted
	// Grace Hopper novel
}
