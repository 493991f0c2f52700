package guard_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-mcp/weir/detect"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/vault"
)

func digestOf(t *testing.T, salt, text string) string {
	t.Helper()
	raw, err := hex.DecodeString(salt)
	if err != nil || len(raw) != 16 {
		t.Errorf("salt %q, %v", salt, err)
	}
	sum := sha256.Sum256(append(raw, text...))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Events hold salted digests of arguments and answers, the members that the operator names, and give the rest to a Recorder that
// captures.
func TestContents(t *testing.T) {
	long := strings.Repeat("x", 5000)
	params := `{"name":"send_email","arguments":{"to":"a@example.com","a/b~":{"c":[1]},"long":"` + long + `"}}`
	canonical := `{"arguments":{"a/b~":{"c":[1]},"long":"` + long + `","to":"a@example.com"},"name":"send_email"}`
	for _, all := range []bool{false, true} {
		f := newFixture(t, func(o *guard.Options) {
			o.Contents = guard.Contents{All: all, Fields: map[string][]string{
				"srv/read_file": {"/arguments/to", "/arguments/long", "/arguments/none"},
				"srv/*":         {"/arguments/a~1b~0/c"},
				"*":             {"/result/structuredContent/id"},
				"srv/other":     {"/arguments/a~1b~0"},
				"other/*":       {"/arguments/a~1b~0"},
			}}
		})
		c := call("read_file", readSalaries, params)
		const result = `{"content":[],"structuredContent":{"id": "7"}}`
		c.Arguments = []byte(params[strings.Index(params, `{"to"`) : len(params)-1])
		f.run(t, c, result)
		var events []*record.Event
		for _, e := range f.events.all {
			if e.Kind == record.Decision {
				events = append(events, e)
			}
		}
		before, after := events[0], events[1]
		got := []string{
			before.Arguments, after.Arguments, before.Content.Answer, after.Content.Answer, string(before.Content.Arguments), string(after.Content.Arguments),
			string(before.Content.Result), string(after.Content.Result),
			string(before.Content.Fields["/arguments/to"]), string(before.Content.Fields["/arguments/a~1b~0/c"]),
			string(after.Content.Fields["/result/structuredContent/id"]),
		}
		captured := func(text string) string {
			if all {
				return text
			}
			return ""
		}
		salt := before.Content.Salt
		want := []string{
			digestOf(t, salt, canonical), digestOf(t, salt, canonical), "", digestOf(t, salt, result), captured(canonical), "", "", captured(result),
			`"a@example.com"`, `[1]`, `"7"`,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("all %v (-want +got):\n%s", all, diff)
		}
		if len(before.Content.Fields) != 2 || len(after.Content.Fields) != 1 {
			t.Errorf("fields %v and %v", before.Content.Fields, after.Content.Fields)
		}
	}
}

// The same call has another digest each time, so that equal digests do not tell of equal calls.
func TestDigestsAreSalted(t *testing.T) {
	f := newFixture(t, nil)
	for range 2 {
		f.run(t, call("read_file", readSalaries, `{"name":"read_file","arguments":{"pin":"1234"}}`), okResult)
	}
	seen := map[string]bool{}
	for _, e := range f.events.all {
		if e.Kind == record.Decision {
			seen[e.Arguments] = true
		}
	}
	if len(seen) != 2 {
		t.Errorf("two calls have %d digests", len(seen))
	}
}

// Events never hold bytes of hidden values or of secrets that are found, whatever the operator wants to keep.
func TestEventsHoldNoSecrets(t *testing.T) {
	p, _ := policy.Profile(policy.Headless)
	for _, c := range []struct {
		name, to string
		kept     bool
		change   func(*guard.Call)
	}{
		{"a plain destination", "carol@example.com", true, nil},
		{"a handle", "[[NAME#/from]]", false, nil},
		{"a handle, as written", "[[NAME#/from]]", false, func(c *guard.Call) { c.Written = []byte(`{"to":"[[w1#/from]]","body":"b"}`) }},
		{"a found secret", foundKey, false, nil},
		{"a query", "https://x.example/?k=bob@acme", false, nil},
	} {
		f := newFixture(t, func(o *guard.Options) {
			o.Policy, o.Vault = p, vault.New(vault.Limits{})
			o.Contents = guard.Contents{
				Destinations: true, Detection: guard.Detection{Detector: detect.New()},
				Fields: map[string][]string{"mail/send": {"/arguments/to", "/result/content"}, "srv/inbox": {"/result/content"}},
			}
		})
		name := f.hide(t, call("inbox", fetchPage, `{"name":"inbox"}`), mailFromBob)
		send := overlaid(t, "send", `{"to":"`+strings.Replace(c.to, "NAME", name, 1)+`","body":"b"}`)
		send.Session = call("inbox", fetchPage, `{"name":"inbox"}`).Session
		send = f.uses(t, send)
		if c.change != nil {
			c.change(send)
		}
		if v := f.g.Before(t.Context(), send); v.Allowed() {
			v.Admission.After(t.Context(), guard.Answer{Result: []byte(mailFromBob)})
		}
		decisions := 0
		for _, e := range f.events.all {
			if e.Kind != record.Decision {
				continue
			}
			decisions++
			if fields := fmt.Sprint(e.Content.Fields); strings.Contains(string(e.Facts), "acme") || strings.Contains(string(e.Facts), foundKey) ||
				len(send.Uses) > 0 && strings.Contains(fields, "acme") || e.Server == "srv" && len(e.Content.Fields) > 0 {
				t.Errorf("%s: %s %s %q", c.name, e.Phase, e.Facts, e.Content.Fields)
			}
			if e.Server == "mail" && strings.Contains(string(e.Facts), c.to) != c.kept {
				t.Errorf("%s: %s %s", c.name, e.Phase, e.Facts)
			}
			if to := string(e.Content.Fields["/arguments/to"]); c.change != nil && e.Phase == "call" && e.Server == "mail" && to != `"[[w1#/from]]"` {
				t.Errorf("%s: the event has %s", c.name, to)
			}
		}
		if decisions < 3 {
			t.Errorf("%s: %d decisions", c.name, decisions)
		}
	}
}
