package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/internal/app"
	"github.com/weir-mcp/weir/internal/gateway/catalog"
)

// What a tool carries is shown, whatever vocabularies are written to hosts, and made harmless in text.
func TestToolReportShowsWhatIsCarried(t *testing.T) {
	page := json.RawMessage(`{"tools":[{"name":"t","requires":["cap\u202e"],"annotations":{"com.example/label":"green"},` +
		`"_meta":{"securitySchemes":[{"type":"oauth2"}],"io.modelcontextprotocol/other":1}}]}`)
	list, _ := catalog.Build(catalog.Tools, []catalog.Source{{Server: "s", Pages: []json.RawMessage{page}}})
	var r app.ToolReport
	for e := range list.All() {
		r = app.ReportTool(&e, annotation.Reader{})
	}
	want := []annotation.Note{
		{Where: "requires", Value: "[\"cap\u202e\"]"},
		{Where: `annotations["com.example/label"]`, Value: `"green"`},
		{Where: "_meta.securitySchemes", Value: `[{"type":"oauth2"}]`},
	}
	if diff := cmp.Diff(want, r.Carries); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	_, carried, _ := strings.Cut(toolText(r), "  carries ")
	wantText := "requires = [\"cap\\u{202e}\"]\n  carries annotations[\"com.example/label\"] = \"green\"\n" +
		"  carries _meta.securitySchemes = [{\"type\":\"oauth2\"}]\n"
	if diff := cmp.Diff(wantText, carried); diff != "" {
		t.Errorf("text: -want +got:\n%s", diff)
	}
}
