package trace

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/session"
)

// TestMembersAreACode holds that the bits of the members of objects are lengths of a code: of all rows of declared
// members, in any order, the shares are at most one together.
func TestMembersAreACode(t *testing.T) {
	for _, required := range []string{`[]`, `["b"]`, `["d","a"]`, `["a","a","b","c","d"]`, `["e"]`, `[7]`} {
		names := []string{"b", "a", "d", "c"}
		var properties []string
		for _, name := range names {
			properties = append(properties, fmt.Sprintf(`%q:{"const":1}`, name))
		}
		schema := json.RawMessage(`{"type":"object","properties":{` + strings.Join(properties, ",") + `},"required":` + required + `}`)
		sum, rows := 0.0, 0
		var rest func(row []string)
		rest = func(row []string) {
			rows++
			value := json.RawMessage("{" + strings.Join(row, ",") + "}")
			m := meter{t: &callTracer{session: newSessionTrace(session.Ref{}), facts: &policy.Facts{}, known: map[string]Value{}}}
			m.value("", value, schema)
			sum += math.Pow(2, -float64(m.spent))
			for _, name := range names {
				if member := fmt.Sprintf(`%q:1`, name); !slices.Contains(row, member) {
					rest(append(slices.Clip(row), member))
				}
			}
		}
		rest(nil)
		if rows != 65 || sum > 1 {
			t.Errorf("required %s: the shares of %d rows are %v", required, rows, sum)
		}
	}
}
