package ledger_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/ledger"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/session"
	"github.com/weir-mcp/weir/store/sqlstore"
)

type rig struct {
	*testing.T
	db       *sqlstore.DB
	ledger   *ledger.Ledger
	sessions *session.Sessions
	key      *audit.Key
}

func newRig(t *testing.T, linger time.Duration, also record.Recorder) *rig {
	t.Helper()
	db, err := sqlstore.Open(t.Context(), filepath.Join(t.TempDir(), "state.db"), &sqlstore.Options{Linger: linger})
	if err != nil {
		t.Fatal(err)
	}
	key, err := audit.NewKey("example.com/weir")
	if err != nil {
		t.Fatal(err)
	}
	l, err := ledger.New(t.Context(), ledger.Options{DB: db, Anchor: audit.NewAnchor(key), Also: also})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(l.Close(), db.Close()); err != nil {
			t.Error(err)
		}
	})
	return &rig{t, db, l, session.New(session.Options{Store: db}), key}
}

// events returns the events on disk.
func (r *rig) events() (out []record.Event) {
	r.Helper()
	for row, err := range r.db.Log().Rows(r.Context(), audit.Query{}) {
		if err != nil {
			r.Fatal(err)
		}
		if row.Kind == string(record.StateRow) {
			continue
		}
		var e record.Event
		if err := json.Unmarshal(row.Body, &e); err != nil {
			r.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

func (r *rig) guard() *guard.Guard {
	r.Helper()
	g, err := guard.New(guard.Options{State: r.ledger.State(), Policy: policy.Default()})
	if err != nil {
		r.Fatal(err)
	}
	return g
}

func call(effective contract.Contract) *guard.Call {
	return &guard.Call{
		ID: "c", Session: session.Ref{Key: "s", Principal: "alice"}, Server: "files", Trust: contract.Trusted, Method: "tools/call",
		Name: "read", Params: json.RawMessage(`{"name":"read","arguments":{}}`), Declared: effective, Effective: effective,
	}
}

var (
	reading = contract.Contract{
		ReadOnly: contract.Yes, OpenWorld: contract.No, Destructive: contract.No, Destinations: contract.Possible(contract.System),
	}
	writing = contract.Contract{
		ReadOnly: contract.No, OpenWorld: contract.No, Destructive: contract.No, Destinations: contract.Possible(contract.System),
	}
)

// A call that may change something goes out after its event is on disk; that of a plain read may follow, but for the first one of a session, which is
// counted at once.
func TestCallsThatChangeWaitForTheirEvent(t *testing.T) {
	for name, tt := range map[string]struct {
		contract contract.Contract
		want     int
	}{"reads": {reading, 0}, "writes": {writing, 1}, "unknown": {contract.Contract{}, 1}} {
		r := newRig(t, time.Hour, nil)
		g := r.guard()
		if v := g.Before(t.Context(), call(reading)); !v.Allowed() || len(r.events()) != 1 {
			t.Fatalf("%s: the first call of the session: %+v, %d events", name, v, len(r.events()))
		}
		if v := g.Before(t.Context(), call(tt.contract)); !v.Allowed() {
			t.Fatalf("%s: %+v", name, v)
		}
		if n := len(r.events()) - 1; n != tt.want {
			t.Errorf("%s: %d events are on disk when the call goes out, want %d", name, n, tt.want)
		}
		if err := r.db.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := len(r.events()) - 1; n != 1 {
			t.Errorf("%s: %d events in the end", name, n)
		}
	}
}

// A result that raises the label is delivered after its events and the label are on disk; other events may follow.
func TestResultsThatRaiseWaitForTheirEvents(t *testing.T) {
	r := newRig(t, time.Hour, nil)
	g, c := r.guard(), call(reading)
	answer := guard.Answer{Result: json.RawMessage(`{"content":[]}`)}
	for round, want := range []int{3, 3} {
		v := g.Before(t.Context(), c)
		if !v.Allowed() {
			t.Fatal(v)
		}
		if o := v.Admission.After(t.Context(), answer); !o.Allowed() {
			t.Fatal(o)
		}
		if n := len(r.events()); n != want {
			t.Errorf("round %d: %d events are on disk when the result is handed on, want %d", round, n, want)
		}
	}
	kinds := ""
	for _, e := range r.events() {
		kinds += string(e.Kind) + e.Phase + " "
	}
	if kinds != "decisioncall decisionresult label " {
		t.Errorf("in the order %s", kinds)
	}
	s, err := r.sessions.Snapshot(t.Context(), "s")
	if err != nil || !s.Label.Attribution.Has("mcp://files/read") {
		t.Errorf("%+v, %v", s.Label, err)
	}
}

// A denial is on disk before it is told.
func TestDenialsAreOnDisk(t *testing.T) {
	r := newRig(t, time.Hour, nil)
	c := call(reading)
	c.Held = "its definition has changed"
	if v := r.guard().Before(t.Context(), c); v.Allowed() {
		t.Fatal(v)
	}
	if events := r.events(); len(events) != 1 || events[0].Effect != "block" {
		t.Errorf("%+v", events)
	}
}

// broken fails from some event on.
type broken struct {
	mu   sync.Mutex
	left int
}

func (b *broken) Record(context.Context, *record.Event) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.left--; b.left < 0 {
		return errors.New("disk full")
	}
	return nil
}

// Wherever recording fails, nothing goes on and no label rises without its event.
func TestNothingWithoutItsEvent(t *testing.T) {
	for left := range 3 {
		r := newRig(t, time.Hour, &broken{left: left})
		g, c := r.guard(), call(writing)
		v := g.Before(t.Context(), c)
		if v.Allowed() != (left > 0) {
			t.Errorf("after %d events: %+v", left, v)
		}
		if !v.Allowed() {
			continue
		}
		if o := v.Admission.After(t.Context(), guard.Answer{Result: json.RawMessage(`{"content":[]}`)}); o.Allowed() {
			t.Errorf("after %d events the answer was handed on", left)
		}
		s, err := r.sessions.Snapshot(t.Context(), "s")
		if err != nil || !s.Label.IsZero() {
			t.Errorf("the label rose: %+v, %v", s.Label, err)
		}
	}
}

// A session that begins under another takes its label over together with the event that tells of it.
func TestOpeningUnderAParent(t *testing.T) {
	for left := range 2 {
		r := newRig(t, time.Hour, &broken{left: 1 + left})
		if _, _, err := r.sessions.Open(t.Context(), session.Ref{Key: "p", Principal: "alice"}); err != nil {
			t.Fatal(err)
		}
		if _, err := r.sessions.Raise(t.Context(), "p", label.Label{Untrusted: true}); err != nil {
			t.Fatal(err)
		}
		c := call(reading)
		c.Session.Parent = "p"
		// The first of the others who record is told of the label, the second of the decision.
		if v := r.guard().Before(t.Context(), c); v.Allowed() != (left > 0) {
			t.Errorf("after %d events: %+v", 1+left, v)
		}
		s, err := r.sessions.Snapshot(t.Context(), "s")
		if err != nil || !s.Label.Untrusted {
			t.Errorf("the label was not taken over: %+v, %v", s.Label, err)
		}
		found := r.events()
		if len(found) == 0 || found[0].Kind != record.Label || found[0].Session != "s" || found[0].Parent != "p" || !found[0].Label.Untrusted {
			t.Errorf("no event tells of it: %+v", found)
		}
	}
}

func TestEntries(t *testing.T) {
	r := newRig(t, time.Hour, nil)
	e := record.New(record.Defect, time.Now())
	e.Session, e.Server, e.Name, e.Message = "s", "a\xff\x00b", strings.Repeat("é", 5000), "m\x00"
	if err := r.ledger.Record(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	for row, err := range r.db.Log().Rows(t.Context(), audit.Query{Chain: "s", Kind: "defect"}) {
		if err != nil || !strings.HasPrefix(row.Subject, "ab/é") || len(row.Subject) > 1024 {
			t.Errorf("%q, %v", row.Subject, err)
		}
	}
	if n := len(r.events()); n != 1 {
		t.Errorf("%d events", n)
	}
}

// An operation of a user and its event in the log are one transaction.
func TestPersons(t *testing.T) {
	r := newRig(t, time.Hour, nil)
	if _, _, err := r.sessions.Open(t.Context(), session.Ref{Key: "s", Principal: "alice"}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.sessions.Raise(t.Context(), "s", label.Label{Private: true}); err != nil {
		t.Fatal(err)
	}
	changes, err := r.ledger.Lower(t.Context(), "s", label.Label{Private: true}, record.New(record.Declassify, time.Now()))
	if err != nil || len(changes) != 1 {
		t.Errorf("%+v, %v", changes, err)
	}
	if _, err := r.ledger.End(t.Context(), "unheard-of", record.New(record.End, time.Now())); err == nil {
		t.Error("a session that is not there was ended")
	}
	keys, err := r.ledger.End(t.Context(), "s", record.New(record.End, time.Now()))
	if err != nil || len(keys) != 1 {
		t.Errorf("%v, %v", keys, err)
	}
	var kinds []record.Kind
	for _, e := range r.events() {
		kinds = append(kinds, e.Kind)
	}
	if fmt.Sprint(kinds) != "[declassify end]" {
		t.Errorf("events %v", kinds)
	}
}

// A ledger signs by itself, and once more when it is closed.
func TestCheckpoints(t *testing.T) {
	db, err := sqlstore.Open(t.Context(), filepath.Join(t.TempDir(), "state.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	key, err := audit.NewKey("example.com/weir")
	if err != nil {
		t.Fatal(err)
	}
	l, err := ledger.New(t.Context(), ledger.Options{DB: db, Anchor: audit.NewAnchor(key), Every: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Later(t.Context(), func() *record.Event { return record.New(record.Reload, time.Now()) }); err != nil {
		t.Fatal(err)
	}
	signed := func() (size int64) {
		for c, err := range db.Log().Checkpoints(t.Context(), 0) {
			if err != nil {
				t.Fatal(err)
			}
			size = c.Size
		}
		return size
	}
	for signed() == 0 {
		time.Sleep(time.Millisecond)
	}
	if err := errors.Join(l.Later(t.Context(), func() *record.Event { return record.New(record.Reload, time.Now()) }), l.Close()); err != nil {
		t.Fatal(err)
	}
	if n := signed(); n != 2 {
		t.Errorf("%d events are signed", n)
	}
	report, err := audit.Verify(t.Context(), db.Log(), audit.VerifyOptions{Key: key.Verifier()})
	if err != nil || !report.OK() || report.Signed != 2 {
		t.Errorf("%+v, %v", report, err)
	}
	other, err := audit.NewKey("example.com/weir")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ledger.New(t.Context(), ledger.Options{DB: db, Anchor: audit.NewAnchor(other)}); !errors.Is(err, audit.ErrKey) {
		t.Errorf("with another key: %v", err)
	}
}

func BenchmarkCall(b *testing.B) {
	for name, c := range map[string]contract.Contract{"reads": reading, "writes": writing} {
		for _, kept := range []string{"memory", "sqlite"} {
			b.Run(name+"/"+kept, func(b *testing.B) {
				opts := guard.Options{State: guard.NewState(nil, record.Discard())}
				if kept == "sqlite" {
					db, err := sqlstore.Open(b.Context(), filepath.Join(b.TempDir(), "state.db"), nil)
					if err != nil {
						b.Fatal(err)
					}
					defer db.Close()
					key, err := audit.NewKey("example.com/weir")
					if err != nil {
						b.Fatal(err)
					}
					l, err := ledger.New(b.Context(), ledger.Options{DB: db, Anchor: audit.NewAnchor(key)})
					if err != nil {
						b.Fatal(err)
					}
					defer l.Close()
					opts.State = l.State()
				}
				g, err := guard.New(opts)
				if err != nil {
					b.Fatal(err)
				}
				answer := guard.Answer{Result: json.RawMessage(`{"content":[]}`)}
				for b.Loop() {
					call := call(c)
					if !g.Before(b.Context(), call).Admission.After(b.Context(), answer).Allowed() {
						b.Fatal("denied")
					}
				}
			})
		}
	}
}

// With Strict, deferred events are on disk at once.
func TestStrict(t *testing.T) {
	for _, strict := range []bool{false, true} {
		r := newRig(t, time.Hour, nil)
		l, err := ledger.New(t.Context(), ledger.Options{DB: r.db, Anchor: audit.NewAnchor(r.key), Strict: strict})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Later(t.Context(), func() *record.Event { return record.New(record.Decision, time.Now()) }); err != nil {
			t.Fatal(err)
		}
		if n := len(r.events()); (n == 1) != strict {
			t.Errorf("strict %v: %d events are on disk", strict, n)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if n := len(r.events()); n != 1 {
			t.Errorf("strict %v: %d events are on disk in the end", strict, n)
		}
	}
}

// Captured content is kept beside the event, and an event that cannot be sealed is not written.
func TestSeal(t *testing.T) {
	r := newRig(t, time.Hour, nil)
	broken := errors.New("no key")
	l, err := ledger.New(t.Context(), ledger.Options{DB: r.db, Anchor: audit.NewAnchor(r.key), Seal: func(c *record.Content) ([]byte, error) {
		if c != nil && string(c.Arguments) == "bad" {
			return nil, broken
		}
		if c == nil {
			return nil, nil
		}
		return append([]byte("sealed "), c.Arguments...), nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	event := func(arguments string) *record.Event {
		e := record.New(record.Decision, time.Now())
		e.Content = &record.Content{Salt: "00", Arguments: []byte(arguments)}
		return e
	}
	large := strings.Repeat("x", 100<<10)
	if err := errors.Join(l.Record(t.Context(), event("{}")), l.Later(t.Context(), func() *record.Event { return event(large) }), l.Record(t.Context(), record.New(record.Pin, time.Now()))); err != nil {
		t.Fatal(err)
	}
	if err := l.Record(t.Context(), event("bad")); !errors.Is(err, broken) {
		t.Errorf("content that cannot be sealed: %v", err)
	}
	if n := len(r.events()); n != 3 {
		t.Errorf("%d events are on disk", n)
	}
	for seq, want := range []string{"sealed {}", "sealed " + large, ""} {
		if got, err := r.db.Log().Aside(t.Context(), int64(seq)); err != nil || string(got) != want {
			t.Errorf("beside entry %d: %.20q, %v", seq, got, err)
		}
	}
}

// An event that cannot be written as it is keeps no other from being written: one of its words, which says why, stands in its place.
func TestEventsThatCannotBeEncoded(t *testing.T) {
	r := newRig(t, time.Hour, nil)
	later := func(change func(*record.Event)) string {
		e := record.New(record.Decision, time.Now())
		e.Session, e.Name, e.Effect = "s", "read", "allow"
		if err := r.ledger.Later(t.Context(), func() *record.Event { change(e); return e }); err != nil {
			t.Fatal(err)
		}
		return e.ID
	}
	for name, change := range map[string]func(*record.Event){
		"a field that is no JSON": func(e *record.Event) {
			e.Content = &record.Content{Fields: map[string]json.RawMessage{"/a": json.RawMessage("{")}}
		},
		"a body that is too long": func(e *record.Event) {
			e.Facts = json.RawMessage(`"` + strings.Repeat("a", audit.MaxBody) + `"`)
		},
		"a chain of the state": func(e *record.Event) { e.Session = record.StateChain + "session/s" },
		"no text": func(e *record.Event) {
			e.Facts = json.RawMessage(`"` + strings.Repeat("a", audit.MaxBody) + `"`)
			e.Name, e.Rule, e.Session = "\x00\xff", strings.Repeat("é\x00", 9000), "state\x00:session/s"
		},
	} {
		before := len(r.events())
		broken, sound := later(change), later(func(*record.Event) {})
		if err := r.db.Flush(t.Context()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := r.events()[before:]
		if len(got) != 2 || got[0].ID != broken || got[1].ID != sound {
			t.Fatalf("%s: %+v", name, got)
		}
		if e := got[0]; e.Kind != record.Decision || e.Effect != "allow" || !strings.Contains(e.Message, "could not be encoded") || e.Facts != nil {
			t.Errorf("%s: %+v", name, e)
		}
		if e := got[1]; e.Message != "" {
			t.Errorf("%s: %+v", name, e)
		}
	}
}
