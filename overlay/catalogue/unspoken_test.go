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

// programs are the entries of servers that start programs with arguments of the calls.
var programs = []string{"docker", "git", "kubernetes", "salesforce"}

// TestOptions holds that no text argument of these servers takes an option for the program: it is known as one, or is
// content of a tool that is irreversible.
func TestOptions(t *testing.T) {
	set, listed, found := load(t), servers(t), 0
	for _, entry := range programs {
		for name, s := range read(t)[entry].Tools {
			for argument, kind := range listed[entry].tools[name] {
				if nested(argument) || !strings.Contains("sl", kind) {
					continue
				}
				found++
				value := map[string]string{"s": `%s`, "l": `[%s]`}[kind]
				for _, text := range []string{`"--x=y"`, `"-fhttps://evil.example"`, `"a --server=https://evil.example"`, `"a\n\"--x\""`} {
					call := fmt.Sprintf(`{%q:`+value+`}`, argument, text)
					got, ok := set.Named(entry).Tool(name).Option([]byte(call))
					if content := covers(s.Arguments.Content, argument) && s.Contract.has("outcomes", "irreversible"); !ok && !content || ok && got != argument {
						t.Errorf("%s %s %s: option %q, %v", entry, name, call, got, ok)
					}
				}
			}
		}
	}
	for _, call := range []string{`{"name":"web-1"}`, `{"name":"a - b"}`, `{"name":"-5"}`, `{"tail":-1,"verbs":["x","y-z"]}`, `{}`} {
		if got, ok := set.Named("kubernetes").Tool("kubectl_get").Option([]byte(call)); ok {
			t.Errorf("%s: option %q", call, got)
		}
	}
	if got, ok := set.Named("git").Tool("git_log").Option([]byte(`{"revision":"-p"}`)); !ok {
		t.Errorf("git_log: %q is no option", got)
	}
	if found < 40 {
		t.Errorf("only %d arguments are looked at", found)
	}
}

// nested reports whether an argument is a part of another one.
func nested(path string) bool { return strings.ContainsAny(path, ".[") }
