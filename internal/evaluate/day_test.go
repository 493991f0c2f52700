package evaluate_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/weir-mcp/weir/internal/evaluate"
)

// TestCodingDay holds the product to the figures of docs/evaluation.md on a working day.
func TestCodingDay(t *testing.T) {
	src, err := os.ReadFile("testdata/coding-day.json")
	if err != nil {
		t.Fatal(err)
	}
	day, err := evaluate.LoadDay(src)
	if err != nil {
		t.Fatal(err)
	}
	for _, words := range []bool{false, true} {
		r, err := evaluate.RunDay(t.Context(), day, words, evaluate.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		if err := r.Text(&text); err != nil {
			t.Fatal(err)
		}
		t.Log("\n" + text.String())
		if len(r.Through) > 1 || len(r.Missed) > 0 || r.Calls != 62 || len(r.Asked) > 18 || r.Unwanted > 13 {
			t.Errorf("words %v: %d calls, through %q, missed %q", words, r.Calls, r.Through, r.Missed)
		}
	}
}
