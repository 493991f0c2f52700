package guard_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/overlay"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/session"
)

const notesOverlay = `
version: 1
overlays:
  - name: notes
    match: [{server: notes}]
    tools:
      write:
        contract: {readOnly: false, destructive: false, openWorld: false, destinations: [internal], outcomes: [consequential], sources: [system], returns: []}
        resource: {writes: ["file://{path}"]}
      download:
        contract: {readOnly: false, destructive: false, openWorld: true, destinations: [user], outcomes: [consequential], sources: [untrustedPublic], returns: []}
        resource: {writes: ["file://{path}"]}
      read:
        contract: {readOnly: true, openWorld: false, destinations: [ephemeral], outcomes: [benign], sources: [system], returns: []}
        resource: {reads: ["file://{path}"]}
`

// lasting are taints that may fail.
type lasting struct {
	*session.Taints
	err error
}

func (l *lasting) Taint(ctx context.Context, resource string, of label.Label) error {
	if l.err != nil {
		return l.err
	}
	return l.Taints.Taint(ctx, resource, of)
}

func (l *lasting) Tainted(ctx context.Context, resource string) (label.Label, error) {
	if l.err != nil {
		return label.Label{}, l.err
	}
	return l.Taints.Tainted(ctx, resource)
}

// notes is a guard with taints, and the calls of a notes server.
type notes struct {
	t        *testing.T
	g        *guard.Guard
	sessions *session.Sessions
	said     *overlay.Overlay
	taints   *lasting
}

func newNotes(t *testing.T) *notes {
	t.Helper()
	set, err := overlay.Load("notes.yaml", []byte(notesOverlay))
	if err != nil {
		t.Fatal(err)
	}
	n := &notes{t: t, sessions: session.New(session.Options{}), said: set.For(overlay.Server{Name: "notes"}), taints: &lasting{Taints: session.NewTaints(session.TaintOptions{})}}
	n.g, err = guard.New(guard.Options{State: guard.NewState(n.sessions, record.Discard()), Taints: n.taints})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (n *notes) call(in, tool, path string) *guard.Call {
	arguments, err := json.Marshal(map[string]string{"path": path})
	if err != nil {
		n.t.Fatal(err)
	}
	said := n.said.Tool(tool)
	return &guard.Call{
		ID: in + tool + path, Session: session.Ref{Key: in, Principal: "ann"}, Server: "notes", Method: "tools/call", Name: tool,
		Params: json.RawMessage(`{"arguments":` + string(arguments) + `}`), Arguments: arguments,
		Overlay: said, Effective: contract.Overlaid(said.Static(), contract.Contract{}, contract.Untrusted),
	}
}

// do makes a call whose server answers, and returns the label of the session afterwards and whether all of it was allowed.
func (n *notes) do(in, tool, path string) (label.Label, bool) {
	c := n.call(in, tool, path)
	allowed := n.g.Before(n.t.Context(), c).Admission.After(n.t.Context(), guard.Answer{Result: json.RawMessage(`{"content":[]}`)}).Allowed()
	s, err := n.sessions.Snapshot(n.t.Context(), in)
	if err != nil {
		n.t.Fatal(err)
	}
	return s.Label, allowed
}

func (n *notes) raise(in string, l label.Label) {
	if _, _, err := n.sessions.Open(n.t.Context(), session.Ref{Key: in, Principal: "ann"}); err != nil {
		n.t.Fatal(err)
	}
	if _, err := n.sessions.Raise(n.t.Context(), in, l); err != nil {
		n.t.Fatal(err)
	}
}

// What one session writes after it has read strangers' text and private data, another reads with their label, however it spells the name.
func TestTaintComesBack(t *testing.T) {
	seen := label.Label{Untrusted: true, Sensitivity: label.SetOf(label.PII)}.Normal()
	for _, c := range []struct {
		written, read string
		back          bool
	}{
		{"/data/a.txt", "/data/a.txt", true},
		{"/data/a.txt", "/data/./b/../a.txt", true},
		{"/data/x/../a.txt", "/data/a.txt", true},
		{"/data/a.txt", "/data", true},
		{"/data", "/data/a.txt", true},
		{"/data/a.txt", "/data/b.txt", false},
		{"/data/a.txt", "/other/a.txt", false},
		{"/../../a.txt", "/a.txt", true},
		{"/Data/a.txt", "/data/A.txt", true},
	} {
		n := newNotes(t)
		n.raise("one", seen)
		if _, ok := n.do("one", "write", c.written); !ok {
			t.Fatalf("writing %s is not allowed", c.written)
		}
		got, ok := n.do("two", "read", c.read)
		if back := got.Covers(seen); !ok || back != c.back {
			t.Errorf("written to %s, read from %s: allowed %t, comes back %t: %+v", c.written, c.read, ok, back, got)
		}
	}
}

// A file that a clean session downloads is by strangers for every session that reads it.
func TestDownloadsAreStrangers(t *testing.T) {
	n := newNotes(t)
	for _, tool := range []string{"write", "download"} {
		if _, ok := n.do("one "+tool, tool, "/data/"+tool+".txt"); !ok {
			t.Fatalf("%s is not allowed", tool)
		}
		got, _ := n.do("two "+tool, "read", "/data/"+tool+".txt")
		if want := tool == "download"; got.Untrusted != want {
			t.Errorf("%s: untrusted %t, want %t", tool, got.Untrusted, want)
		}
	}
}

// A session that has seen nothing taints nothing.
func TestNoTaintOfNothing(t *testing.T) {
	n := newNotes(t)
	n.raise("one", label.Label{})
	n.do("one", "write", "/a")
	if got, _ := n.do("two", "read", "/a"); got.Untrusted || got.Private {
		t.Errorf("read back: %+v", got)
	}
}

// Where labels of resources cannot be kept or read, nothing is written and nothing is shown.
func TestTaintFailsClosed(t *testing.T) {
	n := newNotes(t)
	n.raise("one", label.Label{Untrusted: true})
	n.taints.err = errors.New("the disk is full")
	if v := n.g.Before(t.Context(), n.call("one", "write", "/a")); v.Allowed() || v.Rule != guard.RuleInternal {
		t.Errorf("a write whose label is lost: %+v", v)
	}
	c := n.call("two", "read", "/a")
	if o := answer(t, n.g, c, guard.Answer{Result: json.RawMessage(`{"content":[]}`)}); o.Allowed() {
		t.Errorf("a result whose label is not known: %+v", o)
	}
}
