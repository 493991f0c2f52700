package sanitize_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/detect"
	"github.com/weir-mcp/weir/internal/address"
	"github.com/weir-mcp/weir/internal/sanitize"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/vault"
)

// says is a model that gives one answer.
type says string

func (s says) Answer(context.Context, string, *vault.Look) (json.RawMessage, error) {
	if s == "" {
		return nil, errors.New("CANARY")
	}
	return json.RawMessage(s), nil
}

func TestApply(t *testing.T) {
	s := &sanitize.Sanitizers{Scanner: detect.New(), Rules: map[string]sanitize.Rule{
		"links": {By: sanitize.StripLinks}, "short": {By: sanitize.Truncate, Length: 5}, "masked": {By: sanitize.Redact}, "digest": {By: sanitize.Summarize, Question: "?"},
	}}
	for _, c := range []struct {
		by, text, model, want string
	}{
		{"links", "see https://a.example/?q=1, HTTP://b.example or www.c.example, and write to bob@d.example now", "",
			"see [link], [link] or [link], and write to [address] now"},
		{"links", "javascript:alert(1) and ![x](data:text/html,y)", "", "[link](1) and ![x]([link],y)"},
		{"short", "naïveté", "", "naïv"}, {"short", "äöü", "", "äö"}, {"short", "abc", "", "abc"}, {"short", "", "", ""},
		{"masked", "pay to GB82 WEST 1234 5698 7654 32", "", "pay to [redacted:iban]"},
		{"digest", "long", `"short"`, "short"},
	} {
		s.Model = says(c.model)
		if got, err := s.Apply(t.Context(), c.by, c.text); err != nil || got != c.want {
			t.Errorf("%s of %q: %q, %v, want %q", c.by, c.text, got, err, c.want)
		}
	}
	for _, model := range []string{"", `3`, `"` + strings.Repeat("x", 1<<15) + `"`} {
		s.Model = says(model)
		if got, err := s.Apply(t.Context(), "digest", "text"); err == nil {
			t.Errorf("a model that says %.20s: %.20s", model, got)
		}
	}
	s.Model = nil
	for _, by := range []string{"digest", "nothing"} {
		if got, err := s.Apply(t.Context(), by, "text"); err == nil {
			t.Errorf("%s: %s", by, got)
		}
	}
}

// However a text spells links and addresses, what is left has none that the decision on a call would find.
func TestNoLinkIsLeft(t *testing.T) {
	s := &sanitize.Sanitizers{Rules: map[string]sanitize.Rule{"l": {By: sanitize.StripLinks}}}
	parts := []string{
		"_https://evil.example/x_", "1https://evil.example/x", "//evil.example/x", "https:/evil.example/x", `https:\\evil.example\x`, "https:evil.example",
		"evil.example/login", "evil.example", "[log in](//evil.example/x)", "www\uff0eevil.example", "https\uff1a//evil.example", "evil\u3002example/x",
		"tel:+491234567", "sms:+491234567?body=x", "sip:evil", "<a href=//evil.example>x</a>", "&#104;ttps&#58;//evil.example", "https:&#47;&#47;evil.example",
		"https:\u200b//evil.example", `"eve"@evil.example`, `"a b"@evil.example`, "eve\uff20evil.example", "eve&#64;evil.example", "eve (at) evil.example",
		"file:/etc/passwd", "vbscript:evil", "192.0.2.1/x", "DE02 1203 0000 0000 2020 51", "a_data:text/html,evil", "x_www.evil.example/p", "eve&amp;#64;evil.example",
	}
	check := func(t interface{ Errorf(string, ...any) }, text string) {
		got, err := s.Apply(context.Background(), "l", text)
		if places := address.Find(got); err == nil && len(places) > 0 {
			t.Errorf("%q becomes %q with %v", text, got, places)
		}
	}
	for _, text := range parts {
		check(t, text)
		got, err := s.Apply(t.Context(), "l", "see "+text+" now")
		if err != nil || !strings.HasPrefix(got, "see") || !strings.Contains(got, "[link]") && !strings.Contains(got, "[address]") {
			t.Errorf("%q becomes %q, %v", text, got, err)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.OneOf(rapid.SampledFrom(parts), rapid.String(), rapid.SampledFrom([]string{"&", "#", "amp;", " ", ".", ":", "/", "@", "_", "(", "x"}))
		check(t, strings.Join(rapid.SliceOfN(piece, 1, 6).Draw(t, "pieces"), ""))
	})
}

func TestTruncateIsText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, text := rapid.IntRange(1, 20).Draw(t, "length"), rapid.String().Draw(t, "text")
		s := &sanitize.Sanitizers{Rules: map[string]sanitize.Rule{"t": {By: sanitize.Truncate, Length: n}}}
		got, err := s.Apply(context.Background(), "t", text)
		if err != nil || len(got) > n || !strings.HasPrefix(text, got) || !utf8.ValidString(got) || len(got) < min(n, len(text))-utf8.UTFMax {
			t.Fatalf("%q, %v", got, err)
		}
	})
}

// A label loses no more than the operator states, and never credentials, an alert, or where data came from.
func TestLabel(t *testing.T) {
	all := label.Label{
		Untrusted: true, Private: true, Malicious: true, Findings: label.SetOf("f"), Sources: label.SetOf(label.UntrustedPublic, label.Internal),
		Sensitivity: label.SetOf(label.Credentials, label.PII), Attribution: label.SetOf("mcp://a/b"),
	}
	for _, c := range []struct {
		rule               sanitize.Rule
		untrusted, private bool
		sensitivity        label.Set[label.Class]
	}{
		{sanitize.Rule{}, true, true, all.Sensitivity},
		{sanitize.Rule{Trusted: true}, false, true, all.Sensitivity},
		{sanitize.Rule{Public: true}, true, true, label.SetOf(label.Credentials)}, // credentials are private
		{sanitize.Rule{Trusted: true, Public: true}, false, true, label.SetOf(label.Credentials)},
	} {
		got := c.rule.Label(all)
		if got.Untrusted != c.untrusted || got.Private != c.private || !got.Sensitivity.Equal(c.sensitivity) ||
			got.Sources.Has(label.UntrustedPublic) != c.untrusted || got.Sources.Has(label.Internal) == c.rule.Public || !got.Malicious || !got.Findings.Has("f") || !got.Attribution.Has("mcp://a/b") {
			t.Errorf("%s: %+v", c.rule.String(), got)
		}
	}
	plain := all
	plain.Sensitivity = label.SetOf(label.PII)
	if got := (&sanitize.Rule{Public: true}).Label(plain); got.Private || !got.Untrusted {
		t.Errorf("%+v", got)
	}
}

// TestStated holds that everything by which outputs differ is part of the name of the setup.
func TestStated(t *testing.T) {
	rules := map[string]sanitize.Rule{"a": {By: sanitize.Redact, Public: true}}
	seen := map[string]string{}
	for name, s := range map[string]*sanitize.Sanitizers{
		"none": nil, "rules": {Rules: rules}, "other rules": {Rules: map[string]sanitize.Rule{"a": {By: sanitize.Redact}}},
		"canaries": {Rules: rules, Others: "a canary"}, "other canaries": {Rules: rules, Others: "another"},
	} {
		if other, twice := seen[s.Stated()]; twice {
			t.Errorf("%s is named as %s", name, other)
		}
		seen[s.Stated()] = name
	}
}
