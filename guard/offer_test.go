package guard_test

import (
	"encoding/json"
	"testing"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/policy"
)

// vouched is stated, of a server that the operator knows.
func vouched(t testing.TB, name, arguments, user string) *guard.Call {
	c := stated(t, name, arguments, user)
	c.Trust = contract.Known
	c.Schema = json.RawMessage(`{"properties":{"url":{"type":"string"},"query":{"type":"string"},"channel":{"type":"string"},"text":{"type":"string"}}}`)
	c.Effective = contract.Overlaid(c.Overlay.Static(), c.Declared, c.Trust)
	return c
}

// listedName returns the name that a question shows for the channel.
func listedName(q *guard.Question) string {
	for _, v := range q.Values {
		if v.Path == "channel" {
			return v.Listed.Name
		}
	}
	return ""
}

// TestNamesForIDs holds that the id of a thing is the user's where the directory of its server has one thing of the name that the user said.
func TestNamesForIDs(t *testing.T) {
	const user = "Post in #bridges that the bridge is closed"
	const list = `{"channels":[{"id":"C01","name":"bridges"},{"id":"C02","name":"tolls"}]}`
	say := func(id string) string { return `{"channel":"` + id + `","text":"the bridge is closed"}` }
	for _, c := range []struct {
		name, directory, page, id string
		want                      policy.Effect
		shown                     string // the name in the request
	}{
		{"the channel that the user named", list, "", "C01", policy.Allow, ""},
		{"another", list, "", "C02", policy.Ask, "tolls"},
		{"no directory", `{"channels":[]}`, "", "C01", policy.Ask, ""},
		{"a stranger's page", `{"channels":[]}`, list, "C01", policy.Ask, ""},
		{"two of the name", `{"channels":[{"id":"C01","name":"bridges"},{"id":"C66","name":"bridges"}]}`, "", "C66", policy.Ask, ""},
		{"the first of two", `{"channels":[{"id":"C01","name":"bridges"},{"id":"C66","name":"bridges"}]}`, "", "C01", policy.Ask, ""},
		{"a name like it", `{"channels":[{"id":"C66","name":"Bridges"}]}`, "", "C66", policy.Ask, "Bridges"},
		{"a name that the user said of something else", `{"channels":[{"id":"C66","name":"closed"}]}`, "", "C66", policy.Ask, "closed"},
		{"two names of an id", `{"channels":[{"id":"C66","name":"bridges"},{"id":"C66","name":"tolls"}]}`, "", "C66", policy.Ask, ""},
		{"a name in it", `{"channels":[{"id":"C66","name":"bridge"}]}`, "", "C66", policy.Ask, "bridge"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, nil)
			f.run(t, vouched(t, "page", `{}`, user), textResult(c.page))
			f.run(t, vouched(t, "channels", `{}`, ""), textResult(c.directory))
			v := f.g.Before(t.Context(), vouched(t, "post", say(c.id), ""))
			if v.Effect != c.want {
				t.Errorf("%s by %s", v.Effect, v.Rule)
			}
			if v.Question != nil && listedName(v.Question) != c.shown {
				t.Errorf("the request names it %q, not %q", listedName(v.Question), c.shown)
			}
			other := vouched(t, "post", say(c.id), "")
			other.Server = "another"
			if v := f.g.Before(t.Context(), other); v.Effect != policy.Ask {
				t.Errorf("on another server: %s", v.Effect)
			}
		})
	}
}
