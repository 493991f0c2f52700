package trace_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/weir-mcp/weir/guard/trace"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/session"
)

// A call is local only if every destination is, for sure, at localhost or a loopback address.
func TestLocalDestinations(t *testing.T) {
	for _, c := range []struct {
		want bool
		to   []string
	}{
		{true, []string{"http://localhost:3000/a"}},
		{true, []string{"http://127.0.0.1/", "http://[::1]:8080/x"}},
		{true, []string{"http://127.9.9.9/"}},
		{true, []string{"http://0x7f.1/"}},
		{true, []string{"HTTP://LOCALHOST./"}},
		{false, nil},
		{false, []string{"http://localhost/", "https://evil.example/"}},
		{false, []string{"http://localhost/", "somewhere"}},
		{false, []string{"http://localhost@evil.example/"}},
		{false, []string{`http://evil.example\@localhost/`}},
		{false, []string{"http://localhost.evil.example/"}},
		{false, []string{"http://127.0.0.1.nip.io/"}},
		{false, []string{"http://0.0.0.0/"}},
		{false, []string{"http://10.0.0.1/"}},
	} {
		var to []policy.Argument
		for i, text := range c.to {
			to = append(to, policy.Argument{Path: fmt.Sprintf("to[%d]", i), Text: text})
		}
		arguments, err := json.Marshal(map[string]any{"to": c.to})
		if err != nil {
			t.Fatal(err)
		}
		for _, roles := range []policy.Roles{{Known: true, Destinations: to}, {Known: true, Cut: true, Destinations: to}, {}} {
			f := &policy.Facts{Arguments: arguments, Roles: roles}
			tracer := trace.New(trace.Options{})
			tracer.Trace(&trace.Call{Session: session.Ref{Key: "s"}, Server: "web", Name: "get", URI: "mcp://web/get", Arguments: arguments}, f, false)
			if want := c.want && roles.Known && !roles.Cut; f.Call.Local != want || !f.Call.Traced {
				t.Errorf("%q, of roles %+v: %v", c.to, roles, f.Call.Local)
			}
		}
	}
}
