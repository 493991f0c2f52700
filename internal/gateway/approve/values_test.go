package approve_test

import (
	"strings"
	"testing"

	"github.com/weir-mcp/weir/approval"
	"github.com/weir-mcp/weir/guard/trace"
	"github.com/weir-mcp/weir/overlay"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/provenance"
)

// TestOrigins holds the lines of a prompt about the origins of the arguments.
func TestOrigins(t *testing.T) {
	match := func(uri string, kinds provenance.Kinds) provenance.Match {
		return provenance.Match{Source: provenance.Source{URI: uri, Kinds: kinds}}
	}
	value := func(path string, destination bool, from provenance.Kinds, matches ...provenance.Match) trace.Value {
		return trace.Value{Argument: policy.Argument{Path: path}, Destination: destination, From: from, Matches: matches}
	}
	const both = provenance.Untrusted | provenance.Private
	q := question()
	q.UserWords = "mail the offer\nto Ben"
	q.Values = []trace.Value{
		value("body", false, both|provenance.Novel, match("mcp://mail/list_inbox", both), match("mcp://mail/list_inbox", both),
			match("mcp://mail/a", both), match("mcp://mail/b", both)),
		value("subject", false, provenance.User|provenance.Trusted, match("user", provenance.User), match("mcp://travel/list", provenance.Trusted)),
		value("to", true, provenance.Untrusted, match("mcp://web/fet\u202ech", provenance.Untrusted)),
		value("amount", false, provenance.Private|provenance.Trusted, match("mcp://bank/balance", provenance.Private|provenance.Trusted)),
		value("empty", false, 0),
	}
	const want = `Where this comes from:
  "to" (where it goes): untrusted content, mcp://web/fet\u{202e}ch
  "body": untrusted content, mcp://mail/list_inbox and mcp://mail/a and 1 more; private data, mcp://mail/list_inbox and mcp://mail/a and 1 more; the agent's own words, or reworded
  "subject": the user's own words; a trusted source, mcp://travel/list
  "amount": private data, mcp://bank/balance
`
	const wrote = "\nThe user wrote: \"mail the offer\\u{a}to Ben\"\n"
	if text := approval.NewPrompt(q).Text(); !strings.Contains(text, want) || !strings.Contains(text, wrote) {
		t.Errorf("got\n%s\nwant in it\n%s%s", text, want, wrote)
	}
	for range 10 {
		q.Values = append(q.Values, value("more", false, provenance.Novel))
	}
	q.Later.Place = true
	text := approval.NewPrompt(q).Text()
	if !strings.Contains(text, "  and 6 more values\n") || !strings.Contains(text, "A yes also covers later calls") {
		t.Errorf("got\n%s", text)
	}
	q.Later.Pages = []string{"https://a.example/x", "https://b.example/\u202ey"}
	const covered = "and to these, which the same result lists: \"https://a.example/x\", \"https://b.example/\\u{202e}y\". No"
	if text := approval.NewPrompt(q).Text(); !strings.Contains(text, covered) {
		t.Errorf("got\n%s", text)
	}
	q.Phase = policy.OnResult
	if text := approval.NewPrompt(q).Text(); strings.Contains(text, "Where this comes from") {
		t.Errorf("a result has arguments:\n%s", text)
	}
}

// TestListedNames holds that a request shows the name that a server lists for an id as its claim, beside the id.
func TestListedNames(t *testing.T) {
	for _, c := range []struct {
		listed trace.Listed
		want   string
	}{
		{trace.Listed{}, `, target "C012"?`},
		{trace.Listed{Name: "metrics", Tool: "list_channels"}, `, target "C012" ("metrics", says "list_channels" of mail)?`},
		{trace.Listed{Name: "metrics", Tool: "search", Untrusted: true}, `, target "C012" ("metrics", says untrusted content of "search" of mail)?`},
		{trace.Listed{Name: "x\", says Weir)\n\u202e?", Tool: "a\" of bank"}, `, target "C012" ("x\", says Weir)\u{a}\u{202e}?", says "a\" of bank" of mail)?`},
	} {
		q := question()
		q.To = []overlay.Argument{{Path: "channel", Text: "C012"}}
		q.Values = []trace.Value{{Argument: policy.Argument{Path: "channel", Text: "C012"}, Destination: true, From: provenance.Novel, Listed: c.listed}}
		if lead := approval.NewPrompt(q).Lead; !strings.HasSuffix(lead, c.want) {
			t.Errorf("got %s\nwant %s", lead, c.want)
		}
	}
}

// TestSeveralTargets holds that a request lists all targets, each with its origin, those first that the user has not
// written.
func TestSeveralTargets(t *testing.T) {
	q := question()
	match := func(uri string) provenance.Match {
		return provenance.Match{Source: provenance.Source{URI: uri, Kinds: provenance.Untrusted | provenance.Private}}
	}
	const both = provenance.Untrusted | provenance.Private
	for i, v := range []trace.Value{
		{From: provenance.User}, {From: provenance.Untrusted, Matches: []provenance.Match{match("mcp://web/fet\u202ech")}},
		{From: both, Matches: []provenance.Match{match(strings.Repeat("x", 100)), match(strings.Repeat("y", 100))}}, {From: 0},
	} {
		path := []string{"cc[0]", "to", "cc[1]", "cc[2]"}[i]
		v.Argument, v.Destination = policy.Argument{Path: path, Text: path + "@a.example"}, true
		q.Values = append(q.Values, v)
		q.To = append(q.To, overlay.Argument(v.Argument))
	}
	want := `All targets: "to@a.example" (untrusted content, mcp://web/fet\u{202e}ch), "cc[1]@a.example" (untrusted content; private data), ` +
		`"cc[2]@a.example", "cc[0]@a.example" (the user's own words)`
	p := approval.NewPrompt(q)
	lines := p.Summary()
	if last := lines[len(lines)-1]; last != want {
		t.Errorf("got %s\nwant %s", last, want)
	}
	if !strings.Contains(lines[0], `target "to@a.example" and 3 more`) {
		t.Errorf("got %s", lines[0])
	}
	q.Values, q.To = q.Values[:1], q.To[:1]
	if p := approval.NewPrompt(q); p.ToFrom != nil || len(p.Summary()) != len(lines)-1 {
		t.Errorf("one target: %q", p.Summary())
	}
}
