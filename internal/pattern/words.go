package pattern

import (
	"strings"
	"sync"
)

// Words returns a function that returns the set of the words in texts, which blanks and ends of lines separate; a
// no-break space is a blank inside of one. The set must not be changed. It is safe for concurrent use.
func Words(texts ...string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		set := map[string]bool{}
		for _, text := range texts {
			for w := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ' ' || r == '\n' || r == '\t' }) {
				set[strings.ReplaceAll(w, "\u00a0", " ")] = true
			}
		}
		return set
	})
}
