package address

import (
	"testing"

	"pgregory.net/rapid"
)

// TestGates holds the looks at single signs, which spare most texts the regular expressions, against these.
func TestGates(t *testing.T) {
	parts := rapid.SampledFrom([]string{
		"1", "2024-01-02", "12:30", "1.234", "+49 30", "DE89", "3704 0044", "a", "example", "com", "0xAB12", "_", "-", "(", ")", " dot ", "[dot]",
		"{", "}", " . ", "\tpunkt\f", "\n", "\r", "\u2028", "\u0085", "\v", "bcc", "to", " ", "%3A", "%0d", ":", "x", "@", "~", "\u0661", "\uff11",
	})
	rapid.Check(t, func(t *rapid.T) {
		var text string
		for _, part := range rapid.SliceOfN(parts, 0, 12).Draw(t, "parts") {
			text += part
		}
		text = fold(text)
		var gated, free scanner
		gated.spelled(text)
		gated.accounts(text)
		gated.headers(text)
		free.spelledOut(text)
		free.numbers(text)
		free.fields(text)
		if len(gated.found) != len(free.found) {
			t.Fatalf("%q: %v, want %v", text, gated.found, free.found)
		}
	})
}
