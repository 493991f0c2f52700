package guard_test

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/record"
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
