package examples_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// The user decides on the call, and then on the server's own question; each no is the end of it.
func TestAgent(t *testing.T) {
	for _, c := range []struct {
		name, input string
		want        []string
		published   bool
	}{
		{"both accepted", "publish the minutes to team\nyes\nyes\n", []string{"Allow this call of ", "The server asks: "}, true},
		{"call declined", "publish the minutes to team\nno\n", []string{"Allow this call of ", `"publish": ask (rule ask-before-acting-on-untrusted)`}, false},
		{"question declined", "publish the minutes to team\nyes\nno\n", []string{"The server asks: ", "the user did not accept"}, false},
		{"nobody there", "publish the minutes to team\n", []string{"Allow this call of "}, false},
		{"refused early", "publish the minutes to everyone\nyes\n", []string{"the team only"}, false},
	} {
		cmd := program(t, "agent", filepath.Join(programs, "server"))
		cmd.Stdin = strings.NewReader(c.input)
		raw, err := cmd.CombinedOutput()
		out := string(raw)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		for _, want := range append(c.want, "The user wrote: ", `read: "We meet on Monday."`) {
			if !strings.Contains(out, want) {
				t.Errorf("%s: %q is missing in\n%s", c.name, want, out)
			}
		}
		if strings.Contains(out, "published") != c.published || strings.Count(out, "Allow this call of ") != 1 {
			t.Errorf("%s:\n%s", c.name, out)
		}
	}
}
