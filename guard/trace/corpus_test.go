package trace

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/provenance"
	"github.com/weir-mcp/weir/session"
)

func note(n int, filler string) json.RawMessage {
	return fmt.Appendf(nil, `{"text":"note number%d of Ada Lovelace %s"}`, n, filler)
}

// Texts that wait are bounded, and none is lost on the way into the index, in their order.
func TestWaitingTextsAreBounded(t *testing.T) {
	tracer := New(Options{})
	c := &Call{Session: session.Ref{Key: "s"}, Server: "notes", URI: "mcp://notes/read"}
	s := tracer.sessions.of(c.Session)
	most := 0
	for n := range 40 {
		tracer.AddResult(c, note(n, strings.Repeat(fmt.Sprintf("filler%d ", n), 9000)), label.Label{Untrusted: n > 0}, nil)
		most = max(most, int(s.corpus.bytes.Load()))
	}
	if most == 0 || most > maxWaiting {
		t.Errorf("%d bytes waited, at most %d may", most, maxWaiting)
	}
	huge := note(40, strings.Repeat("x", 3*provenance.MaxDocument))
	tracer.AddResult(c, huge, label.Label{}, nil)
	if n := s.corpus.bytes.Load(); n > provenance.MaxDocument+1 {
		t.Errorf("%d bytes of one document wait", n)
	}
	for n, want := range map[int]provenance.Kinds{0: provenance.Trusted, 1: provenance.Untrusted, 39: provenance.Untrusted} {
		if got := s.corpus.read().Trace(fmt.Sprintf("note number%d of", n)); got.From != want {
			t.Errorf("note %d is %v, want %v", n, got.From, want)
		}
	}
	if s.corpus.bytes.Load() != 0 || s.corpus.waiting != nil || s.corpus.index.Complete() {
		t.Errorf("%d bytes wait; the end of a large document counts as known: %v", s.corpus.bytes.Load(), s.corpus.index.Complete())
	}
}

// Work takes in the texts of all sessions, those that nothing told it of too once they are told of again, and ends
// with its context.
func TestWorkTakesTextsIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracer := New(Options{})
		ctx, end := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { tracer.Work(ctx) })
		calls := make([]*Call, 2*maxBehind)
		for i := range calls {
			calls[i] = &Call{Session: session.Ref{Key: fmt.Sprint("s", i)}, URI: "mcp://notes/read"}
			tracer.AddResult(calls[i], note(i, ""), label.Label{}, nil)
		}
		synctest.Wait()
		waiting := func() (n int) {
			for _, c := range calls {
				n += len(tracer.sessions.of(c.Session).corpus.waiting)
			}
			return n
		}
		if n := waiting(); n > len(calls)-maxBehind {
			t.Errorf("%d texts wait, of %d", n, len(calls))
		}
		for _, c := range calls {
			tracer.AddResult(c, note(0, ""), label.Label{}, nil)
			synctest.Wait()
		}
		if n := waiting(); n > 0 {
			t.Errorf("%d texts wait", n)
		}
		end()
		running.Wait()
		tracer.AddResult(calls[0], note(7, ""), label.Label{}, nil)
		synctest.Wait()
		if n := waiting(); n != 1 {
			t.Errorf("%d texts wait after the end", n)
		}
	})
}

// While a session takes in a large text, others go on.
func TestLargeTextsDelayNobodyElse(t *testing.T) {
	tracer := New(Options{})
	busy, other := session.Ref{Key: "busy"}, session.Ref{Key: "other"}
	s := tracer.sessions.of(busy)
	tracer.sessions.change(s, func() { // as when it is indexed
		done := make(chan bool)
		go tracer.AddLabel(busy, label.Label{}, "")
		go func() {
			c := &Call{Session: other, Server: "notes", URI: "mcp://notes/read"}
			tracer.AddResult(c, note(1, ""), label.Label{}, nil)
			tracer.Trace(c, &policy.Facts{}, true)
			close(done)
		}()
		<-done
	})
}

// While a text is taken in, calls of its session that do not read it go on; those that do see all of it.
func TestCallsWaitForTextsThatTheyRead(t *testing.T) {
	tracer := New(Options{})
	c := &Call{Session: session.Ref{Key: "s"}, Server: "notes", URI: "mcp://notes/read", Arguments: json.RawMessage(`{"q":"note number1 of Ada"}`)}
	s := tracer.sessions.of(c.Session)
	tracer.AddResult(c, note(1, ""), label.Label{Untrusted: true}, nil)
	s.corpus.taking.Lock() // as while it is indexed
	tracer.AddLabel(c.Session, label.Label{Untrusted: true}, c.Server)
	tracer.ExpectUntrusted(c.Session)
	facts := &policy.Facts{}
	tracer.Describe(c.Session, &facts.Session)
	later := tracer.Expect(c, facts)
	tracer.AddCall(c, facts, later)
	tracer.AddResult(c, note(2, ""), label.Label{Untrusted: true}, nil)
	traced := make(chan provenance.Kinds)
	go func() { traced <- tracer.Trace(c, &policy.Facts{}, true).Kinds() }()
	s.corpus.taking.Unlock()
	if got := <-traced; got != provenance.Untrusted {
		t.Errorf("a call that reads the text is %v", got)
	}
	if n := s.corpus.bytes.Load(); n != 0 {
		t.Errorf("%d bytes wait", n)
	}
}

// Calls of a session see each text that came before them, whoever takes it in.
func TestCallsSeeTextsBeforeThem(t *testing.T) {
	tracer := New(Options{})
	ctx, end := context.WithCancel(t.Context())
	var working, calling sync.WaitGroup
	defer working.Wait()
	defer end()
	working.Go(func() { tracer.Work(ctx) })
	for caller := range 4 {
		calling.Go(func() {
			for n := range 50 {
				text := fmt.Sprintf("caller%d note%d of Ada", caller, n)
				c := &Call{Session: session.Ref{Key: "s"}, Server: "notes", URI: "mcp://notes/read", Arguments: fmt.Appendf(nil, `{"q":%q}`, text)}
				tracer.AddResult(c, fmt.Appendf(nil, `{"text":"%s %s"}`, text, strings.Repeat("filler ", 100)), label.Label{Untrusted: true}, nil)
				tracer.AddLabel(c.Session, label.Label{Untrusted: true}, c.Server)
				if got := tracer.Trace(c, &policy.Facts{}, true).Kinds(); got != provenance.Untrusted {
					t.Errorf("%s is %v", text, got)
				}
			}
		})
	}
	calling.Wait()
}
