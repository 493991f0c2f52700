package guard_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/detect"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/session"
)

// A tardy state makes no event that may be made later until somebody asks for all of them, in their order.
type tardy struct {
	guard.State
	events *tardyEvents
}

func newTardy() tardy {
	events := &tardyEvents{}
	return tardy{guard.NewState(session.New(session.Options{}), events), events}
}

func (s tardy) Later(_ context.Context, made func() *record.Event) error { return s.events.add(made) }

type tardyEvents struct {
	mu   sync.Mutex
	made []func() *record.Event
}

func (t *tardyEvents) add(made func() *record.Event) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.made = append(t.made, made)
	return nil
}

func (t *tardyEvents) Record(_ context.Context, e *record.Event) error {
	kept := *e
	return t.add(func() *record.Event { return &kept })
}

// all returns the events without that which is another in each run.
func (t *tardyEvents) all() (out []string) {
	for _, made := range t.made {
		e := *made()
		e.ID, e.Arguments = "", ""
		if c := e.Content; c != nil {
			e.Content = &record.Content{Fields: c.Fields, Detection: c.Detection}
		}
		text, err := json.Marshal(e)
		out = append(out, fmt.Sprint(string(text), err))
	}
	return out
}

// An event that is made after everything else was done is the same as one that is made at once, and in the same place:
// later calls, labels and answers change nothing of it.
func TestEventsMadeLater(t *testing.T) {
	look := contract.Contract{
		ReadOnly: contract.Yes, OpenWorld: contract.No, Destinations: contract.Possible(contract.System), Outcomes: contract.Possible(contract.Benign),
		Sources: contract.Possible(label.System), Returns: contract.Possible[label.Class](),
	}
	tools := map[string]contract.Contract{"look": look, "salaries": readSalaries, "page": fetchPage, "mail": sendMail}
	sizes := []int{10, 2000}
	rapid.Check(t, func(t *rapid.T) {
		late, once := newTardy(), &tardyEvents{}
		var guards []*guard.Guard
		contents := guard.Contents{Destinations: rapid.Bool().Draw(t, "destinations")}
		for _, state := range []guard.State{late, guard.NewState(session.New(session.Options{}), once)} {
			g, err := guard.New(guard.Options{State: state, Contents: contents, Now: func() time.Time { return time.Unix(1e9, 0) }})
			if err != nil {
				t.Fatal(err)
			}
			guards = append(guards, g)
		}
		for n := range rapid.IntRange(1, 8).Draw(t, "calls") {
			name := rapid.SampledFrom([]string{"look", "salaries", "page", "mail"}).Draw(t, "tool")
			text := strings.Repeat("x", rapid.SampledFrom(sizes).Draw(t, "size"))
			for _, g := range guards {
				c := call(name, tools[name], fmt.Sprintf(`{"name":%q,"arguments":{"to":"a@b.example","text":%q}}`, name, text))
				c.ID = fmt.Sprint("call", n)
				if v := g.Before(t.Context(), c); v.Allowed() {
					v.Admission.After(t.Context(), guard.Answer{Result: json.RawMessage(`{"content":[{"type":"text","text":"answer"}]}`)})
				}
			}
		}
		if got, want := late.events.all(), once.all(); !reflect.DeepEqual(got, want) {
			t.Fatalf("got  %s\nwant %s", strings.Join(got, "\n     "), strings.Join(want, "\n     "))
		}
	})
}

// answered returns the digest of the answer, and the salt of it, in the last event of a decision on one.
func (t *tardyEvents) answered() (digest, salt string) {
	for _, made := range t.made {
		if e := made(); e.Kind == record.Decision && e.Phase == "result" {
			digest, salt = e.Content.Answer, e.Content.Salt
		}
	}
	return digest, salt
}

// TestDigestsMadeLater holds that an event which is made later has the digest of the answer as its server sent it,
// whatever was written over its end meanwhile.
func TestDigestsMadeLater(t *testing.T) {
	for _, text := range []string{
		`{}`, ` { } `, `{"content":[]}`, "{\"content\":[] \n\t}\n", `{"content":[],"_meta":{}}`, `{"content":[],"_meta":{"annotations":{}} }`,
		`{"content":[{"type":"text","text":"` + order + `"}]}`, `{"code":-1,"message":"}"}`,
	} {
		for _, own := range []bool{false, true} {
			for _, observed := range []bool{false, true} {
				late := newTardy()
				f := newFixture(t, func(o *guard.Options) { o.State, o.Contents.Detection.Detector = late, detect.New() })
				memory := append(make(json.RawMessage, 0, 4000), text...)
				answer := guard.Answer{Result: memory, Own: own}
				if strings.Contains(text, "code") {
					answer = guard.Answer{Error: memory, Own: own}
				}
				c := lookUpCall()
				if observed {
					f.g.Observe(t.Context(), c, answer)
				} else {
					f.g.Before(t.Context(), c).Admission.After(t.Context(), answer)
				}
				digest, salt := late.events.answered()
				if digest != digestOf(t, salt, text) {
					t.Errorf("own %v, observed %v: the digest of %s is another one", own, observed, text)
				}
			}
		}
	}
}
