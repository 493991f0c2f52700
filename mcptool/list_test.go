package mcptool

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/contract"
)

// A client reads every hint that an author declares.
func TestNoHintIsLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hint := func() contract.Hint { return contract.Hint(rapid.IntRange(0, 2).Draw(t, "hint")) }
		want := contract.Contract{
			ReadOnly: hint(), Destructive: hint(), Idempotent: hint(), OpenWorld: hint(), Malicious: hint(),
			RequiresReview: hint(), Trusted: hint(),
			Output:    contract.Output{Unsafe: hint(), Secret: hint(), Private: hint(), Sensitive: hint()},
			Operation: contract.Operation{AIProcessing: hint(), Slow: hint(), Costly: hint(), Privileged: hint(), Reversible: hint()},
		}
		tool, err := writeTool([]byte(`{"name":"t"}`), want)
		if err != nil {
			t.Fatal(err)
		}
		got, defects := annotation.ReadTool(tool)
		if diff := cmp.Diff(want, got); diff != "" || defects != nil {
			t.Fatalf("%s\n%s%v", tool, diff, defects)
		}
	})
}
