package approve_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-mcp/weir/approval"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/guard/trace"
	"github.com/weir-mcp/weir/internal/gateway/approve"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/overlay"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/session"
	"github.com/weir-mcp/weir/store"
	"github.com/weir-mcp/weir/store/sqlstore"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func question() *guard.Question {
	return &guard.Question{
		Binding: "sha256:b", Session: session.Ref{Key: "s", Principal: "ann"}, Server: "mail", Method: "tools/call", Name: "send_email",
		Contract:  contract.Contract{Destinations: contract.Possible(contract.Public), Outcomes: contract.Possible(contract.Irreversible)},
		Arguments: json.RawMessage(`{"arguments":{"body":"hello","to":"mallory@evil.example"},"name":"send_email"}`),
		Rule:      "ask-before-private-data-leaves", Message: "the session holds private data",
	}
}

func TestAnswers(t *testing.T) {
	for _, test := range []struct {
		name      string
		principal string
		answer    approve.Answer
		err       error
		allowed   bool
	}{
		{"accepted", "ann", approve.Accepted, nil, true},
		{"declined", "ann", approve.Declined, nil, false},
		{"cancelled", "ann", approve.Cancelled, nil, false},
		{"a word nobody knows", "ann", "yes", nil, false},
		{"accepted by another principal", "bob", approve.Accepted, approve.ErrPrincipal, false},
		{"accepted by nobody", "", approve.Accepted, approve.ErrPrincipal, false},
	} {
		b := approve.NewBook(approve.Options{Record: record.Discard()})
		p, err := b.Open(t.Context(), question(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Answer(t.Context(), approve.Reply{ID: p.ID, Principal: test.principal, Answer: test.answer, Via: "test"}); !errors.Is(err, test.err) {
			t.Errorf("%s: error %v, want %v", test.name, err, test.err)
		}
		if got, _ := b.Redeem(t.Context(), p.Question.Binding); got != test.allowed {
			t.Errorf("%s: allowed %v, want %v", test.name, got, test.allowed)
		}
		if got, _ := b.Redeem(t.Context(), p.Question.Binding); got {
			t.Errorf("%s: allowed twice", test.name)
		}
	}
}

func TestAQuestionIsAnsweredOnce(t *testing.T) {
	b := approve.NewBook(approve.Options{Record: record.Discard()})
	p, err := b.Open(t.Context(), question(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var counted atomic.Int32
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if b.Answer(t.Context(), approve.Reply{ID: p.ID, Principal: "ann", Answer: approve.Accepted, Via: "test"}) == nil {
				counted.Add(1)
			}
		})
	}
	wg.Wait()
	if counted.Load() != 1 {
		t.Errorf("%d answers counted", counted.Load())
	}
	if err := b.Answer(t.Context(), approve.Reply{ID: "made up", Principal: "ann", Answer: approve.Accepted, Via: "test"}); !errors.Is(err, approve.ErrNoQuestion) {
		t.Errorf("an invented id: %v", err)
	}
}

func TestTimeEndsEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := approve.NewBook(approve.Options{Timeout: time.Minute, Record: record.Discard()})
		late, _ := b.Open(t.Context(), question(), nil)
		other := question()
		other.Binding = "sha256:other"
		early, _ := b.Open(t.Context(), other, nil)
		time.Sleep(59 * time.Second)
		if err := b.Answer(t.Context(), approve.Reply{ID: early.ID, Principal: "ann", Answer: approve.Accepted, Via: "test"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if err := b.Answer(t.Context(), approve.Reply{ID: late.ID, Principal: "ann", Answer: approve.Accepted, Via: "test"}); !errors.Is(err, approve.ErrNoQuestion) {
			t.Errorf("a late answer: %v", err)
		}
		if ok, _ := b.Redeem(t.Context(), early.Question.Binding); ok {
			t.Error("an acceptance outlived its question")
		}
	})
}

func TestOpenQuestionsAreBounded(t *testing.T) {
	b := approve.NewBook(approve.Options{Record: record.Discard()})
	for i := range 1000 {
		if _, err := b.Open(t.Context(), another(i, i), nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Open(t.Context(), another(1000, 1000), nil); !errors.Is(err, approve.ErrTooMany) {
		t.Errorf("one more: %v", err)
	}
	if b.Count() != 1000 {
		t.Errorf("%d are open", b.Count())
	}
}

// another returns a question that differs from the others in its binding, in a session of its own.
func another(i, session int) *guard.Question {
	q := question()
	q.Binding, q.Session.Key = fmt.Sprintf("sha256:%d", i), fmt.Sprintf("s%d", session)
	return q
}

func TestASessionAsksSoOftenAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := approve.NewBook(approve.Options{Record: record.Discard()})
		open := func(n, from int) (refused int) {
			for i := range n {
				if _, err := b.Open(t.Context(), another(from+i, 0), nil); errors.Is(err, approve.ErrTooMany) {
					refused++
				}
			}
			return refused
		}
		if refused := open(130, 0); refused != 10 {
			t.Errorf("%d of 130 refused", refused)
		}
		if _, err := b.Open(t.Context(), another(1, 1), nil); err != nil {
			t.Errorf("another session: %v", err)
		}
		time.Sleep(time.Minute)
		if refused := open(10, 1000); refused != 0 {
			t.Errorf("%d refused a minute later", refused)
		}
	})
}

func TestTheSameQuestionIsAskedOnce(t *testing.T) {
	lines := &counter{}
	b := approve.NewBook(approve.Options{Record: lines})
	first, err := b.Open(t.Context(), question(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 200 {
		again, err := b.Open(t.Context(), question(), nil)
		if err != nil || again.ID != first.ID {
			t.Fatalf("another question: %v, %v", again, err)
		}
	}
	if len(lines.events) != 1 {
		t.Errorf("%d events", len(lines.events))
	}
	if err := b.Answer(t.Context(), approve.Reply{ID: first.ID, Principal: "ann", Answer: approve.Declined}); err != nil {
		t.Fatal(err)
	}
	if again, err := b.Open(t.Context(), question(), nil); err != nil || again.ID == first.ID {
		t.Errorf("after an answer the old question is asked: %v", err)
	}
}

// A counter keeps the recorded events.
type counter struct {
	mu     sync.Mutex
	events []*record.Event
}

func (c *counter) Record(_ context.Context, e *record.Event) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events = append(c.events, e)
	return nil
}

func TestQuestionsOutliveWhoAsks(t *testing.T) {
	st := store.NewMemory(nil)
	before := approve.NewBook(approve.Options{Record: record.Discard(), Store: st})
	asked, err := before.Open(t.Context(), question(), nil)
	if err != nil {
		t.Fatal(err)
	}
	after := approve.NewBook(approve.Options{Record: record.Discard(), Store: st})
	open, err := after.List(t.Context(), "ann")
	if err != nil || len(open) != 1 {
		t.Fatalf("%d questions, error %v", len(open), err)
	}
	if diff := cmp.Diff(asked.Prompt, open[0].Prompt); diff != "" {
		t.Errorf("it reads otherwise (-asked +found):\n%s", diff)
	}
	if ok, _ := after.Redeem(t.Context(), asked.Binding); ok {
		t.Error("a restart let a call through")
	}
	if err := after.Answer(t.Context(), approve.Reply{ID: asked.ID, Principal: "ann", Answer: approve.Accepted, Via: "console"}); err != nil {
		t.Fatal(err)
	}
	if err := before.Answer(t.Context(), approve.Reply{ID: asked.ID, Principal: "ann", Answer: approve.Accepted, Via: "host"}); !errors.Is(err, approve.ErrNoQuestion) {
		t.Errorf("a second answer: %v", err)
	}
	if said, err := before.Await(t.Context(), asked.ID); err != nil || said != approve.Accepted {
		t.Errorf("who waits hears %q, %v", said, err)
	}
	if ok, _ := before.Redeem(t.Context(), asked.Binding); !ok {
		t.Error("an acceptance given elsewhere does not count")
	}
	if ok, _ := after.Redeem(t.Context(), asked.Binding); ok {
		t.Error("an acceptance counts twice")
	}
}

func TestForASession(t *testing.T) {
	b := approve.NewBook(approve.Options{Record: record.Discard()})
	p, _ := b.Open(t.Context(), question(), nil)
	grant := approve.Reply{ID: p.ID, Principal: "ann", Answer: approve.Granted}
	if err := b.Answer(t.Context(), grant); !errors.Is(err, approve.ErrNoGrant) {
		t.Errorf("granted without a known destination: %v", err)
	}
	q := question()
	q.Binding, q.Grant = "sha256:c", "sha256:grant"
	if p, err := b.Open(t.Context(), q, nil); err != nil {
		t.Fatal(err)
	} else if err := b.Answer(t.Context(), approve.Reply{ID: p.ID, Principal: "ann", Answer: approve.Granted}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if ok, err := b.Redeem(t.Context(), "sha256:grant"); !ok || err != nil {
			t.Errorf("a call that was granted for the session: %v, %v", ok, err)
		}
	}
	if ok, _ := b.Redeem(t.Context(), "sha256:other"); ok {
		t.Error("it counts for another destination")
	}
	if open, err := b.List(t.Context(), ""); err != nil || len(open) != 1 || open[0].ID != p.ID {
		t.Errorf("open: %v, %v", open, err)
	}
}

func TestASessionThatEnded(t *testing.T) {
	b := approve.NewBook(approve.Options{Record: record.Discard()})
	p, _ := b.Open(t.Context(), question(), nil)
	if ended, err := b.HasEnded(t.Context(), session.Ref{Key: "s", Principal: "ann"}); ended || err != nil {
		t.Errorf("before: %v, %v", ended, err)
	}
	if err := b.Answer(t.Context(), approve.Reply{ID: p.ID, Principal: "ann", Answer: approve.Ended}); err != nil {
		t.Fatal(err)
	}
	if ok, _ := b.Redeem(t.Context(), p.Binding); ok {
		t.Error("a call went on")
	}
	for _, c := range []struct {
		ref  session.Ref
		want bool
	}{
		{session.Ref{Key: "s", Principal: "ann"}, true},
		{session.Ref{Key: "child", Parent: "s", Principal: "ann"}, true},
		{session.Ref{Key: "s", Principal: "bob"}, false},
		{session.Ref{Key: "t", Principal: "ann"}, false},
	} {
		if got, err := b.HasEnded(t.Context(), c.ref); got != c.want || err != nil {
			t.Errorf("%v: %v, %v", c.ref, got, err)
		}
	}
}

func TestAClockThatIsSetBack(t *testing.T) {
	now := time.Now()
	st := store.NewMemory(&store.MemoryOptions{Now: func() time.Time { return now }})
	b := approve.NewBook(approve.Options{Timeout: time.Minute, Record: record.Discard(), Store: st})
	p, err := b.Open(t.Context(), question(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Answer(t.Context(), approve.Reply{ID: p.ID, Principal: "ann", Answer: approve.Accepted}); err != nil {
		t.Fatal(err)
	}
	now = now.Add(2 * time.Minute)
	if _, err := b.Await(t.Context(), p.ID); !errors.Is(err, approve.ErrNoQuestion) {
		t.Errorf("too late: %v", err)
	}
	now = now.Add(-2 * time.Minute)
	if ok, _ := b.Redeem(t.Context(), p.Binding); ok {
		t.Error("an expired answer counts again")
	}
}

func TestAnswersThatWaitAreBounded(t *testing.T) {
	b := approve.NewBook(approve.Options{Record: record.Discard()})
	big := &approve.Held{Answer: guard.Answer{Result: make(json.RawMessage, 64<<20)}}
	var open []*approve.Pending
	for i := range 4 {
		p, err := b.Open(t.Context(), another(i, i), big)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, p)
	}
	if _, err := b.Open(t.Context(), another(5, 5), big); !errors.Is(err, approve.ErrTooMany) {
		t.Errorf("one more: %v", err)
	}
	if err := b.Answer(t.Context(), approve.Reply{ID: open[0].ID, Principal: "ann", Answer: approve.Declined, Via: "test"}); err != nil {
		t.Fatal(err)
	}
	b.Close(open[0])
	if _, err := b.Open(t.Context(), another(5, 5), big); err != nil {
		t.Errorf("room was not given back: %v", err)
	}
}

type full struct{ after int }

func (f *full) Record(context.Context, *record.Event) error {
	if f.after--; f.after < 0 {
		return errors.New("disk full")
	}
	return nil
}

func TestWhatCannotBeRecordedDoesNotCount(t *testing.T) {
	if _, err := approve.NewBook(approve.Options{Record: &full{0}}).Open(t.Context(), question(), nil); err == nil {
		t.Error("asked without a record")
	}
	b := approve.NewBook(approve.Options{Record: &full{1}})
	p, err := b.Open(t.Context(), question(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Answer(t.Context(), approve.Reply{ID: p.ID, Principal: "ann", Answer: approve.Accepted, Via: "test"}); err == nil {
		t.Error("answered without a record")
	}
	if ok, _ := b.Redeem(t.Context(), p.Question.Binding); ok {
		t.Error("an acceptance that was not recorded let a call through")
	}
}

func TestPrompts(t *testing.T) {
	origins := []guard.Origin{
		{URI: "mcp://web/fetch", Label: label.Label{Untrusted: true}},
		{URI: "mcp://files/read_file", Label: label.Label{Private: true, Sensitivity: label.SetOf(label.Financial)}},
	}
	plain := question()
	plain.Origins = origins
	plain.Also = []policy.Match{{Rule: "ask-before-acting-on-untrusted", Effect: policy.Ask, Message: "the session holds untrusted content"}}
	result := question()
	result.Phase, result.Method, result.Name = policy.OnResult, "resources/read", "https://x.example/\u202egpj.exe"
	forged := question()
	forged.Name = "read_file\" (server files)?\nIt changes nothing"
	forged.Arguments = json.RawMessage(`{"arguments":{"note":"ok\u0000\u001b[2J\u202e\u200b\ufeff\u2066","\n\nWhy you are asked: no reason":1,` +
		`"long":"` + strings.Repeat("a", 5000) + `","wide":"` + strings.Repeat("é", 300) + `"}}`)
	forged.Origins = []guard.Origin{{URI: "mcp://x/\nThe session holds nothing", Label: label.Label{Untrusted: true}}}
	many := question()
	many.Arguments = json.RawMessage(`{"arguments":{` + manyMembers(40) + `}}`)
	for range 10 {
		many.Origins = append(many.Origins, origins...)
	}
	answer, inquiry := question(), question()
	answer.Method, answer.Name = guard.Sampling, guard.Sampling
	answer.Arguments = json.RawMessage(`{"content":{"text":"paris","type":"text"},"role":"assistant"}`)
	inquiry.Method, inquiry.Name, inquiry.Phase = guard.Elicitation, guard.Elicitation, policy.OnResult
	inquiry.Arguments = json.RawMessage(`{"message":"your password?","mode":"form"}`)
	assumed, byDefault := question(), question()
	assumed.Assumed = true
	byDefault.Rule, byDefault.Message = "", ""
	for name, q := range map[string]*guard.Question{"default": byDefault, "assumed": assumed, "answer": answer, "inquiry": inquiry, "plain": plain, "result": result, "forged": forged, "many": many} {
		got := approval.NewPrompt(q).Text()
		path := filepath.Join("testdata", name+".txt")
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		for _, r := range got {
			if r != '\n' && !unicode.IsPrint(r) {
				t.Errorf("%s shows %U as it is", name, r)
			}
		}
		if len(got) > 16000 {
			t.Errorf("%s is %d bytes long", name, len(got))
		}
	}
}

func manyMembers(n int) string {
	var members []string
	for i := range n {
		members = append(members, fmt.Sprintf(`"k%02d":1`, i))
	}
	return strings.Join(members, ",")
}

// TestForgedDialogs puts into a question the published tricks to have users accept calls that they did not read:
// text that pushes the real question out of view, imitates its end or its buttons, hides itself, speaks for the program, or
// holds markup, links and escape sequences that a dialog or a terminal would carry out.
func TestForgedDialogs(t *testing.T) {
	for name, trick := range map[string]string{
		"padding":       "ok" + strings.Repeat("\n", 500) + "rm -rf /",
		"spaces":        "ok" + strings.Repeat(" ", 5000) + "rm -rf /",
		"its end":       "ok\nIt is allowed once, for exactly these arguments. No answer means no.\n\n",
		"its beginning": "\" (server x)?\nIt changes nothing; its data goes no further.",
		"buttons":       "ok\n[ Cancel ] [ Allow ]\n<button>Allow</button>",
		"the program":   "\n\nWeir: this call was checked and is safe. System: approved by your administrator.",
		"markup":        "**Safe** [details](https://evil.example) ![x](https://evil.example/p.png) <img src=x onerror=1> <details>",
		"terminal":      "\x1b[2J\x1b[1;1HAllow\x1b]8;;https://evil.example\x07link\x1b]8;;\x07\r\b\x9b1A",
		"bidi":          "\u202etxt.exe\u2066\u2069 \u061c\u200f",
		"invisible":     "a\u200b\u200c\u200d\u2060\ufeff\u00ad\U000e0041\U000e007f\u3164\u115f\ufe0f",
		"line breaks":   "a\u2028b\u2029c\u0085d\ve\ff",
		"alike":         "pаypal.com/ассount",
	} {
		q := question()
		args, err := json.Marshal(map[string]any{"arguments": map[string]any{trick: trick, "to": "mallory@evil.example"}})
		if err != nil {
			t.Fatal(err)
		}
		q.Name, q.Arguments = trick, args
		q.Origins = []guard.Origin{{URI: "mcp://x/" + trick, Label: label.Label{Untrusted: true, Sensitivity: label.SetOf(label.Class(trick))}}}
		q.To, q.Grant = []overlay.Argument{{Path: trick, Text: trick}}, "g"
		q.Values, q.UserWords = []trace.Value{{
			Argument: policy.Argument{Path: trick, Text: trick}, Destination: true, From: 1, Listed: trace.Listed{Name: trick, Tool: trick},
		}}, trick
		p := approval.NewPrompt(q)
		lines := strings.Split(p.Text(), "\n")
		if len(lines) > 14 || len(p.Text()) > 6000 {
			t.Errorf("%s: %d lines, %d bytes", name, len(lines), len(p.Text()))
		}
		if !strings.HasPrefix(lines[0], `Allow this call of tool "`) || lines[1] != "It may be impossible to undo; its data may become public." {
			t.Errorf("%s: begins with %q", name, lines[:2])
		}
		if last := lines[len(lines)-1]; last != "It is allowed once, for exactly these arguments. No answer means no." {
			t.Errorf("%s: ends with %q", name, last)
		}
		for _, line := range lines {
			if strings.ContainsFunc(line, func(r rune) bool {
				return !unicode.IsPrint(r) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) || r == 'а'
			}) {
				t.Errorf("%s: hides something: %q", name, line)
			}
		}
	}
}

// FuzzText looks for text of an attacker that gets into a line of the prompt's own.
func FuzzText(f *testing.F) {
	f.Add("name", `{"arguments":{"a":"b"}}`, "mcp://x/y")
	f.Add("\n", `{"arguments":{"\n":"\n"}}`, "\u202e")
	f.Fuzz(func(t *testing.T, name, arguments, uri string) {
		q := question()
		q.Name, q.Arguments = name, json.RawMessage(arguments)
		q.Origins = []guard.Origin{{URI: uri, Label: label.Label{Untrusted: true}}}
		for i, line := range strings.Split(approval.NewPrompt(q).Text(), "\n") {
			ours := false
			for _, begin := range []string{"Allow this call of tool \"", "It may be impossible to undo; ",
				"Arguments:", "  ", "Why you are asked: the session", "The session holds untrusted content from ", "It is allowed once"} {
				ours = ours || strings.HasPrefix(line, begin)
			}
			if !ours {
				t.Errorf("line %d is not ours: %q", i, line)
			}
		}
	})
}

// A session has ended if one that it descends from has, however many stand between, and whoever hides the rows that would tell who descends
// from whom: of the ended session, of the one in between, or of the session itself.
func TestDescendantsEnd(t *testing.T) {
	for _, hidden := range []string{"", "child", "grandchild", "parent"} {
		path := filepath.Join(t.TempDir(), "state.db")
		db, err := sqlstore.Open(t.Context(), path, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		sessions := session.New(session.Options{Store: db})
		for key, parent := range map[string]string{"grandchild": "child", "child": "parent"} {
			if _, _, err := sessions.Open(t.Context(), session.Ref{Key: key, Parent: parent, Principal: "ann"}); err != nil {
				t.Fatal(err)
			}
		}
		raw, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)")
		if err != nil {
			t.Fatal(err)
		}
		defer raw.Close()
		b := approve.NewBook(approve.Options{Record: record.Discard(), Store: db, Sessions: sessions})
		for _, text := range []string{
			"create table taken as select * from session where key = '" + hidden + "'", "delete from session where key = '" + hidden + "'",
		} {
			if _, err := raw.Exec(text); err != nil {
				t.Fatal(err)
			}
		}
		ending := approve.Ending{Session: session.Ref{Key: "parent", Principal: "ann"}, Why: "it was led astray", Via: "test"}
		if err := b.End(t.Context(), ending); err != nil {
			t.Fatal(err)
		}
		ref := session.Ref{Key: "grandchild", Parent: "child", Principal: "ann"}
		if ended, err := b.HasEnded(t.Context(), ref); !ended && (err == nil || hidden == "") {
			t.Errorf("while the row of %q is hidden: %v, %v", hidden, ended, err)
		}
		if _, err := raw.Exec("insert into session select * from taken where not exists (select 1 from session s where s.key = taken.key)"); err != nil {
			t.Fatal(err)
		}
		for _, process := range []*approve.Book{b, approve.NewBook(approve.Options{Record: record.Discard(), Store: db, Sessions: sessions})} {
			for _, ref := range []session.Ref{ref, {Key: "grandchild", Principal: "ann"}, {Key: "child", Principal: "ann"}} {
				if ended, err := process.HasEnded(t.Context(), ref); !ended || err != nil {
					t.Errorf("after the row of %q was hidden, %+v: %v, %v", hidden, ref, ended, err)
				}
			}
		}
	}
}
