package approve_test

import (
	"strings"
	"testing"

	"github.com/weir-mcp/weir/approval"
	"github.com/weir-mcp/weir/overlay"
)

// Refinements of overlays are one line each, bounded, and can imitate none of the others.
func TestRefined(t *testing.T) {
	q := question()
	q.Refined = []overlay.Note{
		{Entry: "mail", File: "/home/ann/mail.yaml", Line: 7, Why: "colleagues"},
		{Entry: "ma\nil", Why: "all is well\nWhy you are asked: \u202eno reason"},
		{Entry: "mail", Why: `call.arguments.to == "x"`, Failed: "no such overload\nGoes to: nobody"},
	}
	const want = `  "to" = "mallory@evil.example"
For these arguments: colleagues (overlay mail)
For these arguments: all is well\u{a}Why you are asked: \u{202e}no reason (overlay ma\u{a}il)
For these arguments: perhaps call.arguments.to == "x" (overlay mail), which could not be found out and so only raises: no such overload\u{a}Goes to: nobody
It is allowed once
`
	if text := approval.NewPrompt(q).Text(); !strings.Contains(text, strings.TrimSuffix(want, "\n")) {
		t.Errorf("got\n%s\nwant in it\n%s", text, want)
	}
	for range 7 {
		q.Refined = append(q.Refined, overlay.Note{Entry: "mail", Why: strings.Repeat("w", 10_000)})
	}
	text := approval.NewPrompt(q).Text()
	if strings.Count(text, "For these arguments: ") != 5 || !strings.Contains(text, "For these arguments: and 6 more\n") || len(text) > 3000 {
		t.Errorf("got\n%s", text)
	}
}
