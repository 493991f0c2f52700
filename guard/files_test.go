package guard_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/overlay"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/session"
)

const diskOverlay = `
version: 1
overlays:
  - name: disk
    match: [{server: disk}]
    tools:
      write:
        contract: {readOnly: false, destructive: true, openWorld: false, destinations: [user], outcomes: [consequential, irreversible], sources: [system], returns: []}
        when:
          - if: path.plain(call.arguments.path)
            contract: {outcomes: [consequential]}
        arguments: {destination: [path], content: [content]}
        resource: {writes: ["file://{path}"]}
      move:
        contract: {readOnly: false, destructive: false, openWorld: false, destinations: [user], outcomes: [consequential], sources: [system], returns: []}
        resource: {reads: ["file://{from}"], writes: ["file://{to}"]}
      read:
        contract: {readOnly: true, openWorld: false, destinations: [ephemeral], outcomes: [benign], sources: [user], returns: []}
        resource: {reads: ["file://{path}"]}
      list:
        contract: {readOnly: true, openWorld: false, destinations: [ephemeral], outcomes: [benign], sources: [user], returns: []}
        resource: {folders: ["file://{path}"]}
      compare:
        contract: {readOnly: true, openWorld: false, destinations: [ephemeral], outcomes: [benign], sources: [user], returns: []}
        resource: {reads: ["file://{path}"], folders: ["file://{content}"]}
      search:
        contract: {readOnly: true, openWorld: false, destinations: [ephemeral], outcomes: [benign], sources: [user], returns: []}
      mkdir:
        contract: {readOnly: false, destructive: false, openWorld: false, destinations: [user], outcomes: [consequential], sources: [system], returns: []}
`

// disk is a machine's files: links, one own file, and a folder of strangers. Relative paths are below /home.
type disk struct{ links map[string]string }

func (d disk) find(p string) string {
	p = strings.TrimPrefix(p, "file://")
	if !strings.HasPrefix(p, "/") {
		p = "/home/" + p
	}
	p = path.Clean(p)
	for range 9 {
		for from, to := range d.links {
			if rest, ok := strings.CutPrefix(p, from); ok && (rest == "" || rest[0] == '/') {
				p = to + rest
			}
		}
	}
	return p
}

func (d disk) Own(t guard.Touch) string {
	for _, a := range t.Texts {
		if d.find(a.Text) == "/home/weir.yaml" {
			return "/home/weir.yaml"
		}
	}
	return ""
}

func (d disk) Locate(_, p string) guard.Place {
	return guard.Place{Names: []string{d.find(p)}, Unsure: strings.Contains(p, "unsure")}
}

func (d disk) Runs(guard.Touch) string { return "" }

func (d disk) Foreign(_, p string) string {
	if strings.HasPrefix(d.find(p)+"/", "/clone/") {
		return "it is a stranger's"
	}
	return ""
}

func (d disk) Inside(_, p string, _ func(string) bool) string {
	if d.find(p) == "/around" {
		return "there is a stranger's clone in it"
	}
	return ""
}

func newDisk(t *testing.T, mode policy.Mode) *notes {
	t.Helper()
	set, err := overlay.Load("disk.yaml", []byte(diskOverlay))
	if err != nil {
		t.Fatal(err)
	}
	n := &notes{t: t, sessions: session.New(session.Options{}), said: set.For(overlay.Server{Name: "disk"}), taints: &lasting{Taints: session.NewTaints(session.TaintOptions{})}}
	files := disk{map[string]string{"/home/link.txt": "/home/d/real.txt", "/home/hook": "/home/.git/hooks/pre-commit", "/home/alias": "/home/weir.yaml", "/home/in": "/clone"}}
	n.g, err = guard.New(guard.Options{State: guard.NewState(n.sessions, record.Discard()), Taints: n.taints, Mode: mode, Files: files})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// use is a call with these arguments.
func (n *notes) use(in, tool string, arguments map[string]string) *guard.Call {
	raw, err := json.Marshal(arguments)
	if err != nil {
		n.t.Fatal(err)
	}
	c := n.call(in, tool, "")
	c.Server, c.Arguments, c.Params = "disk", raw, json.RawMessage(`{"name":"`+tool+`","arguments":`+string(raw)+`}`)
	return c
}

// make makes a call whose server answers, and returns the label of the session afterwards.
func (n *notes) make(in, tool string, arguments map[string]string) (label.Label, guard.Verdict) {
	c := n.use(in, tool, arguments)
	v := n.g.Before(n.t.Context(), c)
	if v.Allowed() {
		v.Admission.After(n.t.Context(), guard.Answer{Result: json.RawMessage(`{"content":[]}`)})
	}
	s, err := n.sessions.Snapshot(n.t.Context(), in)
	if err != nil {
		n.t.Fatal(err)
	}
	return s.Label, v
}

// What is Weir's own is out of reach in every mode, for every member, whether the operator says what a tool is or not.
func TestOwnFiles(t *testing.T) {
	for _, mode := range []policy.Mode{policy.Enforce, policy.WarnOnly, policy.Audit} {
		n := newDisk(t, mode)
		for i, arguments := range []map[string]string{{"path": "weir.yaml"}, {"path": "alias"}, {"path": "a", "other": "/home/alias"}, {"path": "a", "content": "alias"}} {
			if _, v := n.make(fmt.Sprint(mode, i), "write", arguments); v.Effect != policy.Block || v.Rule != guard.RuleOwnFiles {
				t.Errorf("%s, %v: %s by %s", mode, arguments, v.Effect, v.Rule)
			}
			r, err := n.g.Resolve(t.Context(), n.use("r", "write", arguments))
			if err != nil || r.Verdict.Effect != policy.Block {
				t.Errorf("%s, %v: resolved to %s, %v", mode, arguments, r.Verdict.Effect, err)
			}
		}
		for _, c := range []*guard.Call{
			{Server: "disk", Method: "resources/read", Name: "file:///home/alias", Params: json.RawMessage(`{"uri":"file:///home/alias"}`)},
			{Server: "disk", Method: "x/y", Name: "x/y", Params: json.RawMessage(`{"a":[{"b":"alias"}]}`)},
			{Server: "disk", Method: "tools/call", Name: "t", Params: json.RawMessage(`{"name":"t","arguments":{"files":{"alias":1}}}`), Arguments: json.RawMessage(`{"files":{"alias":1}}`)},
		} {
			c.Session = session.Ref{Key: "o", Principal: "ann"}
			c.Effective = contract.Pessimistic()
			if v := n.g.Before(t.Context(), c); v.Rule != guard.RuleOwnFiles {
				t.Errorf("%s: %s %s: %s by %s", mode, c.Method, c.Params, v.Effect, v.Rule)
			}
		}
		if _, v := n.make("fine", "write", map[string]string{"path": "a.txt", "content": "see alias and weir.yaml"}); v.Rule == guard.RuleOwnFiles {
			t.Errorf("%s: an ordinary file: %s", mode, v.Rule)
		}
	}
}

// Conditions hold for a path as it is written and as it leads.
func TestConditionsOnLinks(t *testing.T) {
	for file, free := range map[string]bool{
		"a.txt": true, "/home/a.txt": true, "link.txt": true, "/home/link.txt": true,
		"hook": false, "/home/hook": false, "./hook": false, "x/../hook": false, "/home/unsure.txt": false, ".git/hooks/pre-commit": false,
	} {
		n := newDisk(t, policy.Enforce)
		n.raise("s", label.Label{Untrusted: true})
		if _, v := n.make("s", "write", map[string]string{"path": file, "content": "x"}); v.Allowed() != free {
			t.Errorf("%s: %s by %s", file, v.Effect, v.Rule)
		}
	}
}

// Reading a stranger's file makes the session untrusted; so does looking into a stranger's folder, though nobody says what the tool reads.
func TestForeignFiles(t *testing.T) {
	for _, c := range []struct {
		tool, path string
		untrusted  bool
	}{
		{"read", "/home/a.txt", false}, {"read", "/clone/README.md", true}, {"read", "in/README.md", true}, {"read", "../clone/x", true},
		{"search", "/clone", true}, {"search", "/home", false}, {"search", "in", true},
		{"read", "/around", true}, {"search", "/around", true}, {"list", "/around", false}, {"list", "/clone", true}, {"compare", "/around", true}, {"mkdir", "/clone/x", false}, {"write", "/clone/x", false},
	} {
		got, v := newDisk(t, policy.Enforce).make("s", c.tool, map[string]string{"path": c.path, "content": "x"})
		if got.Untrusted != c.untrusted || !v.Allowed() {
			t.Errorf("%s %s: untrusted %v, %s by %s", c.tool, c.path, got.Untrusted, v.Effect, v.Rule)
		}
	}
	if got, _ := newDisk(t, policy.Enforce).make("s", "compare", map[string]string{"path": "/around", "content": "/around"}); !got.Untrusted {
		t.Error("a folder that is read counts as one that is listed alone")
	}
	for files, many := range map[int]bool{100: false, 200: true} {
		paths := map[string]string{}
		for i := range files {
			paths[fmt.Sprint("path", i)] = fmt.Sprintf("/home/%d.txt", i)
		}
		if got, _ := newDisk(t, policy.Enforce).make("s", "search", paths); got.Untrusted != many {
			t.Errorf("a search of %d files: untrusted %v", files, got.Untrusted)
		}
	}
	n := newDisk(t, policy.Enforce)
	c := &guard.Call{Session: session.Ref{Key: "s", Principal: "ann"}, Server: "disk", Method: "resources/read", Name: "file:///clone/a", Params: json.RawMessage(`{"uri":"file:///clone/a"}`)}
	answer(t, n.g, c, guard.Answer{Result: json.RawMessage(`{"contents":[]}`)})
	if s, _ := n.sessions.Snapshot(t.Context(), "s"); !s.Label.Untrusted {
		t.Error("a resource of a clone leaves the session clean")
	}
}

// A label goes with a file wherever it is moved or copied, under whatever name, and no file gets a label that no model would give
// it: random sequences of writes, moves and reads, each in a session of its own, against a model by hand.
func TestLabelsMoveWithFiles(t *testing.T) {
	const rounds, steps = 25, 25
	for seed := range uint64(rounds) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		n := newDisk(t, policy.Audit)
		files := disk{map[string]string{"/home/link.txt": "/home/d/real.txt", "/home/in": "/clone"}}
		var told []string // places with a label
		names := []string{"a.txt", "/home/b.txt", "d/real.txt", "/home/link.txt", "link.txt", "d", "d/e/f.txt", "./a.txt", "in/x", "/clone/y", "d/../b.txt"}
		has := func(p string) bool {
			p = files.find(p)
			if files.Foreign("", p) != "" {
				return true
			}
			for _, at := range told {
				if at == p || strings.HasPrefix(at, p+"/") || strings.HasPrefix(p, at+"/") {
					return true
				}
			}
			return false
		}
		pick := func() string { return names[rnd.IntN(len(names))] }
		var history []string
		for step := range steps {
			in := fmt.Sprint("s", seed, "-", step)
			switch from, to := pick(), pick(); rnd.IntN(4) {
			case 0:
				if dirty := rnd.IntN(3) == 0; dirty {
					n.raise(in, label.Label{Untrusted: true})
					told = append(told, files.find(to))
				}
				n.make(in, "write", map[string]string{"path": to, "content": "x"})
				history = append(history, fmt.Sprint("write ", to, " ", told))
			case 1:
				if has(from) {
					told = append(told, files.find(to))
				}
				n.make(in, "move", map[string]string{"from": from, "to": to})
				history = append(history, "move "+from+" "+to)
			default:
				if got, _ := n.make(in, "read", map[string]string{"path": from}); got.Untrusted != has(from) {
					t.Fatalf("seed %d: reading %s: untrusted %v; history:\n%s", seed, from, got.Untrusted, strings.Join(history, "\n"))
				}
			}
		}
	}
}
