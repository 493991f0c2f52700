package contract_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/label"
)

// Each preset says the same in the vocabularies, whatever its author adds, and promises nothing about sets that nobody
// gave it.
func TestPresetsAreReadAsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		to := rapid.SliceOfDistinct(rapid.SampledFrom(contract.Destinations()), rapid.ID).Draw(t, "to")
		from := rapid.SliceOfDistinct(rapid.SampledFrom(label.Sources()), rapid.ID).Draw(t, "from")
		classes := rapid.SliceOfDistinct(rapid.SampledFrom([]label.Class{label.User, label.PII, label.Financial, label.Credentials, label.RegulatedBy("GDPR")}), rapid.ID).Draw(t, "classes")
		c := rapid.SampledFrom([]contract.Contract{
			contract.Reads(from...), contract.Reads(from...).To(to...), contract.Writes(to...), contract.Writes(to...).From(from...), contract.Sends(to...),
			contract.Sends(to...).Accepting(classes...), contract.Reads(from...).Returning(classes...),
		}).Draw(t, "preset")
		raw, err := annotation.WriteTool([]byte(`{}`), c)
		if err != nil {
			t.Fatal(err)
		}
		if read, defects := annotation.ReadTool(raw); !read.Equal(c) || len(defects) > 0 {
			t.Fatalf("%v\nis read as\n%v %v", c, read, defects)
		}
		if to, known := c.Destinations.Known(); !known && c.OpenWorld != contract.Unknown || known && to.Has(contract.Public) != (c.OpenWorld == contract.Yes) {
			t.Fatalf("%v: openWorldHint and destinations contradict each other", c)
		}
	})
	worst := contract.Pessimistic()
	for name, c := range map[string]contract.Contract{"writes": contract.Writes().Assume(), "sends": contract.Sends().Assume()} {
		if !c.Destinations.Equal(worst.Destinations) || c.OpenWorld != contract.Yes {
			t.Errorf("%s without a destination goes to %v", name, c.Destinations)
		}
	}
	if c := contract.Reads().Assume(); c.Sources.Has(label.Internal) {
		t.Errorf("a reader without a source reads %v", c.Sources)
	}
}
