package guard_test

import (
	"encoding/json"
	"testing"

	"github.com/weir-mcp/weir/guard"
)

// passedFixture returns a guard, and a call that goes and has an answer. TestPassed of internal/house subtracts the functions of
// TestPassedByNone from those of TestPassedByOne.
func passedFixture(t *testing.T) (*fixture, *guard.Call, guard.Answer) {
	c := call("read_file", readSalaries, `{"name":"read_file","arguments":{"path":"salaries.csv"}}`)
	return newFixture(t, nil), c, guard.Answer{Result: json.RawMessage(okResult)}
}

func TestPassedByNone(t *testing.T) {
	f, _, _ := passedFixture(t)
	if len(f.events.all) > 0 {
		t.Errorf("%d events without a call", len(f.events.all))
	}
}

func TestPassedByOne(t *testing.T) {
	f, c, answer := passedFixture(t)
	v := f.g.Before(t.Context(), c)
	if o := v.Admission.After(t.Context(), answer); !v.Allowed() || !o.Allowed() {
		t.Errorf("%v, %v", v.Effect, o.Effect)
	}
	if len(f.events.all) == 0 {
		t.Error("a call without an event")
	}
}
