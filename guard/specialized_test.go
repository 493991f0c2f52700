package guard

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/policy"
)

func toolFacts(name string, c contract.Contract) *policy.Facts {
	return &policy.Facts{Method: "tools/call", Tool: policy.ToolFacts{Name: name, Annotations: c, Declared: c}}
}

// A tool whose contract changes, or that is one of too many, is decided on as by the whole policy.
func TestSpecializedFollowContracts(t *testing.T) {
	whole := policy.Default()
	var s specialized
	var kept *policy.Policy
	for i := range 3 * maxRespecialized {
		c := contract.Contract{ReadOnly: contract.Hint(i % 3), RequiresReview: contract.Hint(i / 3 % 3)}
		f := toolFacts("a", c)
		kept = s.of(whole, f)
		if diff := cmp.Diff(whole.Decide(f), kept.Decide(f)); diff != "" {
			t.Fatal(diff)
		}
	}
	if kept != whole {
		t.Error("a contract that always varies is folded again and again")
	}
	steady := toolFacts("b", contract.Contract{ReadOnly: contract.Yes})
	if first := s.of(whole, steady); first == whole || first != s.of(whole, steady) {
		t.Error("a steady contract is not folded once")
	}
	for i := range maxSpecialized {
		s.of(whole, toolFacts(fmt.Sprint("x", i), contract.Contract{}))
	}
	if s.of(whole, toolFacts("one more", contract.Contract{})) != whole {
		t.Error("folds are not bounded")
	}
}
