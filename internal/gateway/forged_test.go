package gateway_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/gateway"
	"github.com/weir-mcp/weir/internal/gateway/agentsession"
	"github.com/weir-mcp/weir/internal/gateway/approve"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/streamable"
	"github.com/weir-mcp/weir/overlay"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/session"
	"github.com/weir-mcp/weir/store"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// Attacks with answers: each test here is one way, against a whole gateway with its guard, servers that are
// processes, and questions in SQLite. The number of mails that leave counts.

const askBeforeMail = `version: 1
rules:
  - {name: ask-before-mail, when: call, if: tool.name == "send_email", effect: ask, message: mail}
`

// A forgery is a gateway, the file of its questions, and a clock that the test sets.
type forgery struct {
	*rig
	path string
	now  atomic.Int64 // nanoseconds that the clock is ahead
}

func newForgery(t *testing.T, change func(*gateway.Options)) *forgery {
	t.Helper()
	f := &forgery{path: filepath.Join(t.TempDir(), "state.db")}
	db := f.open(t)
	f.rig = newRig(t, func(o *gateway.Options) {
		o.Policy = mustLoad(t, askBeforeMail)
		o.Approvals, o.State, o.Approval = db, guard.NewState(session.New(session.Options{Store: db}), o.State), time.Minute
		if change != nil {
			change(o)
		}
	})
	return f
}

// open opens the store of the questions once more, as another process does.
func (f *forgery) open(t *testing.T) *sqlstore.DB {
	t.Helper()
	db, err := sqlstore.Open(t.Context(), f.path, &sqlstore.Options{Now: func() time.Time { return time.Now().Add(time.Duration(f.now.Load())) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// book is the book of another process.
func (f *forgery) book(t *testing.T) *approve.Book {
	t.Helper()
	db := f.open(t)
	return approve.NewBook(approve.Options{Record: record.Discard(), Store: db, Sessions: session.New(session.Options{Store: db})})
}

// question returns the only question that is open.
func question(t *testing.T, book *approve.Book) *approve.Pending {
	t.Helper()
	open, err := book.List(t.Context(), "")
	if err != nil || len(open) != 1 {
		t.Fatalf("%d questions, %v", len(open), err)
	}
	return open[0]
}

func accepted(id string) approve.Reply {
	return approve.Reply{ID: id, Principal: agentsession.LocalPrincipal, Answer: approve.Accepted, Via: "test"}
}

// mailing is a request of 2026-07-28 that sends a mail, with more members of params.
func mailing(id int, to, more string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"send_email","arguments":{"to":%q,"subject":"s","body":"b"}%s,`+
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"h","version":"1"},`+
		`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}`, id, to, more)
}

// yes comes back to a question with a yes.
func yes(state string) string {
	return `,"requestState":` + string(rawjson.Quote(state)) + `,"inputResponses":{"dev.weir/approval":{"action":"accept","content":{"approve":true}}}`
}

// stateOf returns the state by which a host comes back to the question in an answer.
func stateOf(t *testing.T, answer string) string {
	t.Helper()
	raw, _ := rawjson.Get([]byte(answer), "result", "requestState")
	state, ok := rawjson.String(raw)
	if !ok {
		t.Fatalf("no question: %s", answer)
	}
	return state
}

func (f *forgery) sent(t *testing.T, what string, want int) {
	t.Helper()
	if n := f.mails(t); n != want {
		t.Errorf("%s: %d mails, want %d", what, n, want)
	}
}

func TestAReplayedAnswerLetsNothingThrough(t *testing.T) {
	f := newForgery(t, nil)
	book, w := f.book(t), f.wire(t)
	state := stateOf(t, w.ask(mailing(1, "a@example.com", "")))
	id := question(t, book).ID
	w.ask(mailing(2, "a@example.com", yes(state)))
	f.sent(t, "accepted", 1)
	for i := range 3 {
		w.ask(mailing(10+i, "a@example.com", yes(state)))
		if err := book.Answer(t.Context(), accepted(id)); !errors.Is(err, approve.ErrNoQuestion) {
			t.Errorf("elsewhere, again: %v", err)
		}
	}
	f.sent(t, "replayed", 1)
}

func TestSwappedArgumentsLetNothingThrough(t *testing.T) {
	f := newForgery(t, nil)
	w := f.wire(t)
	state := stateOf(t, w.ask(mailing(1, "a@example.com", "")))
	w.ask(mailing(2, "mallory@evil.example", yes(state)))
	f.sent(t, "swapped", 0)
	// The acceptance is of the call that was shown, and lets that happen.
	w.ask(mailing(3, "a@example.com", ""))
	f.sent(t, "as it was shown", 1)
	w.ask(mailing(4, "mallory@evil.example", ""))
	f.sent(t, "swapped later", 1)
}

func TestAChangedContractLetsNothingThrough(t *testing.T) {
	before := mailOverlay(t, "outcomes: [consequential]")
	var servers []gateway.Server
	f := newForgery(t, func(o *gateway.Options) {
		o.Servers[1].Overlay = before
		servers = o.Servers
	})
	book, w := f.book(t), f.wire(t)
	state := stateOf(t, w.ask(mailing(1, "a@example.com", "")))
	if err := book.Answer(t.Context(), accepted(question(t, book).ID)); err != nil {
		t.Fatal(err)
	}
	servers[1].Overlay = mailOverlay(t, "outcomes: [irreversible]")
	if _, err := f.g.Reload(t.Context(), gateway.Change{Servers: servers, Policy: mustLoad(t, askBeforeMail)}); err != nil {
		t.Fatal(err)
	}
	w.ask(mailing(2, "a@example.com", ""))
	w.ask(mailing(3, "a@example.com", yes(state)))
	f.sent(t, "another contract", 0)
	servers[1].Overlay = before
	if _, err := f.g.Reload(t.Context(), gateway.Change{Servers: servers, Policy: mustLoad(t, askBeforeMail)}); err != nil {
		t.Fatal(err)
	}
	w.ask(mailing(4, "a@example.com", ""))
	f.sent(t, "the contract that was shown", 1)
}

// mailOverlay describes send_email.
func mailOverlay(t *testing.T, outcomes string) *overlay.Overlay {
	t.Helper()
	return mustOverlay(t, "mail", `
version: 1
overlays:
  - name: mail
    match: [{server: mail}]
    tools:
      send_email:
        contract: {readOnly: false, destructive: true, idempotent: false, openWorld: true, destinations: [public], accepts: [], `+outcomes+`, sources: [system], returns: []}
`)
}

// TestAReusedIDLetsNothingThrough uses the id of one question for another, in every place where there is an id.
func TestAReusedIDLetsNothingThrough(t *testing.T) {
	f := newForgery(t, nil)
	db, w := f.open(t), f.wire(t)
	book := approve.NewBook(approve.Options{Record: record.Discard(), Store: db})
	first := stateOf(t, w.ask(mailing(1, "a@example.com", "")))
	kept := question(t, book)
	// A store takes an id once, whoever asks: neither open nor answered.
	for q, err := range db.Questions(t.Context(), store.QuestionQuery{ID: kept.ID}) {
		if err != nil {
			t.Fatal(err)
		}
		q.Binding = "sha256:of something else"
		if err := db.Ask(t.Context(), q); err == nil {
			t.Error("an id was taken twice")
		}
	}
	if err := book.Answer(t.Context(), approve.Reply{ID: kept.ID, Principal: agentsession.LocalPrincipal, Answer: approve.Declined}); err != nil {
		t.Fatal(err)
	}
	w.ask(mailing(2, "a@example.com", yes(first)))
	w.ask(mailing(3, "b@example.com", yes(first)))
	f.sent(t, "the id of a question that was denied", 0)
	second := stateOf(t, w.ask(mailing(4, "b@example.com", "")))
	id, _ := strings.CutPrefix(first, "weir1.")
	other, rest, _ := strings.Cut(strings.TrimPrefix(second, "weir1."), ".")
	w.ask(mailing(5, "b@example.com", yes("weir1."+id[:len(other)]+"."+rest)))
	f.sent(t, "the state of one question with the id of another", 0)
}

func TestAnAnswerOfAnotherPrincipalLetsNothingThrough(t *testing.T) {
	f := newForgery(t, nil)
	book := f.book(t)
	as := func(principal string) func(body string) string {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			f.g.Handler().ServeHTTP(w, r.WithContext(streamable.WithPrincipal(r.Context(), principal, false)))
		}))
		t.Cleanup(srv.Close)
		return func(body string) string { return posted(t, srv.URL, body) }
	}
	ann, bob := as("ann"), as("bob")
	state := stateOf(t, ann(mailing(1, "a@example.com", "")))
	bob(mailing(2, "a@example.com", yes(state)))
	for _, principal := range []string{"bob", "", agentsession.LocalPrincipal, "Ann"} {
		r := accepted(question(t, book).ID)
		if r.Principal = principal; !errors.Is(book.Answer(t.Context(), r), approve.ErrPrincipal) {
			t.Errorf("%q may answer", principal)
		}
	}
	bob(mailing(3, "a@example.com", ""))
	f.sent(t, "by another", 0)
	ann(mailing(4, "a@example.com", yes(state)))
	f.sent(t, "by the one who was asked", 1)
}

// posted sends a request of 2026-07-28 over HTTP and returns the answer, without its framing.
func posted(t *testing.T, url, body string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28",
		"Mcp-Method": "tools/call", "Mcp-Name": "send_email",
	} {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer json.RawMessage
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	return string(answer)
}

// TestTwoAnswersThatRace has a yes and a no come at the same time, from processes of their own. One counts, and the call
// follows that one.
func TestTwoAnswersThatRace(t *testing.T) {
	f := newForgery(t, nil)
	w := f.wire(t)
	books := []*approve.Book{f.book(t), f.book(t)}
	sent := 0
	for i := range 20 {
		to := fmt.Sprintf("a%d@example.com", i)
		w.ask(mailing(2*i, to, ""))
		id := question(t, books[0]).ID
		said := make([]error, 2)
		var wg sync.WaitGroup
		for j, a := range []approve.Answer{approve.Accepted, approve.Declined} {
			wg.Go(func() {
				r := accepted(id)
				r.Answer = a
				said[j] = books[j].Answer(t.Context(), r)
			})
		}
		wg.Wait()
		if (said[0] == nil) == (said[1] == nil) {
			t.Fatalf("accepted: %v, denied: %v; one has to count", said[0], said[1])
		}
		if said[0] == nil {
			sent++
		}
		again := w.ask(mailing(2*i+1, to, ""))
		f.sent(t, "after a race", sent)
		if said[0] != nil { // asked anew, and that is over
			state := stateOf(t, again)
			w.ask(mailing(1000+i, to, strings.Replace(yes(state), `"accept"`, `"decline"`, 1)))
		}
	}
}

// TestAClockThatIsSetBackLetsNothingThrough lets an acceptance and a question expire, and then sets the clock back.
func TestAClockThatIsSetBackLetsNothingThrough(t *testing.T) {
	f := newForgery(t, nil)
	book, w := f.book(t), f.wire(t)
	w.ask(mailing(1, "a@example.com", ""))
	if err := book.Answer(t.Context(), accepted(question(t, book).ID)); err != nil {
		t.Fatal(err)
	}
	open := stateOf(t, w.ask(mailing(2, "b@example.com", "")))
	late := question(t, book).ID
	f.now.Store(int64(2 * time.Minute))
	if err := book.Answer(t.Context(), accepted(late)); !errors.Is(err, approve.ErrNoQuestion) {
		t.Errorf("too late: %v", err)
	}
	w.ask(mailing(3, "c@example.com", "")) // by which the gateway looks at the clock
	f.now.Store(-int64(time.Hour))
	if err := book.Answer(t.Context(), accepted(late)); !errors.Is(err, approve.ErrNoQuestion) {
		t.Errorf("what had expired is open again: %v", err)
	}
	w.ask(mailing(4, "a@example.com", ""))
	w.ask(mailing(5, "b@example.com", yes(open)))
	f.sent(t, "after the clock was set back", 0)
}

// TestAHostAnswersTwice has a host of an older revision answer the first of two questions again and again, and the second not.
func TestAHostAnswersTwice(t *testing.T) {
	f := newForgery(t, nil)
	w := f.wire(t)
	w.ask(strings.Replace(hello, `"capabilities":{}`, `"capabilities":{"elicitation":{}}`, 1))
	var ids []string
	for i, to := range []string{"a@example.com", "mallory@evil.example"} {
		asked := w.ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":"%d","method":"tools/call","params":{"name":"send_email","arguments":{"to":%q,"subject":"s","body":"b"}}}`, 10+i, to))
		id, ok := rawjson.Get([]byte(asked), "id")
		if !ok || !strings.Contains(asked, "elicitation/create") {
			t.Fatalf("not asked: %s", asked)
		}
		ids = append(ids, string(id))
	}
	for range 3 {
		w.send(`{"jsonrpc":"2.0","id":` + ids[0] + `,"result":{"action":"accept","content":{"approve":true}}}`)
	}
	w.until("10")
	w.ask(`{"jsonrpc":"2.0","id":20,"method":"ping"}`)
	f.sent(t, "one yes", 1)
	w.send(`{"jsonrpc":"2.0","id":` + ids[1] + `,"result":{"action":"decline"}}`)
	w.until("11")
	f.sent(t, "one yes and one no", 1)
}
