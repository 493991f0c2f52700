package trial

import (
	"slices"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/policy"
)

// Each fact that a rule of calls may read is in one of the lists, so that somebody has thought about how it narrows.
func TestEveryFactNarrowsOrIsOpen(t *testing.T) {
	listed := map[string]int{}
	for _, n := range slices.Concat(narrowing, whenRead) {
		listed[n.fact]++
	}
	for _, name := range policy.FactNames() {
		want := 1
		if strings.HasPrefix(name, "response.") {
			want = 0
		}
		if listed[name] != want {
			t.Errorf("%s is %d times in the lists, want %d", name, listed[name], want)
		}
		delete(listed, name)
	}
	for name := range listed {
		t.Errorf("there is no fact %s", name)
	}
}

// An example of a fact that nobody has thought about is of no use.
func TestFactsThatAreOpenSuggestNothing(t *testing.T) {
	for fact, want := range map[string]bool{"session.burst": true, "tool.name": true, "session.newest": false, "session.id": false} {
		e := example{map[string]any{fact: int64(1)}, map[string]bool{}}
		if got := e.reads([]policy.Reading{{Fact: fact}}); got != want {
			t.Errorf("a rule that reads %s: %t, want %t", fact, got, want)
		}
	}
}
