package interceptors_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/detect"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/interceptor"
	"github.com/weir-mcp/weir/internal/gateway/agentsession"
	"github.com/weir-mcp/weir/internal/gateway/approve"
	"github.com/weir-mcp/weir/internal/interceptors"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rulefile"
	"github.com/weir-mcp/weir/overlay"
	"github.com/weir-mcp/weir/overlay/catalogue"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/session"
	"github.com/weir-mcp/weir/store"
)

// A desk is a decider over a store in memory, with the servers of the fixtures.
type desk struct {
	t       *testing.T
	by      *interceptors.Decider
	host    *interceptor.Host
	entries []interceptor.Entry
	book    *approve.Book
}

// shapes are rules for the secrets of the fixtures, which are shorter than real ones.
const shapes = `
[[rules]]
id = "fixture-stripe"
description = "key of the fixtures"
regex = 'sk_live_[A-Za-z0-9]{22}'
[[rules]]
id = "fixture-github"
description = "key of the fixtures"
regex = 'ghp_[A-Za-z0-9]{25}'
[[rules]]
id = "fixture-aws"
description = "key of the fixtures"
regex = 'AKIA[A-Z0-9]{16}'
`

// overlays are those of the catalogue for the servers of the fixtures.
var overlays = sync.OnceValue(func() (all struct{ filesystem, sqlite *overlay.Overlay }) {
	for _, one := range []struct {
		to      **overlay.Overlay
		command []string
	}{
		{&all.filesystem, []string{"npx", "-y", "@modelcontextprotocol/server-filesystem", "/workspace"}},
		{&all.sqlite, []string{"uvx", "mcp-server-sqlite"}},
	} {
		o, err := catalogue.For(overlay.Server{Command: one.command})
		if err != nil || o == nil {
			panic("the catalogue lacks a server of the fixtures")
		}
		*one.to = o
	}
	return all
})

func open(t *testing.T, states guard.State) *desk { return openWith(t, states, nil) }

// openWith opens a desk with another trust in servers than that of its configuration; nil: it is the same.
func openWith(t *testing.T, states guard.State, trust func(context.Context, string) (contract.Trust, error)) *desk {
	t.Helper()
	rules, err := rulefile.Load("shapes.toml", []byte(shapes))
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{t: t, book: approve.NewBook(approve.Options{Record: states, Store: store.NewMemory(nil), Sessions: states.Sessions()})}
	g, err := guard.New(guard.Options{State: states, Approvals: d.book, Contents: guard.Contents{Detection: guard.Detection{
		Detector: detect.NewWith(detect.Options{Further: []detect.Search{rules.Search}}),
		Effects:  map[string]guard.FindingEffect{string(detect.Credentials): guard.Redact},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	d.by, err = interceptors.New(interceptors.Options{
		Guard: g, Questions: d.book, Redacts: true, Logger: slog.New(slog.DiscardHandler), Trust: trust,
		Servers: []interceptors.Server{
			{Name: "filesystem", Trust: contract.Known, Overlay: overlays().filesystem},
			{Name: "sqlite", Trust: contract.Known, Overlay: overlays().sqlite},
			{Name: "strange"},
			{Name: "trusted", Trust: contract.Trusted},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if d.host, err = d.by.Host(agentsession.LocalPrincipal); err != nil {
		t.Fatal(err)
	}
	raw, err := d.host.List(nil)
	if err != nil {
		t.Fatal(err)
	}
	var listed struct{ Interceptors []interceptor.Descriptor }
	if err := json.Unmarshal(raw, &listed); err != nil {
		t.Fatal(err)
	}
	for _, i := range listed.Interceptors {
		d.entries = append(d.entries, interceptor.Entry{Descriptor: i, Invoke: d.host.Invoke})
	}
	return d
}

func inMemory() guard.State {
	return guard.NewState(session.New(session.Options{Store: store.NewMemory(nil)}), record.Discard())
}

// run runs those of Weir's interceptors that a test wants, or all, over a payload from or to a server.
func (d *desk) run(server string, phase interceptor.Phase, payload string, about interceptor.Context, only ...string) interceptor.Outcome {
	d.t.Helper()
	var entries []interceptor.Entry
	for _, e := range d.entries {
		if len(only) == 0 || slices.Contains(only, e.Name) {
			e.Overrides.Config = json.RawMessage(`{"server":` + string(rawjson.Quote(server)) + `}`)
			entries = append(entries, e)
		}
	}
	way := interceptor.Sending
	if phase == interceptor.Response {
		way = interceptor.Receiving
	}
	return interceptor.NewPlan(entries, "tools/call", phase).Run(d.t.Context(), way, json.RawMessage(payload), interceptor.Invocation{Context: about})
}

// serverOf says which server has a tool of the fixtures, as the suite's reference adapter does.
var serverOf = map[string]string{"read_file": "filesystem", "write_file": "filesystem", "write_query": "sqlite"}

// byBehaviour are the interceptors that stand for a behaviour of the suite.
var byBehaviour = map[string][]string{"cross-boundary-guard": {"weir-call", "weir-result"}, "secretless-redactor": {"weir-redact"}}

// TestFixtures replays the working group's fixtures of the behaviour of security interceptors.
func TestFixtures(t *testing.T) {
	text, err := os.ReadFile("../../interceptor/testdata/fixtures.json")
	if err != nil {
		t.Fatal(err)
	}
	var fixtures []struct {
		ID, Kind     string
		Interceptors []struct{ Behavior string }
		Steps        []struct {
			Phase   interceptor.Phase
			Payload json.RawMessage
			Context interceptor.Context
			Expect  struct {
				Decision string
				Forbids  []string
			}
		}
	}
	if err := json.Unmarshal(text, &fixtures); err != nil {
		t.Fatal(err)
	}
	replayed := 0
	for _, f := range fixtures {
		if f.Kind != "behavior" {
			continue
		}
		replayed++
		t.Run(strings.TrimPrefix(f.ID, "behavior/"), func(t *testing.T) {
			d := open(t, inMemory())
			var only []string
			for _, i := range f.Interceptors {
				only = append(only, byBehaviour[i.Behavior]...)
			}
			server := ""
			for i, s := range f.Steps {
				if name, _ := rawjson.Get(s.Payload, "name"); s.Phase == interceptor.Request {
					tool, _ := rawjson.String(name)
					server = serverOf[tool]
				}
				got := d.run(server, s.Phase, string(s.Payload), s.Context, only...)
				if got.Released != (s.Expect.Decision == "allow") {
					t.Errorf("step %d: released is %v, want the decision %s: %s", i, got.Released, s.Expect.Decision, said(got))
				}
				for _, secret := range s.Expect.Forbids {
					if strings.Contains(string(got.Payload), secret) {
						t.Errorf("step %d: the payload still has the secret: %s", i, got.Payload)
					}
				}
			}
		})
	}
	if replayed != 10 {
		t.Errorf("there are %d fixtures of behaviour, not 10", replayed)
	}
}

// said returns what the steps of an outcome said.
func said(o interceptor.Outcome) string {
	var all []string
	for _, s := range o.Steps {
		if s.Err != nil {
			all = append(all, s.Name+": "+s.Err.Error())
			continue
		}
		for _, m := range s.Result.Messages {
			all = append(all, s.Name+": "+m.Message)
		}
	}
	return strings.Join(all, "; ")
}

// TestTrustThatWasLost has a result of a server that the operator trusts, whose own word about it counts as long as the
// server is trusted. Nothing goes while that is not known.
func TestTrustThatWasLost(t *testing.T) {
	var lost error
	now := contract.Trusted
	d := openWith(t, inMemory(), func(context.Context, string) (contract.Trust, error) { return now, lost })
	const result = `{"content":[],"_meta":{"annotations":{"openWorldHint":false,"returnMetadata":{"source":"system","sensitivity":"none"}}}}`
	untrusted := func() bool {
		about := interceptor.Context{SessionID: now.String()}
		d.run("trusted", interceptor.Request, `{"name":"inbox","arguments":{}}`, about)
		got := d.run("trusted", interceptor.Response, result, about)
		hint, _ := rawjson.Get(got.Payload, "_meta", "annotations", "openWorldHint")
		return string(hint) != "false"
	}
	if untrusted() {
		t.Error("the word of a trusted server does not count")
	}
	if now = contract.Untrusted; !untrusted() {
		t.Error("the word of a server that is trusted no more counts")
	}
	lost = errors.New("the disk is gone")
	if got := d.run("trusted", interceptor.Request, `{"name":"inbox","arguments":{}}`, interceptor.Context{SessionID: "c"}); got.Released {
		t.Errorf("without a store: %s", said(got))
	}
}
