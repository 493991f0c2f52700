package notify_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-mcp/weir/approval"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/gateway/approve"
	"github.com/weir-mcp/weir/internal/notify"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/session"
	"github.com/weir-mcp/weir/store/sqlstore"
)

var secret = notify.Secret("0123456789abcdef0123456789abcdef")

// signed is the signature of Standard Webhooks, written down a second time.
func signed(key []byte, id string, at int64, body []byte) string {
	mac := hmac.New(sha256.New, key)
	io.WriteString(mac, id+"."+strconv.FormatInt(at, 10)+".")
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// A receiver is a webhook: it keeps what it was sent, and answers as the test says.
type receiver struct {
	*httptest.Server
	mu  sync.Mutex
	got []request
}

type request struct {
	id     string
	signed bool
	body   []byte
}

// question returns the id of the question that a request asks.
func (r request) question() string {
	var d struct{ Data struct{ Question string } }
	_ = json.Unmarshal(r.body, &d)
	return d.Data.Question
}

func newReceiver(t *testing.T, answer func(w http.ResponseWriter, r request)) *receiver {
	return newNumbered(t, func(w http.ResponseWriter, r request, _ int) { answer(w, r) })
}

// newNumbered is newReceiver for answers that differ: n counts the requests, from 1.
func newNumbered(t *testing.T, answer func(w http.ResponseWriter, r request, n int)) *receiver {
	rec := &receiver{}
	rec.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
		body, _ := io.ReadAll(hr.Body)
		at, _ := strconv.ParseInt(hr.Header.Get("Webhook-Timestamp"), 10, 64)
		r := request{id: hr.Header.Get("Webhook-Id"), body: body}
		r.signed = hr.Header.Get("Webhook-Signature") == signed(secret, r.id, at, body) && time.Since(time.Unix(at, 0)).Abs() < time.Minute
		rec.mu.Lock()
		rec.got = append(rec.got, r)
		n := len(rec.got)
		rec.mu.Unlock()
		answer(w, r, n)
	}))
	t.Cleanup(rec.Close)
	return rec
}

func (r *receiver) requests() []request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]request(nil), r.got...)
}

// reply answers a question, changed by change before it is signed and sent.
func reply(w http.ResponseWriter, r request, change func(*forged)) {
	f := &forged{question: r.question(), key: secret, at: time.Now(), status: http.StatusOK}
	f.id = "answer_" + f.question
	f.body = fmt.Sprintf(`{"question":%q,"decision":"accept","by":"ann"}`, f.question)
	if change != nil {
		change(f)
	}
	w.Header().Set("Webhook-Id", f.id)
	w.Header().Set("Webhook-Timestamp", strconv.FormatInt(f.at.Unix(), 10))
	w.Header().Set("Webhook-Signature", signed(f.key, f.id, f.at.Unix(), []byte(f.body)))
	if f.after != nil {
		f.after(w.Header(), f)
	}
	w.WriteHeader(f.status)
	io.WriteString(w, f.body)
}

type forged struct {
	question, id, body string
	key                []byte
	at                 time.Time
	status             int
	after              func(http.Header, *forged) // is applied when all is signed
}

// A rig is a book of questions in a real store, and what was recorded.
type rig struct {
	book *approve.Book
	n    *notify.Notifier
	mu   sync.Mutex
	all  []record.Event
}

func (r *rig) Record(_ context.Context, e *record.Event) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, *e)
	return nil
}

// last returns the last event.
func (r *rig) last() record.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all[len(r.all)-1]
}

func newRig(t *testing.T, opts notify.Options) *rig {
	t.Helper()
	db, err := sqlstore.Open(t.Context(), filepath.Join(t.TempDir(), "state.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	r := &rig{n: notify.New(opts)}
	t.Cleanup(func() { r.n.Close() })
	r.book = approve.NewBook(approve.Options{Record: r, Store: db, Sessions: session.New(session.Options{Store: db}), Timeout: time.Minute,
		Asked: func(b *approve.Book, p *approve.Pending) { r.n.Asked(b, p) }})
	return r
}

func question(binding string) *guard.Question {
	return &guard.Question{
		Binding: binding, Session: session.Ref{Key: "s", Principal: "ann"}, Server: "mail", Method: "tools/call", Name: "send_email",
		Contract:  contract.Contract{Destinations: contract.Possible(contract.Public), Outcomes: contract.Possible(contract.Irreversible)},
		Arguments: json.RawMessage(`{"arguments":{"to":"<script>\u202emoc.live"},"name":"send_email"}`),
		Rule:      "ask-before-private-data-leaves", Message: "the session holds private data",
	}
}

func (r *rig) ask(t *testing.T, binding string) *approve.Pending {
	t.Helper()
	p, err := r.book.Open(t.Context(), question(binding), nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// counted waits until as much was counted as is wanted.
func (r *rig) counted(t *testing.T, want ...notify.Count) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		diff := cmp.Diff(want, r.n.Counts())
		if diff == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("counts (-want +got):\n%s", diff)
		}
	}
}

func hook(rec *receiver) notify.Options {
	return notify.Options{Webhook: &notify.Webhook{URL: rec.URL, Secret: secret, Answers: true}}
}

func TestAWebhookAnswers(t *testing.T) {
	for _, c := range []struct {
		decision string
		effect   string
		happens  bool
	}{{"accept", "accepted", true}, {"deny", "declined", false}} {
		rec := newReceiver(t, func(w http.ResponseWriter, r request) {
			reply(w, r, func(f *forged) { f.body = strings.Replace(f.body, "accept", c.decision, 1) })
		})
		r := newRig(t, hook(rec))
		p := r.ask(t, "sha256:b")
		r.counted(t, notify.Count{Channel: "webhook", Result: notify.Answered, N: 1}, notify.Count{Channel: "webhook", Result: notify.Delivered, N: 1})
		if ok, err := r.book.Redeem(t.Context(), p.Binding); ok != c.happens || err != nil {
			t.Errorf("%s: happens %v, %v", c.decision, ok, err)
		}
		if ok, _ := r.book.Redeem(t.Context(), p.Binding); ok {
			t.Errorf("%s: happens twice", c.decision)
		}
		if e := r.last(); e.Effect != c.effect || e.Message != "webhook" || e.Where != "ann" || e.Binding != p.Binding {
			t.Errorf("%s: recorded %+v", c.decision, e)
		}
		sent := rec.requests()[0]
		if !sent.signed || sent.id != "asked_"+p.ID || sent.question() != p.ID {
			t.Errorf("%s: sent %+v", c.decision, sent)
		}
	}
}

// TestWhatAWebhookIsTold looks at the document: it has the prompt, and nothing in it can pass for markup or hide.
func TestWhatAWebhookIsTold(t *testing.T) {
	rec := newReceiver(t, func(w http.ResponseWriter, _ request) { w.WriteHeader(http.StatusNoContent) })
	r := newRig(t, hook(rec))
	p := r.ask(t, "sha256:b")
	r.counted(t, notify.Count{Channel: "webhook", Result: notify.Delivered, N: 1})
	var d struct {
		Type string
		Data struct {
			Question, Principal, Server, Name, Text string
			Prompt                                  approval.Prompt
			Expires                                 time.Time
		}
	}
	body := rec.requests()[0].body
	if err := json.Unmarshal(body, &d); err != nil {
		t.Fatal(err)
	}
	if d.Type != "approval.asked" || d.Data.Text != p.Prompt.Text() || d.Data.Name != "send_email" || !d.Data.Expires.Equal(p.Expires.UTC()) {
		t.Errorf("told %s", body)
	}
	if diff := cmp.Diff(p.Prompt, d.Data.Prompt); diff != "" {
		t.Errorf("the prompt (-asked +told):\n%s", diff)
	}
	if bytes.ContainsAny(body, "<>") || bytes.ContainsRune(body, '\u202e') {
		t.Errorf("not escaped: %s", body)
	}
	if open, err := r.book.Waits(t.Context(), p.ID); !open || err != nil {
		t.Errorf("the question does not wait any more: %v", err)
	}
}

// TestNoAnswer holds what must never count as an answer.
func TestNoAnswer(t *testing.T) {
	const otherID, otherBody = "answer_OTHER", `{"question":"OTHER","decision":"accept","by":"ann"}`
	for name, change := range map[string]func(*forged){
		"another secret": func(f *forged) { f.key = []byte("another secret, as long as that one") },
		"no secret":      func(f *forged) { f.key = nil },
		"changed after signing": func(f *forged) {
			f.after = func(_ http.Header, f *forged) { f.body = strings.Replace(f.body, "ann", "bob", 1) }
		},
		"unsigned":     func(f *forged) { f.after = func(h http.Header, _ *forged) { h.Del("Webhook-Signature") } },
		"signed twice": func(f *forged) { f.after = func(h http.Header, _ *forged) { h.Add("Webhook-Signature", "v1,AAAA") } },
		"another version": func(f *forged) {
			f.after = func(h http.Header, _ *forged) { h.Set("Webhook-Signature", "v0"+h.Get("Webhook-Signature")[2:]) }
		},
		"too old":         func(f *forged) { f.at = f.at.Add(-6 * time.Minute) },
		"from the future": func(f *forged) { f.at = f.at.Add(6 * time.Minute) },
		"no time at all":  func(f *forged) { f.after = func(h http.Header, _ *forged) { h.Set("Webhook-Timestamp", "now") } },
		"another time": func(f *forged) {
			f.after = func(h http.Header, f *forged) { h.Set("Webhook-Timestamp", strconv.FormatInt(f.at.Unix()+1, 10)) }
		},
		"of another question":       func(f *forged) { f.id, f.body = otherID, otherBody },
		"another's body, our id":    func(f *forged) { f.body = otherBody },
		"another's id, our body":    func(f *forged) { f.id = otherID },
		"our own id":                func(f *forged) { f.id = "asked_" + f.question },
		"a word nobody knows":       func(f *forged) { f.body = strings.Replace(f.body, "accept", "yes", 1) },
		"granted":                   func(f *forged) { f.body = strings.Replace(f.body, "accept", "session", 1) },
		"no decision":               func(f *forged) { f.body = fmt.Sprintf(`{"question":%q,"by":"ann"}`, f.question) },
		"two decisions":             func(f *forged) { f.body = strings.Replace(f.body, `"by"`, `"decision":"deny","by"`, 1) },
		"another case":              func(f *forged) { f.body = strings.Replace(f.body, `"decision"`, `"Decision"`, 1) },
		"nobody":                    func(f *forged) { f.body = strings.Replace(f.body, `"ann"`, `""`, 1) },
		"somebody with a long name": func(f *forged) { f.body = strings.Replace(f.body, `ann`, strings.Repeat("a", 300), 1) },
		"one member more":           func(f *forged) { f.body = strings.Replace(f.body, `"by"`, `"arguments":{},"by"`, 1) },
		"a list":                    func(f *forged) { f.body = "[" + f.body + "]" },
		"two documents":             func(f *forged) { f.body += f.body },
		"true":                      func(f *forged) { f.body = strings.Replace(f.body, `"accept"`, `true`, 1) },
		"text":                      func(f *forged) { f.body = "accept" },
		"a huge body":               func(f *forged) { f.body = strings.Replace(f.body, "{", "{"+strings.Repeat(" ", 1<<20), 1) },
		"an error":                  func(f *forged) { f.status = http.StatusInternalServerError },
		"a refusal":                 func(f *forged) { f.status = http.StatusForbidden },
		"not yet":                   func(f *forged) { f.status = http.StatusAccepted },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rec := newReceiver(t, func(w http.ResponseWriter, r request) {
				w.Header().Set("Retry-After", "1")
				reply(w, r, change)
			})
			r := newRig(t, hook(rec))
			p := r.ask(t, "sha256:b")
			r.judged(t, rec)
			if open, err := r.book.Waits(t.Context(), p.ID); !open || err != nil {
				t.Errorf("it counts: %v; %+v", err, r.last())
			}
			if ok, _ := r.book.Redeem(t.Context(), p.Binding); ok {
				t.Error("it lets a call happen")
			}
		})
	}
}

// judged waits until the first response was judged: it is counted, or the question is asked again.
func (r *rig) judged(t *testing.T, rec *receiver) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); len(r.n.Counts()) == 0 && len(rec.requests()) < 2; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("nothing becomes of the response")
		}
	}
}

// TestAReplayedAnswer gives an answer that was signed for one question to another about the very same call.
func TestAReplayedAnswer(t *testing.T) {
	var first http.Header
	var body []byte
	rec := newReceiver(t, func(w http.ResponseWriter, r request) {
		if first != nil {
			for name, values := range first {
				w.Header()[name] = values
			}
			w.Write(body)
			return
		}
		reply(w, r, nil)
		first, body = w.Header().Clone(), fmt.Appendf(nil, `{"question":%q,"decision":"accept","by":"ann"}`, r.question())
	})
	r := newRig(t, hook(rec))
	p := r.ask(t, "sha256:b")
	r.counted(t, notify.Count{Channel: "webhook", Result: notify.Answered, N: 1}, notify.Count{Channel: "webhook", Result: notify.Delivered, N: 1})
	if ok, err := r.book.Redeem(t.Context(), p.Binding); !ok || err != nil {
		t.Fatalf("the first answer does not count: %v", err)
	}
	again := r.ask(t, "sha256:b")
	r.counted(t, notify.Count{Channel: "webhook", Result: notify.Answered, N: 1}, notify.Count{Channel: "webhook", Result: notify.Delivered, N: 1},
		notify.Count{Channel: "webhook", Result: notify.Refused, N: 1}, notify.Count{Channel: "webhook", Result: notify.Retried, N: 1})
	if open, err := r.book.Waits(t.Context(), again.ID); !open || err != nil {
		t.Errorf("it counts for another question: %v", err)
	}
}

// TestALateAnswer has a person deny in the console while the webhook thinks, which then accepts.
func TestALateAnswer(t *testing.T) {
	var r *rig
	var p *approve.Pending
	asked := make(chan struct{})
	rec := newReceiver(t, func(w http.ResponseWriter, req request) {
		<-asked
		if err := r.book.Answer(t.Context(), approve.Reply{ID: p.ID, Principal: "ann", Answer: approve.Declined, Via: "console"}); err != nil {
			t.Error(err)
		}
		reply(w, req, nil)
	})
	r = newRig(t, hook(rec))
	p = r.ask(t, "sha256:b")
	close(asked)
	r.counted(t, notify.Count{Channel: "webhook", Result: notify.Delivered, N: 1}, notify.Count{Channel: "webhook", Result: notify.Refused, N: 1})
	if ok, _ := r.book.Redeem(t.Context(), p.Binding); ok {
		t.Error("the second answer lets a call happen")
	}
}

// TestAWebhookThatOnlyListens may not answer.
func TestAWebhookThatOnlyListens(t *testing.T) {
	rec := newReceiver(t, func(w http.ResponseWriter, r request) { reply(w, r, nil) })
	opts := hook(rec)
	opts.Webhook.Answers = false
	r := newRig(t, opts)
	p := r.ask(t, "sha256:b")
	r.counted(t, notify.Count{Channel: "webhook", Result: notify.Delivered, N: 1})
	if open, err := r.book.Waits(t.Context(), p.ID); !open || err != nil {
		t.Errorf("it counts: %v", err)
	}
}

// TestAWebhookThatSaysOK says so, as many do, and no more: it was told, and has not answered.
func TestAWebhookThatSaysOK(t *testing.T) {
	rec := newReceiver(t, func(w http.ResponseWriter, _ request) { io.WriteString(w, "ok") })
	r := newRig(t, hook(rec))
	p := r.ask(t, "sha256:b")
	r.counted(t, notify.Count{Channel: "webhook", Result: notify.Delivered, N: 1})
	if open, err := r.book.Waits(t.Context(), p.ID); !open || err != nil {
		t.Errorf("it counts: %v", err)
	}
}

// TestAskedAgain asks a webhook that has to ask somebody first, until it answers.
func TestAskedAgain(t *testing.T) {
	rec := newNumbered(t, func(w http.ResponseWriter, r request, n int) {
		switch n {
		case 1:
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusAccepted)
		case 2:
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
		case 3:
			w.Header().Set("Retry-After", "1")
			reply(w, r, func(f *forged) { f.body = fmt.Sprintf(`{"question":%q,"decision":"pending"}`, f.question) })
		default:
			reply(w, r, nil)
		}
	})
	r := newRig(t, hook(rec))
	p := r.ask(t, "sha256:b")
	r.counted(t, notify.Count{Channel: "webhook", Result: notify.Answered, N: 1}, notify.Count{Channel: "webhook", Result: notify.Delivered, N: 1},
		notify.Count{Channel: "webhook", Result: notify.Retried, N: 1})
	for _, sent := range rec.requests() {
		if sent.id != "asked_"+p.ID || !sent.signed {
			t.Errorf("sent %+v", sent)
		}
	}
}

// TestARedirect is not followed, to wherever it leads.
func TestARedirect(t *testing.T) {
	elsewhere := newReceiver(t, func(w http.ResponseWriter, r request) { reply(w, r, nil) })
	for _, status := range []int{301, 302, 303, 307, 308} {
		rec := newReceiver(t, func(w http.ResponseWriter, r request) {
			w.Header().Set("Location", elsewhere.URL)
			reply(w, r, func(f *forged) { f.status = status })
		})
		r := newRig(t, hook(rec))
		p := r.ask(t, "sha256:b")
		r.counted(t, notify.Count{Channel: "webhook", Result: notify.Failed, N: 1})
		if open, _ := r.book.Waits(t.Context(), p.ID); !open || len(elsewhere.requests()) > 0 {
			t.Errorf("%d: followed", status)
		}
	}
}

// TestASlowBody gives up on a webhook whose answer does not end.
func TestASlowBody(t *testing.T) {
	rec := newReceiver(t, func(w http.ResponseWriter, r request) {
		reply(w, r, func(f *forged) { f.body = f.body[:20] })
		w.(http.Flusher).Flush()
		time.Sleep(3 * time.Second)
	})
	opts := hook(rec)
	opts.Webhook.Timeout = 200 * time.Millisecond
	r := newRig(t, opts)
	p := r.ask(t, "sha256:b")
	r.counted(t, notify.Count{Channel: "webhook", Result: notify.Retried, N: 1})
	if open, _ := r.book.Waits(t.Context(), p.ID); !open {
		t.Error("it counts")
	}
}

// TestNobodyWaits has a webhook that answers nothing, and asks until too much waits: no question is held up.
func TestNobodyWaits(t *testing.T) {
	never := make(chan struct{})
	rec := newReceiver(t, func(http.ResponseWriter, request) { <-never })
	t.Cleanup(func() { close(never) })
	opts := hook(rec)
	opts.Webhook.Timeout = time.Minute
	r := newRig(t, opts)
	for i := range 300 {
		q := question(fmt.Sprintf("sha256:%d", i))
		q.Session.Key = fmt.Sprintf("s%d", i)
		if _, err := r.book.Open(t.Context(), q, nil); err != nil {
			t.Fatal(err)
		}
	}
	r.counted(t, notify.Count{Channel: "webhook", Result: notify.Dropped, N: 300 - 256})
	if err := r.n.Close(); err != nil {
		t.Error(err)
	}
}

// TestFindings tells of malicious content that entered a session or was kept from it, of a server that lost trust, and of nothing else.
func TestFindings(t *testing.T) {
	rec := newReceiver(t, func(w http.ResponseWriter, _ request) {})
	r := newRig(t, hook(rec))
	for _, e := range events() {
		if err := r.n.Record(t.Context(), e); err != nil {
			t.Error(err)
		}
	}
	r.counted(t, notify.Count{Channel: "webhook", Result: notify.Delivered, N: 3})
	var all []string
	for _, sent := range rec.requests() {
		if !sent.signed {
			t.Errorf("unsigned: %s", sent.body)
		}
		all = append(all, string(sent.body))
	}
	told := strings.Join(all, "\n")
	for _, want := range []string{`"type":"finding.malicious"`, `"withheld":true`, `"withheld":false`, `is in an agent session now`, `was kept from an agent`,
		`\\u{202e}`,
		`"type":"trust.lowered"`, `Server web is known from now on, line\\u{a}two. See weir servers.`} {
		if !strings.Contains(told, want) {
			t.Errorf("not told: %s in\n%s", want, told)
		}
	}
}

// events are two findings and a server that lost trust, among others.
func events() (all []*record.Event) {
	add := func(kind record.Kind, change func(e *record.Event)) {
		e := record.New(kind, time.Now())
		e.Session, e.Server, e.Name = "s", "web", "fetch\u202e"
		change(e)
		all = append(all, e)
	}
	add(record.Trust, func(e *record.Event) { e.Effect, e.Message = "lowered", "known from now on, line\ntwo" })
	add(record.Trust, func(e *record.Event) { e.Effect = "restored" })
	malicious := json.RawMessage(`{"response.annotations.maliciousActivityHint":true}`)
	add(record.Label, func(e *record.Event) { e.Label = &label.Label{Malicious: true, Findings: label.SetOf("hidden text")} })
	add(record.Label, func(e *record.Event) { e.Label = &label.Label{Untrusted: true} })
	add(record.Label, func(*record.Event) {})
	add(record.Decision, func(e *record.Event) { e.Phase, e.Effect, e.Facts = "result", "block", malicious })
	add(record.Decision, func(e *record.Event) { e.Phase, e.Effect, e.Facts = "result", "allow", malicious })
	add(record.Decision, func(e *record.Event) { e.Phase, e.Effect, e.Facts = "call", "block", malicious })
	add(record.Decision, func(e *record.Event) {
		e.Phase, e.Effect, e.Facts = "result", "block", json.RawMessage(`{"other":"response.annotations.maliciousActivityHint"}`)
	})
	return all
}
