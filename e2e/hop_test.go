package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A peer is one of the clients, speaking one era.
type peer struct {
	name   string
	sdk    string
	era    string
	modern bool
}

// peers are the clients that every server is tried with.
var peers = []peer{
	{name: "v1", sdk: "v1"},
	{name: "v2 as 2025", sdk: "v2", era: "legacy"},
	{name: "v2 as 2026", sdk: "v2", era: "2026-07-28", modern: true},
	{name: "v2 finding out", sdk: "v2", era: "auto", modern: true},
}

// job makes the client ask a server everything its subject knows.
func (p peer) job(t *testing.T, s subject, to target) job {
	return job{SDK: p.sdk, Era: p.era, Transport: to, Capabilities: s.capabilities, Steps: s.steps(t)}
}

// direct is the job without Weir: where the server cannot speak the client's era, the old SDK stands in.
func (p peer) direct(t *testing.T, s subject, to target) job {
	if p.crossing(s) {
		p = peers[0]
	}
	return p.job(t, s, to)
}

// crossing tells whether Weir has to translate between eras for this client and server.
func (p peer) crossing(s subject) bool {
	return p.modern && !s.modern
}

// openPolicy writes a policy that lets everything pass, so that a comparison sees labels and nothing else.
func openPolicy(t *testing.T) string {
	return writeFile(t, "open.yaml", "version: 1\ndefault: allow\nrules: []\n")
}

func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// checkSame compares two reports of the same steps.
func checkSame(t *testing.T, l licence, steps []step, direct, through *report) {
	t.Helper()
	for i, s := range steps {
		l.compare(t, s.Method, direct.answer(t, i), through.answer(t, i))
		if through.Steps[i].Fault != "" && direct.Steps[i].Fault == "" {
			t.Errorf("%s: the SDK refused a message that Weir passed: %s", s.Method, through.Steps[i].Fault)
		}
	}
	if direct.Instructions != through.Instructions {
		t.Errorf("instructions %q became %q", direct.Instructions, through.Instructions)
	}
	if t.Failed() && through.stderr != "" {
		t.Logf("standard error:\n%s", through.stderr)
	}
}

// checkLabelled wants a contract on every tool, and a label on every result of a server that is not trusted. A trusted one
// may have nothing to say of a result.
func checkLabelled(t *testing.T, steps []step, through *report) {
	t.Helper()
	for i, s := range steps {
		m := through.answer(t, i)
		if s.Method == "tools/list" {
			tools, _ := m.Result["tools"].([]any)
			for _, tool := range tools {
				if _, ok := lookup(tool, "annotations", "openWorldHint").(bool); !ok {
					t.Errorf("tool without a contract: %v", lookup(tool, "name"))
				}
			}
		}
		if s.Method == "tools/call" && m.Error == nil {
			from, _ := lookup(m.Result, "_meta", "annotations", "attribution").([]any)
			if untrusted := lookup(m.Result, "_meta", "annotations", "openWorldHint"); untrusted != true || len(from) == 0 {
				t.Errorf("result without a label: step %d, %v", i, s.Params)
			}
		}
	}
}

// lookup follows member names down and returns nil where one is missing.
func lookup(v any, path ...string) any {
	for _, name := range path {
		o, _ := v.(object)
		v = o[name]
	}
	return v
}

// TestRepeatable holds the comparisons' ground: a server answers the same questions twice in the same way.
func TestRepeatable(t *testing.T) {
	needEnabled(t)
	for _, s := range subjects(t) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			job := func() job { return peers[2].direct(t, s, s.start(t)) }
			one, two := drive(t, job()), drive(t, job())
			checkSame(t, licence{}, job().Steps, one, two)
		})
	}
}

// TestWrap puts `weir wrap` between every client and every server, trusted or not.
func TestWrap(t *testing.T) {
	needEnabled(t)
	for i, s := range subjects(t) {
		for _, p := range peers {
			t.Run(s.name+"/"+p.name, func(t *testing.T) {
				t.Parallel()
				s := subjects(t)[i] // with files that no other client writes
				direct := drive(t, p.direct(t, s, s.start(t)))
				for _, trust := range []string{"trusted", "untrusted"} {
					t.Run(trust, func(t *testing.T) { checkWrap(t, s, p, trust, direct) })
				}
			})
		}
	}
}

func checkWrap(t *testing.T, s subject, p peer, trust string, direct *report) {
	steps := s.steps(t)
	through := drive(t, p.job(t, s, wrapped(t, s.start(t), "--trust", trust, "--policy", openPolicy(t))))
	if p.modern && through.Protocol != "2026-07-28" {
		t.Errorf("the client ended up with revision %q", through.Protocol)
	}
	checkSame(t, licence{untrusted: trust != "trusted", crossing: p.crossing(s)}, steps, direct, through)
	if trust != "trusted" {
		checkLabelled(t, steps, through)
	}
}

// TestCapabilities wants the host to learn everything that the server offers it.
func TestCapabilities(t *testing.T) {
	needEnabled(t)
	for _, s := range subjects(t) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			p := peers[0]
			direct := drive(t, p.job(t, s, s.start(t)))
			through := drive(t, p.job(t, s, wrapped(t, s.start(t), "--policy", openPolicy(t))))
			for _, c := range diff(nil, direct.Capabilities, through.Capabilities) {
				if c.kind != "added" {
					t.Errorf("capabilities: %v", c)
				}
			}
		})
	}
}

// TestProgress follows the notifications of a slow call back to the client that asked for them.
func TestProgress(t *testing.T) {
	needEnabled(t)
	slow := call("trigger-long-running-operation", object{"duration": 1, "steps": 4})
	slow.Params.(object)["_meta"] = object{"progressToken": "ours-7"}
	ask := func(to target) []change {
		r := drive(t, job{SDK: "v1", Transport: to, Steps: []step{slow}})
		var seen []any
		for _, m := range r.Notified {
			if m.Method == "notifications/progress" {
				seen = append(seen, m.Params)
			}
		}
		if len(seen) == 0 {
			t.Fatalf("no progress was reported\n%s", r.stderr)
		}
		return diff(nil, []any{}, seen)
	}
	direct := ask(reference("everything"))
	through := ask(wrapped(t, reference("everything"), "--policy", openPolicy(t)))
	for _, c := range diff(nil, direct[0].is, through[0].is) {
		t.Errorf("progress: %v", c)
	}
}

// TestServerAsks lets servers send requests to the client: these and their answers pass Weir unchanged.
func TestServerAsks(t *testing.T) {
	needEnabled(t)
	everything := func() target { return reference("everything") }
	library := func() target { return node(filepath.Join(world.scripts, "library.mjs")) }
	capabilities := object{"elicitation": object{}, "roots": object{}, "sampling": object{}}
	for _, c := range []struct {
		name   string
		server func() target
		peer   peer
		call   step
	}{
		{"elicitation", everything, peers[0], call("trigger-elicitation-request", object{})},
		{"roots", everything, peers[0], call("get-roots-list", object{})},
		{"sampling", everything, peers[0], call("trigger-sampling-request", object{"prompt": "hello", "maxTokens": 5})},
		{"both old", library, peers[0], call("borrow", object{"title": "Emma"})},
		{"both new", library, peers[2], call("borrow", object{"title": "Emma"})},
		{"old client of the second generation", library, peers[1], call("borrow", object{"title": "Emma"})},
		{"old server, new client: elicitation", everything, peers[2], call("trigger-elicitation-request", object{})},
		{"old server, new client: roots", everything, peers[2], call("get-roots-list", object{})},
		{"old server, new client: sampling", everything, peers[2],
			call("trigger-sampling-request", object{"prompt": "hello", "maxTokens": 5})},
	} {
		for _, action := range []string{"accept", "decline", "cancel"} {
			t.Run(c.name+"/"+action, func(t *testing.T) {
				t.Parallel()
				ask := func(p peer, to target) *report {
					return drive(t, job{
						SDK: p.sdk, Era: p.era, Transport: to, Capabilities: capabilities,
						Answers: []reply{{Action: action, Fill: action == "accept"}}, Steps: []step{c.call},
					})
				}
				crossing := strings.HasPrefix(c.name, "old server")
				asker := c.peer
				if crossing {
					asker = peers[0] // the server knows no newer one
				}
				direct := ask(asker, c.server())
				through := ask(c.peer, wrapped(t, c.server(), "--policy", openPolicy(t)))
				checkSame(t, licence{crossing: crossing}, []step{c.call}, direct, through)
				if len(direct.Asked) != len(through.Asked) {
					t.Fatalf("asked %d times directly, %d times through Weir", len(direct.Asked), len(through.Asked))
				}
				for i := range direct.Asked {
					unattributed(t, direct.Asked[i], through.Asked[i])
					for _, c := range diff(nil, direct.Asked[i], through.Asked[i]) {
						t.Errorf("question %d: %v", i, c)
					}
				}
			})
		}
	}
}

// unattributed takes the name of the server, which Weir puts first, out of an elicitation that came through Weir.
func unattributed(t *testing.T, direct, through object) {
	t.Helper()
	asked, ok := direct["message"].(string)
	if !ok {
		return
	}
	shown, _ := through["message"].(string)
	first, quoted, _ := strings.Cut(shown, "\n")
	if !strings.HasPrefix(first, "Server ") || !strings.HasSuffix(first, "not Weir. Your answer goes to that server.") || strings.ReplaceAll("\n"+quoted, "\n> ", "\n") != "\n"+asked {
		t.Errorf("%q is shown as %q", asked, shown)
	}
	through["message"] = asked
}
