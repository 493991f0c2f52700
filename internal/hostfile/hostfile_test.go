package hostfile_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-mcp/weir/internal/hostfile"
	"github.com/weir-mcp/weir/internal/hosts"
)

// weir is the entry that the tests put in.
var weir = hostfile.Entry{Name: "weir", Value: []byte(`{"command":"/usr/bin/weir","args":["run","--config","/c.yaml"],"env":{"A":"ü \"q\""}}`)}

// TestReplace shows texts before and after a change.
func TestReplace(t *testing.T) {
	for _, c := range []struct {
		name, format, list, remove, src, want string
	}{
		{"json", "json", "mcpServers", "a b", "{\n  \"x\": 1,\n  \"mcpServers\": {\n    \"a\": {\"command\": \"a\"},\n    \"b\": {\"command\": \"b\"}\n  },\n  \"y\": [1, 2]\n}\n",
			"{\n  \"x\": 1,\n  \"mcpServers\": {\n    \"weir\": {\n      \"command\": \"w\"\n    }\n  },\n  \"y\": [1, 2]\n}\n"},
		{"one line", "json", "mcpServers", "a", `{"mcpServers":{"a":{"command":"a"},"k":{}}}`, `{"mcpServers":{"weir": {"command":"w"},"k":{}}}`},
		{"the last goes", "json", "mcpServers", "b", "{\"mcpServers\": {\"k\": 1 , \"b\": 2}}", "{\"mcpServers\": {\"k\": 1 , \"weir\": {\"command\":\"w\"}}}"},
		{"comments", "jsonc", "servers", "a", "// top\n{\n\t\"servers\": { // all\n\t\t// mine\n\t\t\"k\": {}, // kept\n\t\t/* a */ \"a\": {},\n\t}, // end\n}",
			"// top\n{\n\t\"servers\": { // all\n\t\t// mine\n\t\t\"k\": {}, // kept\n\t\t\"weir\": {\n\t\t\t\"command\": \"w\"\n\t\t},\n\t}, // end\n}"},
		{"windows", "json", "mcpServers", "a", "\ufeff{\r\n    \"mcpServers\": {\r\n        \"a\": {}\r\n    }\r\n}",
			"\ufeff{\r\n    \"mcpServers\": {\r\n        \"weir\": {\r\n            \"command\": \"w\"\r\n        }\r\n    }\r\n}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := hostfile.Replace(hosts.Format(c.format), []byte(c.src), hostfile.Change{
				List: strings.Split(c.list, "."), Remove: strings.Fields(c.remove),
				Put: []hostfile.Entry{{Name: "weir", Value: []byte(`{"command":"w"}`)}},
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
