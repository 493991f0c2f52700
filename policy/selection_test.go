package policy_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/policy"
)

func TestParseSelection(t *testing.T) {
	for text, want := range map[string]string{
		"tool.annotations.readOnlyHint":                               "",
		`tool.name.startsWith("get_") && server.trust != "untrusted"`: "",
		"has(tool.declared.readOnlyHint) || call.plainRead":           "",
		"session.untrusted":                                           "session.untrusted is not known before there is a call",
		"tool.name == call.arguments.x":                               "call.arguments is not known before there is a call",
		"has(session.sinceUser)":                                      "session.sinceUser is not known before there is a call",
		"response.annotations.private":                                "response.annotations.private is not known before there is a call",
		"call.egress":                                                 "call.egress is not known before there is a call",
		"tool.annotation.readOnlyHint":                                "unknown fact",
		"tool.name":                                                   "bool",
		"tool.name ==":                                                "",
		`"nowhere" in tool.annotations.readOnlyHint`:                  "",
	} {
		s, err := policy.ParseSelection(text)
		var problems policy.Errors
		switch valid := want == "" && !strings.HasSuffix(text, "==") && !strings.HasPrefix(text, `"nowhere"`); {
		case valid && err != nil:
			t.Errorf("%s: %v", text, err)
		case valid && s.String() != text:
			t.Errorf("%s is %s", text, s)
		case !valid && (!errors.As(err, &problems) || !strings.Contains(err.Error(), want) || s != nil):
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// Nothing is selected by what is no selection, and without facts.
func TestSelectionFailsClosed(t *testing.T) {
	s, err := policy.ParseSelection("tool.annotations.readOnlyHint")
	if err != nil {
		t.Fatal(err)
	}
	read := &policy.Facts{Tool: policy.ToolFacts{Annotations: contract.Contract{ReadOnly: contract.Yes}}}
	if !s.Holds(read) || s.Holds(nil) || (*policy.Selection)(nil).Holds(read) {
		t.Error("a selection holds for other tools than its own")
	}
	long, err := policy.ParseSelection(`tool.name != "x"`)
	if err != nil {
		t.Fatal(err)
	}
	if long.Holds(&policy.Facts{Tool: policy.ToolFacts{Name: strings.Repeat("n", 1<<20)}}) {
		t.Error("a condition that cannot be evaluated holds")
	}
}
