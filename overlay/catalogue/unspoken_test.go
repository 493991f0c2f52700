package catalogue_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-mcp/weir/overlay/catalogue"
)

// unspoken are the arguments that act and that the built-in overlays leave to the careful default, see
// [overlay.Tool.Unspoken]: with one of them, the parts of a call count as not stated.
var unspoken = []string{
	"asana asana_set_parent_for_task data", "asana asana_set_parent_for_task opts",
	"email-imap apply_template template",
	"firecrawl firecrawl_extract schema", "firecrawl firecrawl_feedback metadata",
	"firecrawl firecrawl_monitor_create body", "firecrawl firecrawl_monitor_update body",
	"jira-aashari jira_delete queryParams",
	"linear linear_create_issue displayIconUrl",
	"linear-tacticlaunch linear_addAttachment metadata", "linear-tacticlaunch linear_createIssueTemplate templateData",
	"linear-tacticlaunch linear_createSavedView filterData", "linear-tacticlaunch linear_createSavedView projectFilterData",
	"linear-tacticlaunch linear_updateIssueTemplate templateData", "linear-tacticlaunch linear_updateSavedView filterData",
	"linear-tacticlaunch linear_updateSavedView projectFilterData",
	"resend manage-events schema",
}

// TestUnspoken holds that users are not asked more because an overlay forgot an argument of its tools.
func TestUnspoken(t *testing.T) {
	set, err := catalogue.Load()
	if err != nil {
		t.Fatal(err)
	}
	examples := map[string]string{"n": `1`, "b": `true`, "o": `{"x":1}`, "a": `{"x":1}`, "l": `["x"]`, "s": `"x"`, "e": `"x"`}
	var all []string
	for entry, s := range servers(t) {
		for name, types := range s.tools {
			for argument, kind := range types {
				call := fmt.Sprintf(`{%q:%s}`, argument, examples[kind])
				if forgotten, ok := set.Named(entry).Tool(name).Unspoken([]byte(call)); ok && !nested(argument) {
					all = append(all, entry+" "+name+" "+forgotten)
				}
			}
		}
	}
	slices.Sort(all)
	if diff := cmp.Diff(unspoken, all); diff != "" {
		t.Error(diff)
	}
}

// nested reports whether an argument is a part of another one.
func nested(path string) bool { return strings.ContainsAny(path, ".[") }
