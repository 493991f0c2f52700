package overlay_test

import (
	"testing"

	"github.com/weir-mcp/weir/overlay"
)

// TestFinds holds that the first entry that speaks of it says whether a tool finds pages, and that no other word is taken.
func TestFinds(t *testing.T) {
	const entry = "version: 1\noverlays:\n  - name: a\n    match: [{server: s}]\n"
	for tools, want := range map[string]bool{
		"    tools: {search: {finds: pages}}":                  true,
		"    tools: {search: {finds: nothing}}":                false,
		"    tools: {search: {contract: {readOnly: true}}}":    false,
		"    tools: {look: {finds: pages}}":                    false,
		"    draft: true\n    tools: {search: {finds: pages}}": false,
		"    tools: {search: {finds: nothing}}\n  - {name: b, match: [{server: s}], tools: {search: {finds: pages}}}":             false,
		"    tools: {search: {contract: {readOnly: true}}}\n  - {name: b, match: [{server: s}], tools: {search: {finds: pages}}}": true,
		"    tools: {search: {finds: pages}}\n  - {name: b, match: [{server: s}], tools: {\"*\": {finds: nothing}}}":              true,
	} {
		set, err := overlay.Load("o.yaml", []byte(entry+tools))
		if err != nil {
			t.Fatal(err)
		}
		if got := set.For(overlay.Server{Name: "s"}).Tool("search").FindsPages(); got != want {
			t.Errorf("%s: %v, want %v", tools, got, want)
		}
	}
	for _, word := range []string{"page", "true", "[pages]", "\"\""} {
		if _, err := overlay.Load("o.yaml", []byte(entry+"    tools: {search: {finds: "+word+"}}")); err == nil {
			t.Errorf("finds: %s is taken", word)
		}
	}
	var none *overlay.Tool
	if none.FindsPages() {
		t.Error("a tool without an overlay finds pages")
	}
}
