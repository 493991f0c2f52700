package speech_test

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/internal/speech"
)

// TestNameWords holds the words of a name, which are taken from its bytes, against those of its characters.
func TestNameWords(t *testing.T) {
	words := func(name string) (words []string) {
		runes, start := []rune(name), 0
		cut := func(end int) {
			if end > start {
				words = append(words, strings.ToLower(string(runes[start:end])))
			}
			start = end
		}
		for i, r := range runes {
			switch {
			case !unicode.IsLetter(r):
				cut(i)
				start = i + 1
			case i > start && unicode.IsUpper(r) && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])):
				cut(i)
			}
		}
		cut(len(runes))
		return words
	}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.StringMatching(`[a-cA-C_.0-9ÄäßЖ\x{80}]{0,12}`), rapid.String(),
			rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "name")
		if got, want := speech.NameWords(name), words(name); !slices.Equal(got, want) {
			t.Fatalf("%q: %q, want %q", name, got, want)
		}
	})
	if got := speech.NameWords("readHTTPFile_path"); !slices.Equal(got, []string{"read", "http", "file", "path"}) {
		t.Errorf("%q", got)
	}
}
