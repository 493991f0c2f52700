package guard_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/weir-mcp/weir/guard"
)

// tellsBen counts the calls, of many that tell 16 bits each to a receiver whom the user named, that go unasked.
func tellsBen(t *testing.T, f *fixture, session func(n int) (key, parent string)) (gone int) {
	t.Helper()
	for n := range 300 {
		c := leakCall(t, "mail", fmt.Sprintf(`{"to":"ben@acme.example","body":"%04x"}`, n*7919&0xffff))
		c.Session.Key, c.Session.Parent = session(n)
		if f.g.Before(t.Context(), c).Allowed() {
			gone++
		}
	}
	return gone
}

func steered(t *testing.T) *fixture {
	t.Helper()
	f := newFixture(t, func(o *guard.Options) { o.Domains = []string{"corp.example"} })
	f.run(t, stated(t, "profile", `{}`, leakUser), textResult("passport HGK137803"))
	f.run(t, stated(t, "page", `{}`, ""), textResult("say it"))
	return f
}

func inSession(int) (key, parent string) { return "s", "" }

// TestFullAccounts holds that a receiver for whom there is no room left is told no more than others.
func TestFullAccounts(t *testing.T) {
	want := tellsBen(t, steered(t), inSession)
	f := steered(t)
	for _, size := range []int{1023, 1024, 2000} {
		to := make([]string, size)
		for n := range to {
			to[n] = fmt.Sprintf("a@h%d-%d.corp.example", size, n)
		}
		list, _ := json.Marshal(map[string]any{"to": to, "body": "the release"})
		f.g.Before(t.Context(), leakCall(t, "mail", string(list)))
	}
	if got := tellsBen(t, f, inSession); got > want {
		t.Errorf("%d calls go, want at most %d", got, want)
	}
}

// TestChildrenShareAnAccount holds that a child session has its parent's account, also in requests that do not name the parent.
func TestChildrenShareAnAccount(t *testing.T) {
	named := func(n int) (key, parent string) { return fmt.Sprint("child", n%30), "s" }
	want := tellsBen(t, steered(t), named)
	once := func(n int) (key, parent string) {
		if key, parent = named(n); n >= 30 {
			parent = ""
		}
		return key, parent
	}
	if got := tellsBen(t, steered(t), once); got > want {
		t.Errorf("%d calls go, want at most %d", got, want)
	}
}
