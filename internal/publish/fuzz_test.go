package publish

import (
	"strings"
	"testing"
)

// FuzzAnswers reads answers of a witness: nothing of them is taken that is not a signature, or a number.
func FuzzAnswers(f *testing.F) {
	f.Add("example.com/weir\n7\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n\n— example.com/weir AAAA\n", "— w AAAAAAAA\n")
	f.Add("a\n1\nb\n\n", "17\n")
	f.Add("a", "-1")
	f.Fuzz(func(t *testing.T, checkpoint, answer string) {
		c := cosigner{name: "w", hash: 1, key: make([]byte, 32)}
		if lines, err := c.lines([]byte(checkpoint), []byte(answer)); err == nil && !strings.Contains(answer, string(lines)) {
			t.Errorf("%q gave %q", answer, lines)
		}
		if size, err := parseSize([]byte(answer)); err == nil && size < 0 {
			t.Errorf("%q is %d", answer, size)
		}
		if size, err := sizeOf([]byte(checkpoint)); err == nil && size < 0 {
			t.Errorf("%q is %d", checkpoint, size)
		}
		if c, err := parseCosigner(answer); err == nil && (c.name == "" || len(c.key) != 32) {
			t.Errorf("%q is %+v", answer, c)
		}
	})
}
