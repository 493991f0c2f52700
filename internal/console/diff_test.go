package console_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-mcp/weir/internal/console"
)

func TestChangesLineByLine(t *testing.T) {
	for _, c := range []struct{ name, before, after, want string }{
		{"one line", "a", "b", "-a|+b"},
		{"new", "", "a\nb", "+a|+b"},
		{"gone", "a\nb", "", "-a|-b"},
		{"between", "a\nb\nc", "a\nB\nc", " a|-b|+B| c"},
		{"repeated", "a\na", "a\na\na", " a| a|+a"},
		{"far from the ends", "1\n2\n3\n4\n5\nx\n6\n7\n8\n9", "1\n2\n3\n4\n5\ny\n6\n7\n8\n9",
			"…2 lines stay the same| 3| 4| 5|-x|+y| 6| 7| 8|…1 lines stay the same"},
		{"JSON", `{"a":1}`, `{"a":2}`, ` {|-  "a": 1|+  "a": 2| }`},
		{"hidden", "a", "a\u202e\x1b", `-a|+a\u{202e}\u{1b}`},
		{"a line that looks as if some were left out", "a", "2 lines stay the same", "-a|+2 lines stay the same"},
	} {
		var lines []string
		for _, l := range (console.Change{Member: "m", Before: c.before, After: c.after}).Lines() {
			lines = append(lines, l.Mark+l.Text)
		}
		if diff := cmp.Diff(c.want, strings.Join(lines, "|")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
