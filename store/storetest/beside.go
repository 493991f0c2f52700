package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/store"
)

// NewBackend makes an empty back end as New makes a store.
type NewBackend func(t *testing.T, now func() time.Time) store.Backend

// RunBackend tests the other state of back ends beside sessions, and [Run]s them.
func RunBackend(t *testing.T, open NewBackend) {
	for _, test := range []struct {
		name string
		run  func(*beside)
	}{
		{"questions are answered once", testAnswer},
		{"questions expire", testQuestionsExpire},
		{"questions that are not kept", testBadQuestions},
		{"acceptances are redeemed once", testRedeem},
		{"questions are listed", testQuestions},
		{"concurrent answers", testConcurrentAnswers},
		{"pins stay", testPins},
		{"taints join", testTaints},
		{"taints above and below", testTaintsAround},
		{"taints expire", testTaintsExpire},
		{"values", testValues},
		{"values that are not kept", testBadValues},
		{"values go with their session", testValuesGo},
		{"concurrent changes of values", testConcurrentValues},
		{"lower", testLower},
		{"end", testEnd},
		{"expire", testExpire},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := &clock{now: time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)}
			b := open(t, c.Now)
			test.run(&beside{fixture{t, b, c}, b})
		})
	}
	Run(t, func(t *testing.T, now func() time.Time) store.Store { return open(t, now) })
}

type beside struct {
	fixture
	b store.Backend
}

func (f *beside) ask(id, binding string) store.Question {
	f.t.Helper()
	q := store.Question{
		ID: id, Principal: "alice", Session: "s", Binding: binding, Body: []byte("may I?\x00"),
		Expires: f.clock.Now().Add(time.Minute),
	}
	if err := f.b.Ask(f.t.Context(), q); err != nil {
		f.t.Fatal(err)
	}
	q.Asked = f.clock.Now()
	return q
}

func (f *beside) is(what string, want, got error) {
	f.t.Helper()
	if !errors.Is(got, want) {
		f.t.Errorf("%s: got error %v, want %v", what, got, want)
	}
}

func (f *beside) questions(query store.QuestionQuery) []string {
	f.t.Helper()
	ids := []string{}
	for q, err := range f.b.Questions(f.t.Context(), query) {
		if err != nil {
			f.t.Fatal(err)
		}
		ids = append(ids, q.ID)
	}
	return ids
}

func (f *beside) redeem(binding string) bool {
	f.t.Helper()
	ok, err := f.b.Redeem(f.t.Context(), binding)
	if err != nil {
		f.t.Fatal(err)
	}
	return ok
}

// answered returns the channel by which the back end tells of the next answer, or if it does not tell, one that tells
// already.
func answered(b store.Backend) <-chan struct{} {
	if a, ok := b.(store.Announcer); ok {
		return a.Answered()
	}
	told := make(chan struct{})
	close(told)
	return told
}

func testAnswer(f *beside) {
	want := f.ask("q", "call")
	for q, err := range f.b.Questions(f.t.Context(), store.QuestionQuery{ID: "q"}) {
		f.is("reading", nil, err)
		f.equal("as it was asked", want, q)
	}
	_, err := f.b.Answer(f.t.Context(), "q", "mallory", store.Accepted)
	f.is("another's answer", store.ErrPrincipal, err)
	_, err = f.b.Answer(f.t.Context(), "q", "alice", store.Redeemed)
	f.is("an invalid answer", store.ErrInvalid, err)
	told := answered(f.b)
	q, err := f.b.Answer(f.t.Context(), "q", "alice", store.Declined)
	f.is("answering", nil, err)
	select {
	case <-told:
	case <-time.After(time.Minute):
		f.t.Error("nobody was told of the answer")
	}
	want.Answer = store.Declined
	f.equal("answered", want, q)
	_, err = f.b.Answer(f.t.Context(), "q", "alice", store.Accepted)
	f.is("a second answer", store.ErrNoQuestion, err)
	_, err = f.b.Answer(f.t.Context(), "unheard-of", "alice", store.Accepted)
	f.is("no question", store.ErrNoQuestion, err)
	f.equal("a declined call", false, f.redeem("call"))
}

func testQuestionsExpire(f *beside) {
	f.ask("a", "call")
	f.ask("b", "other")
	if _, err := f.b.Answer(f.t.Context(), "b", "alice", store.Accepted); err != nil {
		f.t.Fatal(err)
	}
	f.clock.Advance(time.Minute)
	_, err := f.b.Answer(f.t.Context(), "a", "alice", store.Accepted)
	f.is("a late answer", store.ErrNoQuestion, err)
	f.equal("an old acceptance", false, f.redeem("other"))
	f.equal("questions", []string{}, f.questions(store.QuestionQuery{}))
	f.clock.Advance(-time.Minute) // as when the machine's clock is set
	f.equal("an old acceptance, the clock set back", false, f.redeem("other"))
	_, err = f.b.Answer(f.t.Context(), "a", "alice", store.Accepted)
	f.is("a late answer, the clock set back", store.ErrNoQuestion, err)
}

func testBadQuestions(f *beside) {
	f.ask("q", "call")
	for _, q := range []store.Question{
		{}, {ID: "a", Principal: "p"}, {ID: "a", Binding: "b"}, {Principal: "p", Binding: "b"}, {ID: "q", Principal: "p", Binding: "b"},
		{ID: "\xff", Principal: "p", Binding: "b"}, {ID: "a", Principal: "p", Binding: "b", Body: make([]byte, store.MaxQuestionBody+1)},
	} {
		f.is("asking", store.ErrInvalid, f.b.Ask(f.t.Context(), q))
	}
	f.equal("questions", []string{"q"}, f.questions(store.QuestionQuery{}))
}

func testRedeem(f *beside) {
	f.ask("a", "call")
	f.ask("b", "call")
	f.equal("before an answer", false, f.redeem("call"))
	for _, id := range []string{"a", "b"} {
		if _, err := f.b.Answer(f.t.Context(), id, "alice", store.Accepted); err != nil {
			f.t.Fatal(err)
		}
	}
	f.equal("another call", false, f.redeem("call "))
	f.equal("once for each acceptance", []bool{true, true, false}, []bool{f.redeem("call"), f.redeem("call"), f.redeem("call")})
}

func testQuestions(f *beside) {
	f.ask("b", "call")
	f.ask("a", "call")
	f.clock.Advance(time.Second)
	f.ask("0", "call")
	q := store.Question{ID: "bob's", Principal: "bob", Binding: "call", Expires: f.clock.Now().Add(time.Hour)}
	f.is("asking", nil, f.b.Ask(f.t.Context(), q))
	if _, err := f.b.Answer(f.t.Context(), "a", "alice", store.Accepted); err != nil {
		f.t.Fatal(err)
	}
	f.equal("all", []string{"a", "b", "0", "bob's"}, f.questions(store.QuestionQuery{}))
	f.equal("alice's", []string{"a", "b", "0"}, f.questions(store.QuestionQuery{Principal: "alice"}))
	f.equal("open ones", []string{"b", "0", "bob's"}, f.questions(store.QuestionQuery{Open: true}))
	f.equal("one", []string{"a"}, f.questions(store.QuestionQuery{ID: "a"}))
	f.equal("of a binding", []string{"a", "b", "0", "bob's"}, f.questions(store.QuestionQuery{Binding: "call"}))
	f.equal("of no binding", []string{}, f.questions(store.QuestionQuery{Binding: "cal"}))
	f.equal("none", []string{}, f.questions(store.QuestionQuery{ID: "a", Open: true}))
}

func testConcurrentAnswers(f *beside) {
	const questions = 10
	var answered, redeemed atomic.Int32
	var wg sync.WaitGroup
	for i := range questions {
		f.ask(fmt.Sprint("q", i), "call")
	}
	for range 4 {
		wg.Go(func() {
			for i := range questions {
				_, err := f.b.Answer(f.t.Context(), fmt.Sprint("q", i), "alice", store.Accepted)
				if err == nil {
					answered.Add(1)
				} else if !errors.Is(err, store.ErrNoQuestion) {
					f.t.Error(err)
				}
				ok, err := f.b.Redeem(f.t.Context(), "call")
				if err != nil {
					f.t.Error(err)
				}
				if ok {
					redeemed.Add(1)
				}
			}
		})
	}
	wg.Wait()
	for f.redeem("call") {
		redeemed.Add(1)
	}
	f.equal("answers", int32(questions), answered.Load())
	f.equal("redeemed", int32(questions), redeemed.Load())
}

func testPins(f *beside) {
	pin := func(name, digest string) store.Pin {
		return store.Pin{Scope: "mail", Name: name, Digest: digest, Body: []byte{0, 1}, By: "alice"}
	}
	first, err := f.b.Pin(f.t.Context(), pin("send", "1"))
	f.is("pinning", nil, err)
	want := pin("send", "1")
	want.Pinned = f.clock.Now()
	f.equal("kept", want, first)
	f.clock.Advance(time.Second)
	again, err := f.b.Pin(f.t.Context(), pin("send", "2"))
	f.is("pinning", nil, err)
	f.equal("kept", want, again)
	f.is("pinning anew", nil, f.b.Repin(f.t.Context(), pin("send", "3")))
	f.is("pinning anew", nil, f.b.Repin(f.t.Context(), pin("read", "4")))
	_, err = f.b.Pin(f.t.Context(), store.Pin{Scope: "files", Name: "read", Digest: "5"})
	f.is("pinning", nil, err)
	list := func(scope string) (digests []string) {
		for p, err := range f.b.Pinned(f.t.Context(), scope) {
			f.is("listing", nil, err)
			digests = append(digests, p.Digest)
		}
		return digests
	}
	f.equal("all", []string{"5", "4", "3"}, list(""))
	f.equal("mail", []string{"4", "3"}, list("mail"))
	n, err := f.b.Unpin(f.t.Context(), "mail", "send")
	f.is("unpinning", nil, err)
	f.equal("unpinned", int64(1), n)
	n, err = f.b.Unpin(f.t.Context(), "mail", "")
	f.is("unpinning", nil, err)
	f.equal("unpinned", int64(1), n)
	f.equal("all", []string{"5"}, list(""))
	_, err = f.b.Pin(f.t.Context(), store.Pin{Scope: "files", Name: "read"})
	f.is("without a digest", store.ErrInvalid, err)
}

func (f *beside) taint(resource string, l label.Label, ttl time.Duration) store.Taint {
	f.t.Helper()
	t := store.Taint{Resource: resource, Label: l}
	if ttl != 0 {
		t.Expires = f.clock.Now().Add(ttl)
	}
	t, err := f.b.Taint(f.t.Context(), t, noLimits)
	if err != nil {
		f.t.Fatal(err)
	}
	return t
}

func (f *beside) tainted(resource string) label.Label {
	f.t.Helper()
	l, err := f.b.Tainted(f.t.Context(), resource, noLimits)
	if err != nil {
		f.t.Fatal(err)
	}
	return l
}

func (f *beside) tainting(resource string) []string {
	f.t.Helper()
	names := []string{}
	for t, err := range f.b.Tainting(f.t.Context(), resource) {
		if err != nil {
			f.t.Fatal(err)
		}
		names = append(names, t.Resource)
	}
	return names
}

func testTaints(f *beside) {
	f.equal("nothing", label.Label{}, f.tainted("file:///a"))
	f.taint("file:///a", uris("x"), 0)
	got := f.taint("file:///a", label.Label{Private: true}, 0)
	want := label.Label{Private: true, Attribution: label.SetOf("x")}
	f.equal("joined", store.Taint{Resource: "file:///a", Label: want, Written: f.clock.Now()}, got)
	f.equal("read", want, f.tainted("file:///a"))
	n, err := f.b.Clear(f.t.Context(), "file:///a")
	f.is("clearing", nil, err)
	f.equal("cleared", int64(1), n)
	f.equal("read", label.Label{}, f.tainted("file:///a"))
	for _, name := range []string{"", "/", "a\x00", "\xff"} {
		_, err := f.b.Taint(f.t.Context(), store.Taint{Resource: name}, noLimits)
		f.is(fmt.Sprintf("%q", name), store.ErrInvalid, err)
	}
}

func testTaintsAround(f *beside) {
	for _, name := range []string{"file:///a", "file:///a/b", "file:///a/b/c", "file:///a/bc", "file:///A", "db/t%", "db/t/1", "db/t/Ä", "日本/語"} {
		f.taint(name, uris(name), 0)
	}
	for resource, want := range map[string][]string{
		"file:///a":       {"file:///a", "file:///a/b", "file:///a/b/c", "file:///a/bc"},
		"file:///a/b":     {"file:///a", "file:///a/b", "file:///a/b/c"},
		"file:///a/b/":    {"file:///a", "file:///a/b", "file:///a/b/c"},
		"file:///a/b/d/e": {"file:///a", "file:///a/b"},
		"file:///A/x":     {"file:///A"},
		"db/t":            {"db/t/1", "db/t/Ä"},
		"db/t%":           {"db/t%"},
		"db":              {"db/t%", "db/t/1", "db/t/Ä"},
		"日本":              {"日本/語"},
		"nothing":         {},
	} {
		f.equal("tainted "+resource, label.SetOf(want...).Slice(), f.tainted(resource).Attribution.Slice())
	}
	f.equal("listed", []string{"file:///a/b", "file:///a/b/c"}, f.tainting("file:///a/b"))
	all := f.tainting("")
	f.equal("all", 9, len(all))
	f.equal("in order", true, slices.IsSorted(all))
	n, err := f.b.Clear(f.t.Context(), "file:///a/b")
	f.is("clearing", nil, err)
	f.equal("cleared", int64(2), n)
	f.equal("afterwards", []string{"file:///a", "file:///a/bc"}, f.tainting("file:///a"))
	n, err = f.b.Clear(f.t.Context(), "")
	f.is("clearing", nil, err)
	f.equal("cleared", int64(7), n)
}

func testTaintsExpire(f *beside) {
	f.taint("a", uris("x"), time.Minute)
	f.taint("a", uris("y"), time.Second) // the later time counts
	f.taint("b", uris("z"), time.Second)
	f.taint("c", uris("z"), time.Second)
	f.taint("c", uris("z"), 0)
	f.clock.Advance(time.Second)
	f.equal("a", uris("x", "y"), f.tainted("a"))
	f.equal("b", label.Label{}, f.tainted("b"))
	f.equal("all", []string{"a", "c"}, f.tainting(""))
	f.taint("b", uris("new"), time.Second)
	f.equal("b, written again", uris("new"), f.tainted("b"))
	f.clock.Advance(time.Hour)
	f.equal("all", []string{"c"}, f.tainting(""))
}

func testLower(f *beside) {
	f.open("parent", "grandparent")
	f.open("child", "parent")
	f.join("child", label.Label{Untrusted: true, Private: true, Attribution: label.SetOf("a")})
	changes, err := f.b.Lower(f.t.Context(), "parent", label.Label{Private: true})
	f.is("lowering", nil, err)
	high, low := f.get("grandparent").Label, label.Label{Untrusted: true, Attribution: label.SetOf("a")}
	f.equal("changes", []store.Rise{{Key: "parent", Before: high, After: low}, {Key: "child", Before: high, After: low}}, changes)
	f.equal("grandparent", true, high.Private)
	f.equal("parent", low, f.get("parent").Label)
	f.equal("child", low, f.get("child").Label)
	changes, err = f.b.Lower(f.t.Context(), "parent", label.Label{Private: true})
	f.is("lowering", nil, err)
	f.equal("changes", 0, len(changes))
	_, err = f.b.Lower(f.t.Context(), "unheard-of", label.Label{})
	f.is("lowering", store.ErrNotFound, err)
}

func testEnd(f *beside) {
	f.open("parent", "grandparent")
	f.open("b", "parent")
	f.open("a", "parent")
	f.open("c", "a")
	f.join("parent", uris("x"))
	ended, err := f.b.End(f.t.Context(), "parent")
	f.is("ending", nil, err)
	f.equal("ended", []string{"parent", "a", "b", "c"}, ended)
	f.equal("left", []string{"grandparent"}, keys(f.all("")))
	_, err = f.b.End(f.t.Context(), "parent")
	f.is("ending again", store.ErrNotFound, err)
	f.equal("begun anew", label.Label{}, f.open("parent", "").Label)
}

func testExpire(f *beside) {
	f.open("old", "")
	f.open("old child", "old")
	f.open("parent", "")
	f.ask("q", "call")
	f.taint("t", uris("x"), time.Minute)
	f.taint("forever", uris("x"), 0)
	f.clock.Advance(time.Hour)
	seen := f.clock.Now()
	f.open("child", "parent")
	gone, err := f.b.Expire(f.t.Context(), seen)
	f.is("expiring", nil, err)
	f.equal("gone", store.Expired{Sessions: 2, Questions: 1, Taints: 1}, gone)
	f.equal("left", []string{"child", "parent"}, keys(f.all("")))
	gone, err = f.b.Expire(f.t.Context(), seen)
	f.is("expiring", nil, err)
	f.equal("gone", store.Expired{}, gone)
	for i := range 3 {
		f.open(fmt.Sprint("new", i), "")
	}
}
