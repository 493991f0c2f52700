package annotation_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-mcp/weir/annotation"
)

func TestNotes(t *testing.T) {
	for _, test := range []struct {
		document string
		want     []annotation.Note
	}{
		{`{"name":"t","description":"d"}`, nil},
		{`{"requires":{"scopes":["repo"], "roles":["admin"]}}`, []annotation.Note{{"requires", `{"roles":["admin"],"scopes":["repo"]}`}}},
		{`{"securitySchemes":[{"type":"noauth"},{"type":"oauth2","scopes":["a"]}]}`,
			[]annotation.Note{{"securitySchemes", `[{"type":"noauth"},{"scopes":["a"],"type":"oauth2"}]`}}},
		{`{"_meta":{"securitySchemes":[{"type":"noauth"}],"x":1,"com.example/label":"secret"},"annotations":{"org.acme/tier":2,"readOnlyHint":true}}`,
			[]annotation.Note{{"_meta.securitySchemes", `[{"type":"noauth"}]`}, {`_meta["com.example/label"]`, `"secret"`}, {`annotations["org.acme/tier"]`, `2`}}},
		{`{"_meta":{"com.github.ifc/labels":{},"io.modelcontextprotocol/related-task":{},"dev.weir/agent-session":"s","a/b":1,".a/b":1,"a.b/":1,"ab":1}}`, nil},
		{`{"requires":"` + strings.Repeat("é", 400) + `"}`, []annotation.Note{{"requires", `"` + strings.Repeat("é", 255)}}},
		{`[`, nil},
	} {
		if diff := cmp.Diff(test.want, annotation.Notes([]byte(test.document))); diff != "" {
			t.Errorf("%.100s: %s", test.document, diff)
		}
	}
	if got := annotation.Notes([]byte(`{"_meta":{` + repeat(40, `"a.b/%d":1`) + `}}`)); len(got) != 32 {
		t.Errorf("%d notes", len(got))
	}
}
