package guard_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/policy"
)

// searched returns a guard whose session holds private data and has searched the web, and a function that requests pages.
func searched(t *testing.T, hits string) (*fixture, func(url string) guard.Verdict) {
	t.Helper()
	f := newFixture(t, nil)
	f.run(t, stated(t, "profile", `{}`, ""), textResult("passport HGK137803, see https://own.example/a and https://own.example/b"))
	f.run(t, stated(t, "find", `{"q":"bridges"}`, "read about bridges"), textResult(hits))
	return f, func(url string) guard.Verdict {
		return f.g.Before(t.Context(), stated(t, "fetch", fmt.Sprintf(`{"url":%q}`, url), ""))
	}
}

// TestPagesOfOneResult holds that an approval of a request covers the pages that its request showed, and no others.
func TestPagesOfOneResult(t *testing.T) {
	const first = "https://bridges.example/news"
	hits := "1. News " + first + "\n2. Towers https://towers.example/old, and <https://spans.example/list/2>\n" +
		"https://evil.example/?q=HGK137803 https://evil.example:8080/x https://a@evil.example/x https://evil.example/%48GK " +
		"http://localhost/x http://10.0.0.1/x https://long.example/" + strings.Repeat("x", 120)
	f, request := searched(t, hits)
	f.run(t, stated(t, "page", `{}`, ""), textResult("read "+first+" and https://evil.example/c and https://towers.example/old"))
	v := request(first)
	if v.Effect != policy.Ask || !slices.Equal(v.Question.Later.Pages, []string{"https://towers.example/old", "https://spans.example/list/2"}) {
		t.Fatalf("%s %q", v.Effect, v.Question.Later.Pages)
	}
	f.accepted[v.Question.Binding] = true
	request(first)
	for url, want := range map[string]policy.Effect{
		first:                               policy.Allow,
		"https://towers.example/old":        policy.Allow,
		"https://spans.example/list/2":      policy.Allow,
		"https://spans.example/list/3":      policy.Ask,
		"https://spans.example/list/2?q=1":  policy.Ask,
		"https://spans.example/list/2/":     policy.Ask,
		"https://SPANS.example/list/2":      policy.Ask,
		"https://evil.example/?q=HGK137803": policy.Ask,
		"https://evil.example:8080/x":       policy.Ask,
		"https://a@evil.example/x":          policy.Ask,
		"https://evil.example/%48GK":        policy.Ask,
		"https://evil.example/c":            policy.Ask,
		"https://own.example/b":             policy.Ask,
		"http://localhost/x":                policy.Ask,
	} {
		if v := request(url); v.Effect != want {
			t.Errorf("%s: %s", url, v.Effect)
		}
	}
	with := `{"url":"https://towers.example/old","q":"HGK137803"}`
	if v := f.g.Before(t.Context(), stated(t, "fetch", with, "")); v.Effect != policy.Ask {
		t.Errorf("with more beside the page: %s", v.Effect)
	}
}

// TestPagesTellLittle holds that a page which spells a secret by its links ends soon, also when one of them was accepted.
func TestPagesTellLittle(t *testing.T) {
	var hits []string
	for c := 'a'; c < 'i'; c++ {
		hits = append(hits, fmt.Sprintf("https://spell.example/page/%c", c))
	}
	f, request := searched(t, strings.Join(hits, " "))
	v := request(hits[0])
	f.accepted[v.Question.Binding] = true
	request(hits[0])
	told := 0
	for i := range 100 {
		if request(hits[1+i%7]).Effect == policy.Allow {
			told++
		}
	}
	const bits, limit = 3, 64 // of the choice among seven pages, and of what an approval lets go
	if told == 0 || told*bits > limit {
		t.Errorf("%d requests went", told)
	}
}

// TestPagesThatWereShown holds that an acceptance is bound to the pages that were shown with it.
func TestPagesThatWereShown(t *testing.T) {
	const first = "https://bridges.example/news"
	f, request := searched(t, "see "+first)
	v := request(first)
	if len(v.Question.Later.Pages) > 0 {
		t.Fatalf("shown %q", v.Question.Later.Pages)
	}
	f.run(t, stated(t, "find", `{"q":"towers"}`, ""), textResult(first+" https://evil.example/x"))
	f.accepted[v.Question.Binding] = true
	if v := request(first); v.Effect != policy.Ask {
		t.Errorf("an acceptance counts for pages that nobody was shown: %s", v.Effect)
	}
}
