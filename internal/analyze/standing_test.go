package analyze

import (
	"slices"
	"testing"

	"github.com/weir-mcp/weir/policy"
)

// TestEveryFactHasAStanding holds that the analysis has been told of each fact of the vocabulary, and of no other.
func TestEveryFactHasAStanding(t *testing.T) {
	names := policy.FactNames()
	for _, name := range names {
		if standingOf(name) == 0 {
			t.Errorf("%s: say in standings who settles it", name)
		}
	}
	for name := range standings {
		if !slices.Contains(names, name) {
			t.Errorf("%s is no fact", name)
		}
	}
}
