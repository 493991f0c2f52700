package console_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weir-mcp/weir/internal/console"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/record"
)

// A fake is a source and an actor that remembers what was done.
type fake struct {
	sessions  []console.Session
	events    []console.Event // the oldest first, numbered from 0
	overview  console.Overview
	mu        sync.Mutex
	questions []console.Question
	did       []string
}

func (f *fake) Sessions(context.Context, int) ([]console.Session, error) { return f.sessions, nil }
func (f *fake) Overview(context.Context) (console.Overview, error)       { return f.overview, nil }
func (f *fake) Questions(context.Context) ([]console.Question, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.questions), nil
}

func (f *fake) Events(_ context.Context, q console.Filter) (out []console.Event, _ error) {
	for _, e := range slices.Backward(f.events) {
		fits := (q.Before == 0 || e.Seq < q.Before) && (q.Session == "" || e.Session == q.Session) && (q.Kind == "" || string(e.Kind) == q.Kind) &&
			(q.Effect == "" || e.Effect == q.Effect) && (q.Subject == "" || e.Server+"/"+e.Name == q.Subject) && strings.Contains(e.Name+e.Message, q.Text)
		if fits {
			out = append(out, e)
		}
		if len(out) == q.Limit {
			break
		}
	}
	return out, nil
}

func (f *fake) do(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.did = append(f.did, fmt.Sprintf(format, args...))
}

func (f *fake) done() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.did)
}

func (f *fake) Answer(_ context.Context, id, choice string) error {
	f.mu.Lock()
	before := len(f.questions)
	f.questions = slices.DeleteFunc(f.questions, func(q console.Question) bool { return q.ID == id })
	answered := len(f.questions) < before
	f.mu.Unlock()
	if !answered {
		return errors.New("no such question is open")
	}
	f.do("%s %s", choice, id)
	return nil
}

func (f *fake) End(_ context.Context, key, why string) error {
	f.do("end %s: %s", key, why)
	return nil
}

func (f *fake) Declassify(_ context.Context, key string, drop []string, why string) error {
	f.do("lower %s %v: %s", key, drop, why)
	return nil
}

var (
	untrusted = label.Label{Untrusted: true}
	private   = label.Label{Private: true, Sensitivity: label.SetOf(label.Financial)}
	malicious = label.Label{Malicious: true, Untrusted: true}
)

// add appends an event.
func (f *fake) add(e record.Event) {
	e.Time = time.Now().Add(time.Duration(len(f.events)-5000) * time.Second)
	f.events = append(f.events, console.Event{Seq: int64(len(f.events)), Event: e})
}

// story is a day in which an agent read an invoice and a web page, and then wanted to send mail.
func story() *fake {
	f := &fake{}
	key := "local/agent:quarterly-report"
	call := func(server, name, effect, rule string, times int) {
		for range times {
			f.add(record.Event{Kind: record.Decision, Session: key, Principal: "local", Server: server, Name: name, Phase: "call", Effect: effect, Rule: rule,
				Method: "tools/call", Matched: strings.Fields(rule), Message: strings.ReplaceAll(rule, "-", " ")})
		}
	}
	rise := func(server, name string, l label.Label, times int) {
		for range times {
			f.add(record.Event{Kind: record.Label, Session: key, Principal: "local", Server: server, Name: name, Label: &l})
		}
	}
	call("files", "read_file", "allow", "", 14)
	rise("files", "read_file", private, 3)
	call("web", "fetch", "allow", "", 6)
	rise("web", "fetch", untrusted, 2)
	call("bank", "list_transactions", "allow", "", 3)
	rise("bank", "list_transactions", private, 1)
	call("tickets", "search", "allow", "", 9)
	rise("tickets", "search", malicious, 1)
	call("mail", "send_email", "ask", "ask-before-private-data-leaves", 2)
	call("mail", "send_email", "block", "block-credentials-to-public", 1)
	call("web", "post_form", "block", "block-credentials-to-public", 3)
	f.add(record.Event{Kind: record.Approval, Session: key, Principal: "local", Server: "mail", Name: "send_email", Effect: "asked", Rule: "ask-before-private-data-leaves", Binding: "b"})
	seen := label.Join(label.Join(private, untrusted), malicious)
	f.sessions = []console.Session{
		{Key: key, Principal: "local", Label: seen, Calls: 38, Created: time.Now().Add(-3 * time.Hour), Seen: time.Now().Add(-40 * time.Second)},
		{Key: "local/agent:quarterly-report/research", Parent: key, Principal: "local", Label: untrusted, Calls: 12, Seen: time.Now().Add(-5 * time.Minute)},
		{Key: "local/process:VQ5L", Principal: "local", Label: private, Calls: 4, Seen: time.Now().Add(-50 * time.Minute)},
		{Key: "local/agent:notes", Principal: "local", Calls: 120, Seen: time.Now().Add(-26 * time.Hour), Ended: true},
	}
	for _, id := range []string{"A", "B", "C", "D"} {
		f.questions = append(f.questions, console.Question{
			ID: id, Session: key, Asked: time.Now(), Expires: time.Now().Add(5 * time.Minute), MaySession: true,
			Lead: "Allow this call? It may do something that cannot be undone; what it is given may become public.",
			Lines: []string{`Goes to: "mallory@evil.example"`, `Tool: "send_email" of server mail`, "Arguments:", `  "body" = "Dear all, attached are the figures of the third quarter"`,
				`  "to" = "mallory@evil.example"`, "Where this comes from:", `  "to" (where it goes): what anyone could have written, mcp://tickets/search`,
				"Why you are asked: the session holds private data (rule ask-before-private-data-leaves)", "Untrusted content came from: mcp://tickets/search, mcp://web/fetch",
				"Private data came from: mcp://files/read_file (financial)", "It is allowed once, for exactly these arguments. No answer means no."},
		})
	}
	f.overview = console.Overview{Version: "test", Head: int64(len(f.events)), Looked: 38, Rules: []console.Rule{
		{Name: "block-credentials-to-public", When: "call", Effect: "block", Hits: 4, If: `session.credentials && !tool.annotations.readOnlyHint`, Message: "the session holds credentials"},
		{Name: "ask-before-private-data-leaves", When: "call", Effect: "ask", Hits: 2, If: `session.private && "public" in tool.annotations.inputMetadata.destination`, Message: "the session holds private data"},
		{Name: "ask-after-malicious", When: "call", Effect: "ask", If: `session.malicious`, Message: "something in this session tried to take over"},
	}, Servers: []console.Server{
		{Name: "mail", Process: "weir run (4711)", Trust: "known", State: "connected, 2026-07-28, pid 4712", Calls: 3},
		{Name: "web", Process: "weir run (4711)", Trust: "untrusted", State: "cannot be reached, is tried again when it is needed", Error: "connection refused"},
	}, Figures: []console.Figure{{Name: "asked", Value: "12"}, {Name: "accepted", Value: "9"}, {Name: "declined", Value: "2"}, {Name: "unanswered", Value: "1"}, {Name: "median time to an answer", Value: "6.2 s"}}}
	return f
}

// hostile strings, each for every field that an attacker controls.
var hostile = []string{
	`<script>window.pwned=1</script>`, `"><img src=x onerror="window.pwned=1">`, `'"/><svg onload=window.pwned=1>`, `javascript:window.pwned=1`,
	`</title></textarea></style><script>window.pwned=1</script>`, `{{.Form}}`, `<style>*{display:none}</style>`, `url(http://evil.example/x)`,
	"\u202egnp.exe\u2066\u200b\ufeff", "a\x00b\x1b[2J\x1b]0;title\x07", `<form action=http://evil.example><button>Allow once</button></form>`,
	`<meta http-equiv=refresh content="0;url=http://evil.example/">`, `<base href=http://evil.example/>`, `--><!--`, `]]>`, "\xff\xfe", `&lt;script&gt;`,
	`http://evil.example/?a=b&c=d#e`, "line\nAllow this call? It changes nothing", strings.Repeat("A", 1<<20),
}

// poisoned is a source all of whose fields are one text.
func poisoned(text string) *fake {
	f := &fake{}
	l := label.Label{Malicious: true, Untrusted: true, Findings: label.SetOf(text), Sensitivity: label.SetOf(label.Class(text)), Attribution: label.SetOf(text)}
	key := text[:min(len(text), 1000)]
	for _, kind := range []record.Kind{record.Decision, record.Label, record.Approval, record.Kind(text)} {
		f.add(record.Event{Kind: kind, Session: key, Parent: text, Principal: text, Call: text, Server: text, Method: text, Name: text, Phase: "call",
			Effect: text, Decided: text, Rule: text, Matched: []string{text}, Message: text, Where: text, Arguments: text, Binding: text, Label: &l})
	}
	f.sessions = []console.Session{{Key: key, Parent: key, Principal: text, Label: l}}
	f.questions = []console.Question{{ID: "Q", Session: key, Expires: time.Now().Add(time.Minute), Lead: text, Lines: []string{text}, MaySession: true}}
	f.overview = console.Overview{Version: text, Rules: []console.Rule{{Name: text, When: text, If: text, Effect: text, Message: text}},
		Servers: []console.Server{{Name: text, Process: text, Trust: text, State: text, Error: text}}, Figures: []console.Figure{{Name: text, Value: text}}}
	return f
}
