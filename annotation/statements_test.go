package annotation_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/contract"
)

func TestStatements(t *testing.T) {
	for _, c := range []struct{ name, tool, want string }{
		{"nothing", `{"name":"t"}`, ""},
		{"empty", `{"name":"t","annotations":{},"_meta":{}}`, ""},
		{"a title says nothing of the contract", `{"name":"t","annotations":{"title":"T"}}`, ""},
		{"one", `{"name":"t","annotations":{"readOnlyHint":true}}`, "mcp "},
		{"two", `{"name":"t","annotations":{"readOnlyHint":true,"inputMetadata":{"destination":["public"]}}}`, "mcp sep-1913 "},
		{"no JSON", `{`, ""},
	} {
		got := ""
		var joined contract.Contract
		for i, s := range (annotation.Reader{}).Statements([]byte(c.tool)) {
			got += s.Dialect + " "
			if joined = s.Contract; i > 0 {
				joined = s.Contract.Over(joined)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		if read, _ := (annotation.Reader{}).ReadTool([]byte(c.tool)); got == "mcp " && !read.Equal(joined) {
			t.Errorf("%s: read %v, stated %v", c.name, read, joined)
		}
	}
}
