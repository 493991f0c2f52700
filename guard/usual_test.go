package guard_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/policy"
)

// Results that are unlike all before are told, until the agent has got one.
func TestUnusualResults(t *testing.T) {
	rows := func(n int, member string) string {
		return fmt.Sprintf(`{"content":[{"type":"text","text":%q}],"structuredContent":{"rows":[],"%s":1}}`, strings.Repeat("x ", n), member)
	}
	for _, c := range []struct {
		name   string
		before int
		answer string
		want   string // "" for neither
	}{
		{"the same", 5, rows(200, "n"), ""},
		{"larger", 5, rows(2000, "n"), ""},
		{"much larger", 5, rows(20000, "n"), "size"},
		{"much larger, of a new tool", 4, rows(20000, "n"), ""},
		{"another member", 5, rows(200, "token"), "shape"},
		{"a block of another type", 5, `{"content":[{"type":"image","data":"","mimeType":"image/png"}]}`, "shape"},
		{"of another kind", 5, strings.Replace(rows(200, "n"), `"rows":[]`, `"rows":""`, 1), "shape"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := policy.Load("p.yaml", []byte(`version: 1
rules:
  - {name: size, when: result, if: '"size" in response.changed', effect: ask}
  - {name: shape, when: result, if: '"shape" in response.changed', effect: ask}
`))
			if err != nil {
				t.Fatal(err)
			}
			f := newFixture(t, func(o *guard.Options) { o.Policy = p })
			for range c.before {
				if o := f.run(t, lookUpCall(), rows(200, "n")); !o.Allowed() {
					t.Fatalf("got %v", o)
				}
			}
			for range 2 { // what nobody has approved is no habit
				o := f.run(t, lookUpCall(), c.answer)
				if o.Allowed() != (c.want == "") || !o.Allowed() && o.Rule != c.want {
					t.Errorf("got %v, want %q", o, c.want)
				}
			}
		})
	}
}
