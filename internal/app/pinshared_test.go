package app

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/pins"
	"github.com/weir-mcp/weir/store"
)

// Machines that share a store agree on the first definition, on the one that the user accepts at one of them, and on its removal.
func TestSharedPins(t *testing.T) {
	kept := store.NewMemory(nil)
	c := &config.Config{Store: "postgres://db/weir", Servers: []config.Server{{Name: "mail", Command: "mail"}}}
	env := &home.Env{Environ: []string{"USER=ann"}}
	machine := func(c *config.Config, mode pins.Mode) *pins.File {
		t.Helper()
		f, err := pins.Open(filepath.Join(t.TempDir(), "weir.lock"), pins.Options{Mode: mode, Shared: sharedIn(env, kept, pinScopes(c))})
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	tool := func(name, description string) json.RawMessage {
		return json.RawMessage(fmt.Sprintf(`{"name":%q,"description":%q,"inputSchema":{"a":"<&\u00e9"}}`, name, description))
	}
	check := func(f *pins.File, wantHeld, wantPinned []string, tools ...json.RawMessage) map[string]pins.Held {
		t.Helper()
		c, err := f.Check(t.Context(), pins.Offer{Server: "mail", Kind: pins.Tools, Entries: pins.Tools.Entries(tools)})
		if err != nil {
			t.Fatal(err)
		}
		held, pinned := c.Held, c.Pinned
		var names []string
		for name := range held {
			names = append(names, name)
		}
		slices.Sort(names)
		if !slices.Equal(names, wantHeld) || !slices.Equal(pinned, wantPinned) {
			t.Errorf("held %q, pinned %q; want %q and %q", names, pinned, wantHeld, wantPinned)
		}
		return held
	}
	odd := strings.Repeat("a name that is too long ", 100)
	a, b, review := machine(c, pins.FirstUse), machine(c, pins.FirstUse), machine(c, pins.Review)
	check(a, nil, []string{odd, "send"}, tool("send", "old"), tool(odd, ""))
	check(b, []string{"send"}, []string{odd}, tool("send", "new"), tool(odd, "")) // not what the first one saw
	check(b, nil, nil, tool("send", "old"))
	check(review, []string{"send"}, nil, tool("send", "old")) // seen, and accepted by nobody

	held := check(a, []string{"send"}, nil, tool("send", "new"))
	if err := a.Accept(t.Context(), []pins.Held{held["send"]}); err != nil {
		t.Fatal(err)
	}
	for _, f := range []*pins.File{a, b, review, machine(c, pins.FirstUse)} {
		offer := pins.Offer{Server: "mail", Kind: pins.Tools, Entries: pins.Tools.Entries([]json.RawMessage{tool("send", "new")})}
		if _, err := f.Check(t.Context(), offer); err != nil {
			t.Fatal(err)
		}
		check(f, nil, nil, tool("send", "new"))
		check(f, []string{"send"}, nil, tool("send", "newer"))
	}
	only := pins.Offer{Server: "mail", Kind: pins.Tools, Entries: pins.Tools.Entries([]json.RawMessage{tool(odd, "")})}
	if err := a.Review(t.Context(), []pins.Offer{only}); err != nil {
		t.Error(err)
	}
	check(machine(c, pins.FirstUse), nil, []string{"send"}, tool("send", "another"))

	other := &config.Config{Store: c.Store, Servers: []config.Server{{Name: "mail", Command: "another-mail"}}}
	check(machine(other, pins.FirstUse), nil, []string{"send"}, tool("send", "a server of another configuration"))
	if pinScopes(&config.Config{Store: "/var/lib/weir/state.db", Servers: c.Servers}) != nil {
		t.Error("pins are shared in a file's store")
	}
}
