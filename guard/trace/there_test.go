package trace_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard/trace"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/overlay"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/provenance"
	"github.com/weir-mcp/weir/session"
)

var now = time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)

func newHere() *trace.Here { return trace.NewHere(nil, func() time.Time { return now }) }

// A pair are two tracers of the same sessions: one with its memory here, and one over bytes.
type pair struct{ here, there *trace.Tracer }

func newPair(place string) pair {
	opts := trace.Options{TrustText: "Mail the list to ann@acme.example.", Domains: []string{"acme.example"}, Me: []string{"me@acme.example"}}
	here, there := opts, opts
	here.Memory, there.Memory = newHere(), trace.In(place, trace.NewThere(newHere().Answer))
	return pair{trace.New(here), trace.New(there)}
}

// texts are values of arguments, words and results: such as JSON writes in several ways, or as encoders replace.
var texts = rapid.OneOf(rapid.SampledFrom([]string{
	"ann@acme.example", "https://mallory.example/x?y=1", "Q3 salaries: 4711 for Ben Miller", "42", "a<b>&c", "\u2028\ufffd", "  ", "C012", "#general",
}), rapid.String())

func quoted(t *rapid.T, name string) string {
	text, err := json.Marshal(texts.Draw(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func labels(t *rapid.T) (l label.Label) {
	l.Untrusted, l.Private = rapid.Bool().Draw(t, "untrusted"), rapid.Bool().Draw(t, "private")
	if rapid.Bool().Draw(t, "credentials") {
		l.Sensitivity = label.SetOf(label.Credentials)
	}
	if rapid.Bool().Draw(t, "limited") {
		l.Readers = label.OnlyReaders()
	}
	return l
}

// calls returns a call and the facts about it before it is traced. White space in the arguments tells something too.
func calls(t *rapid.T) (*trace.Call, policy.Facts) {
	to := texts.Draw(t, "to")
	quotedTo, _ := json.Marshal(to)
	args := fmt.Sprintf(`{"to":%s, %s "body":%s}`, quotedTo, rapid.SampledFrom([]string{"", " ", "\n\t "}).Draw(t, "space"), quoted(t, "body"))
	c := &trace.Call{
		ID: "c", Session: session.Ref{Key: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "session"), Principal: "p"}, Server: "mail", Name: "send",
		URI: "mcp://mail/send", Params: []byte(`{"name":"send","arguments":` + args + `}`), Arguments: []byte(args),
		Vouched: rapid.Bool().Draw(t, "vouched"), Keeps: rapid.Bool().Draw(t, "keeps"), Host: rapid.Bool().Draw(t, "host"),
	}
	if c.Session.Key == "b" {
		c.Session.Parent = "a"
	}
	if rapid.Bool().Draw(t, "schema") {
		c.Schema = []byte(`{"properties":{"to":{"type":"string"}}}`)
	}
	f := policy.Facts{Method: "tools/call", Arguments: c.Arguments, Server: policy.ServerFacts{Name: "mail"}}
	f.Session = policy.SessionFacts{ID: c.Session.Key, Label: labels(t), Calls: rapid.IntRange(0, 6).Draw(t, "calls")}
	if f.Tool.Annotations = contract.Pessimistic(); rapid.Bool().Draw(t, "reads") {
		f.Tool.Annotations.ReadOnly = contract.Yes
	}
	if rapid.Bool().Draw(t, "stated") {
		f.Roles = policy.Roles{Known: true, Destinations: []policy.Argument{{Path: "to", Text: to}}}
	}
	return c, f
}

// step makes one random step, the same with both, and fails if it comes out differently.
func (p pair) step(t *rapid.T) {
	c, facts := calls(t)
	kind, texts := rapid.IntRange(0, 7).Draw(t, "step"), rapid.SliceOfN(texts, 0, 3).Draw(t, "words")
	result := []byte(`{"content":[{"type":"text","text":` + quoted(t, "result") + `}]}`)
	l, scope := labels(t), trace.Scope{Place: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "place"), Any: "z"}
	accepted := rapid.Bool().Draw(t, "accepted")
	var out [2]string
	for i, tracer := range []*trace.Tracer{p.here, p.there} {
		ctx, f := t.Context(), facts
		got, err := []any{}, error(nil)
		switch kind {
		case 0:
			var kept bool
			kept, err = tracer.AddUserMessages(ctx, c.Session, texts)
			got = append(got, kept)
		case 1:
			err = errors.Join(tracer.ExpectUntrusted(ctx, c.Session), tracer.AddResult(ctx, c, result, l, []overlay.Named{{ID: "C012", Name: "general"}}))
		case 2:
			err = errors.Join(tracer.AddLabel(ctx, c.Session, l, "mail"), tracer.Await(ctx, c.Session, c.ID))
		default:
			var found *trace.Finding
			var covered, first bool
			found, err = tracer.Trace(ctx, c, &f, kind > 4)
			if err != nil {
				break
			}
			covered, err = tracer.Covers(ctx, c.Session, scope, found)
			switch {
			case err != nil:
			case kind == 5:
				first, err = tracer.AddCall(ctx, c, &f, found)
			case kind == 6:
				err = tracer.Discharge(ctx, c, &f, found, accepted)
			case kind == 7:
				err = tracer.Grant(ctx, c.Session, scope, found)
			}
			f.Tool = policy.ToolFacts{}
			got = append(got, found, f, covered, first)
		}
		text, failed := json.Marshal(got)
		if err = errors.Join(err, failed); err != nil {
			t.Fatal(err)
		}
		out[i] = string(text)
	}
	if out[0] != out[1] {
		t.Fatalf("step %d:\nhere  %s\nthere %s", kind, out[0], out[1])
	}
}

// TestThereIsHere holds that a memory in another process finds out the same as one here.
func TestThereIsHere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPair("store")
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			p.step(t)
		}
	})
}

// A flaky is a memory in another process, which ends now and then.
type flaky struct {
	here *trace.Here
	fail func() bool // reports whether the next operation fails; it may have been carried out
}

func (f *flaky) ask(ctx context.Context, operation []byte) ([]byte, error) {
	answer, err := f.here.Answer(ctx, operation)
	if f.fail != nil && f.fail() {
		return nil, errors.New("it has ended")
	}
	return answer, err
}

// novel is a call with a value that nobody is known to have written, in a session with private and untrusted data.
func novel() (*trace.Call, policy.Facts) {
	args := []byte(`{"to":"Q3 salaries: 4711"}`)
	c := &trace.Call{ID: "c", Session: session.Ref{Key: "s"}, Server: "mail", Name: "send", URI: "mcp://mail/send", Params: args, Arguments: args}
	f := policy.Facts{Arguments: args, Server: policy.ServerFacts{Name: "mail"}}
	f.Tool.Annotations = contract.Pessimistic()
	f.Session.Label = label.Label{Untrusted: true, Private: true}
	return c, f
}

// play has a session read private and untrusted data by one call, with the tracer present.
func play(ctx context.Context, tracer *trace.Tracer) error {
	ref := session.Ref{Key: "s"}
	read := &trace.Call{ID: "r", Session: ref, Server: "files", Name: "read", URI: "mcp://files/read", Params: []byte(`{}`), Arguments: []byte(`{}`)}
	f := policy.Facts{Server: policy.ServerFacts{Name: "files"}}
	found, err := tracer.Trace(ctx, read, &f, true)
	if err != nil {
		return err
	}
	_, err = tracer.AddCall(ctx, read, &f, found)
	l := label.Label{Untrusted: true, Private: true}
	return errors.Join(err, tracer.ExpectUntrusted(ctx, ref), tracer.AddLabel(ctx, ref, l, "files"),
		tracer.AddResult(ctx, read, []byte(`{"content":[{"type":"text","text":"nothing of note"}]}`), l, nil))
}

// private reports whether a novel value may be private data. Where the tracer has seen all, it is none.
func private(t *rapid.T, tracer *trace.Tracer) bool {
	c, f := novel()
	f.Session.Calls = 1
	found, err := tracer.Trace(context.Background(), c, &f, false)
	if err != nil {
		t.Fatal(err)
	}
	return found.Kinds()&provenance.Private != 0
}

// TestLost holds that what a memory may have missed counts as the worst: an operation that failed, whether it was
// carried out or not, and all before another process took its place, also where another client asks first.
func TestLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		m := &flaky{here: newHere()}
		first, second := trace.New(trace.Options{Memory: trace.NewThere(m.ask)}), trace.New(trace.Options{Memory: trace.NewThere(m.ask)})
		if rapid.Bool().Draw(t, "whole") {
			if err := play(ctx, first); err != nil {
				t.Fatal(err)
			}
			for _, tracer := range []*trace.Tracer{first, second} {
				if private(t, tracer) {
					t.Fatal("a history that is known counts as unknown")
				}
			}
			m.here = newHere()
		} else {
			left := rapid.IntRange(0, 4).Draw(t, "operations before one fails")
			m.fail = func() bool { left--; return left == -1 }
			if err := play(ctx, first); err == nil {
				t.Fatal("no operation has failed")
			}
			m.fail = nil
		}
		order := []*trace.Tracer{first, second}
		if rapid.Bool().Draw(t, "the other first") {
			_ = order[0].ExpectUntrusted(ctx, session.Ref{Key: "s"})
		}
		for _, tracer := range order {
			if !private(t, tracer) {
				t.Fatal("a history that is not known counts as known")
			}
		}
	})
}

// FuzzAnswer gives a memory operations of others: it answers or fails.
func FuzzAnswer(f *testing.F) {
	keep := func(ctx context.Context, text []byte) ([]byte, error) {
		f.Add(text)
		return newHere().Answer(ctx, text)
	}
	tracer := trace.New(trace.Options{Memory: trace.NewThere(keep)})
	c, facts := novel()
	_, _ = tracer.AddUserMessages(context.Background(), c.Session, []string{"hello"})
	found, err := tracer.Trace(context.Background(), c, &facts, true)
	if err != nil {
		f.Fatal(err)
	}
	_, _ = tracer.AddCall(context.Background(), c, &facts, found)
	_ = tracer.Grant(context.Background(), c.Session, trace.Scope{Place: "x"}, found)
	f.Fuzz(func(t *testing.T, text []byte) {
		h := newHere()
		for range 2 {
			if answer, err := h.Answer(t.Context(), text); (err == nil) == (answer == nil) {
				t.Errorf("%q, %v", answer, err)
			}
		}
	})
}
