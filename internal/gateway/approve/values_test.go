package approve_test

import (
	"strings"
	"testing"

	"github.com/weir-mcp/weir/approval"
	"github.com/weir-mcp/weir/guard/trace"
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
