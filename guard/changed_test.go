package guard_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/detect"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/session"
	"github.com/weir-mcp/weir/store"
)

// A busy detector lets others work while it searches.
type busy struct{ others func() }

func (b busy) Scan([]byte, detect.Form, []byte) detect.Report {
	b.others()
	return detect.Report{}
}

// A busyState lets others work before and after it keeps a decision.
type busyState struct {
	guard.State
	before, after func()
}

func (s busyState) around(write func() error) error {
	s.before()
	defer s.after()
	return write()
}

func (s busyState) Later(ctx context.Context, made func() *record.Event) error {
	return s.around(func() error { return s.State.Later(ctx, made) })
}

func (s busyState) Decide(ctx context.Context, on session.State, counts bool, e *record.Event) (calls int64, err error) {
	err = s.around(func() error { calls, err = s.State.Decide(ctx, on, counts, e); return err })
	return calls, err
}

// moments are those of a decision at which a session may change.
var moments = []string{"during the search", "before the record", "after the record"}

// busyFixture returns a fixture in which others work at a moment of each decision.
func busyFixture(t *testing.T, moment string, others func(*fixture), change func(*guard.Options)) *fixture {
	var f *fixture
	at := func(name string) func() {
		return func() {
			if name == moment && f != nil {
				others(f)
			}
		}
	}
	made := newFixture(t, func(o *guard.Options) {
		o.Contents.Detection.Detector = busy{at(moments[0])}
		o.State = busyState{o.State, at(moments[1]), at(moments[2])}
		if change != nil {
			change(o)
		}
	})
	f = made
	return f
}

// once calls a function the first time.
func once(do func(*fixture)) func(*fixture) {
	done := false
	return func(f *fixture) {
		if !done {
			done = true
			do(f)
		}
	}
}

func raising(t *testing.T, l label.Label) func(*fixture) {
	return func(f *fixture) {
		if _, err := f.sessions.Raise(t.Context(), "s", l); err != nil {
			t.Error(err)
		}
	}
}

const sendNote = `{"name":"send_email","arguments":{"to":"a@example.com"}}`

// A call goes in the session as it is when it goes, whenever the session has changed: its label, its end, its removal.
func TestASessionThatChangesMeanwhile(t *testing.T) {
	const rules = `version: 1
rules:
  - {name: nothing-private, when: call, if: session.private, effect: block, message: no}
`
	private := label.Label{Private: true, Sensitivity: label.SetOf(label.Financial)}
	for _, moment := range moments {
		for name, c := range map[string]*guard.Call{
			"send": call("send_email", sendMail, sendNote),
			"read": call("read_file", readSalaries, `{"name":"read_file","arguments":{"path":"a"}}`),
		} {
			t.Run(name+" "+moment, func(t *testing.T) {
				f := busyFixture(t, moment, once(raising(t, private)), func(o *guard.Options) { o.Policy = mustLoad(t, rules) })
				if v := f.g.Before(t.Context(), c); v.Effect != policy.Block || v.Rule != "nothing-private" || v.Params != nil {
					t.Errorf("private data came: %v", v)
				}
				last := f.events.all[len(f.events.all)-1]
				if last.Effect != "block" || !last.Label.Private {
					t.Errorf("the last event tells of %s on %v", last.Effect, last.Label)
				}
			})
			t.Run(name+" ended "+moment, func(t *testing.T) {
				why := ""
				f := busyFixture(t, moment, func(*fixture) { why = "it is over" }, nil)
				held := *c
				if err := held.HoldBy(t.Context(), func(context.Context) (string, error) { return why, nil }); err != nil {
					t.Fatal(err)
				}
				if v := f.g.Before(t.Context(), &held); v.Effect != policy.Block || v.Rule != guard.RuleHeld || v.Message != why {
					t.Errorf("it ended: %v", v)
				}
			})
			t.Run(name+" removed "+moment, func(t *testing.T) {
				kept := store.NewMemory(nil)
				remove := once(func(*fixture) {
					if _, err := kept.End(t.Context(), "s"); err != nil {
						t.Error(err)
					}
				})
				f := busyFixture(t, moment, remove, func(o *guard.Options) {
					s := o.State.(busyState)
					s.State = guard.NewState(session.New(session.Options{Store: kept}), record.Discard())
					o.State = s
				})
				if v := f.g.Before(t.Context(), c); v.Rule != guard.RuleInternal || !strings.Contains(v.Message, "removed") {
					t.Errorf("it was removed: %v", v)
				}
			})
		}
	}
}

// A session that changes with each decision lets nothing go, and whoever asks is told why.
func TestASessionThatChangesAllTheTime(t *testing.T) {
	for _, moment := range moments {
		n := 0
		f := busyFixture(t, moment, func(f *fixture) {
			n++
			raising(t, label.Label{Attribution: label.SetOf(fmt.Sprint("urn:", n))})(f)
		}, nil)
		v := f.g.Before(t.Context(), call("send_email", sendMail, sendNote))
		if v.Allowed() || v.Rule != guard.RuleInternal || !strings.Contains(v.Message, "changed") || !strings.Contains(v.Message, "call again") {
			t.Errorf("%s: %v", moment, v)
		}
		if n < 2 {
			t.Errorf("%s: it was decided on %d times", moment, n)
		}
	}
}

// A decision that does not count uses up no acceptance.
func TestAcceptancesOutlastChanges(t *testing.T) {
	change := func(*fixture) {}
	f := busyFixture(t, moments[0], func(f *fixture) { change(f) }, nil)
	f.run(t, call("read_file", readSalaries, `{"name":"read_file"}`), okResult)
	send := call("send_email", sendMail, sendNote)
	binding := f.g.Before(t.Context(), send).Question.Binding
	f.accepted[binding] = true
	change = once(raising(t, label.Label{Untrusted: true}))
	if v := f.g.Before(t.Context(), send); v.Effect != policy.Ask || v.Question.Binding == binding || !f.accepted[binding] {
		t.Errorf("the acceptance was of another session: %v", v)
	}
}

// A label that a person lowers while a result is on its way is raised again before the agent has the result.
func TestALabelThatIsLoweredMeanwhile(t *testing.T) {
	kept := store.NewMemory(nil)
	lower := func() {
		if _, err := kept.Lower(t.Context(), "s", label.Label{Untrusted: true}); err != nil {
			t.Error(err)
		}
	}
	searched := func() {}
	sessions := session.New(session.Options{Store: kept})
	f := newFixture(t, func(o *guard.Options) {
		o.State = guard.NewState(sessions, record.Discard())
		o.Contents.Detection.Detector = busy{func() { searched() }}
	})
	page := func() {
		f.run(t, call("fetch", fetchPage, `{"name":"fetch","arguments":{"url":"https://a.example"}}`), okResult)
	}
	page()
	searched = lower
	page()
	if s, err := sessions.Snapshot(t.Context(), "s"); err != nil || !s.Label.Untrusted {
		t.Errorf("after a page: %v, %v", s.Label, err)
	}
}
