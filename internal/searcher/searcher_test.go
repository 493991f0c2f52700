package searcher

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-mcp/weir/detect"
)

// program is a program that answers as its kind documents.
func program(t *testing.T, answer func(request map[string]any) string) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request map[string]any
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil || r.Header.Get("Authorization") != "Bearer key" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		_, _ = io.WriteString(w, answer(request))
	}))
	t.Cleanup(s.Close)
	return s
}

func TestForms(t *testing.T) {
	const text = `{"content":[{"type":"text","text":"Grüße von Jörg Müller, 4539578763621486"}]}`
	at := func(part string) (start, end int) { // in characters
		before, _, _ := strings.Cut(text, part)
		start = len([]rune(before))
		return start, start + len([]rune(part))
	}
	entities := func(list ...any) string { out, _ := json.Marshal(list); return string(out) }
	start, end := at("Jörg Müller")
	person := map[string]any{"entity_type": "PERSON", "start": start, "end": end, "score": 0.85}
	start, end = at("4539578763621486")
	card := map[string]any{"entity_type": "CREDIT_CARD", "start": start, "end": end, "score": 0.6}
	for _, c := range []struct {
		name   string
		kind   Kind
		answer string
		want   []string // kind, class, confidence and text of each finding; nil: the search fails
	}{
		{"entities", Presidio, entities(card, person), []string{"x:person pii high Jörg Müller", "x:credit_card financial medium 4539578763621486"}},
		{"no entity", Presidio, `[]`, []string{}},
		{"a weak entity", Presidio, entities(map[string]any{"entity_type": "PERSON", "start": 1, "end": 2, "score": 0.2}), []string{}},
		{"an entity outside", Presidio, entities(map[string]any{"entity_type": "PERSON", "start": 1, "end": 2000, "score": 1}), nil},
		{"an entity without end", Presidio, entities(map[string]any{"entity_type": "PERSON", "start": 9, "end": 2, "score": 1}), nil},
		{"a strange type", Presidio, entities(map[string]any{"entity_type": "a b", "start": 1, "end": 2, "score": 1}), nil},
		{"no JSON", Presidio, `<html>`, nil},
		{"scores", Classifier, `[{"label":"SAFE","score":0.02},{"label":"INJECTION","score":0.98}]`, []string{"x injection medium " + text}},
		{"a list of scores", Classifier, `[[{"label":"INJECTION","score":0.98}]]`, []string{"x injection medium " + text}},
		{"low scores", Classifier, `[{"label":"INJECTION","score":0.5},{"label":"SAFE","score":0.99}]`, []string{}},
		{"an error", Classifier, `{"error":"overloaded"}`, nil},
		{"a category", Moderation, `{"results":[{"flagged":true,"category_scores":{"INJECTION":0.7,"violence":1}}]}`, []string{"x injection medium " + text}},
		{"another category", Moderation, `{"results":[{"flagged":true,"category_scores":{"violence":1}}]}`, []string{}},
		{"no result", Moderation, `{"results":[]}`, nil},
		{"too long", Moderation, strings.Repeat(" ", maxAnswer+1), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := program(t, func(request map[string]any) string {
				for _, member := range []string{"text", "inputs", "input"} {
					if request[member] == text {
						return c.answer
					}
				}
				return ""
			})
			r := New(Options{Name: "x", Kind: c.kind, URL: p.URL, Token: "key", Labels: []string{"INJECTION"}, Timeout: time.Minute}).Scan([]byte(text), detect.JSON, nil)
			if failed := r.Failed != ""; failed != (c.want == nil) || len(r.Findings) != len(c.want) {
				t.Fatalf("report %+v", r)
			}
			for i, f := range r.Findings {
				got := strings.Join([]string{string(f.Kind), string(f.Class), f.Confidence.String(), text[f.Offset : f.Offset+f.Size]}, " ")
				if got != c.want[i] || f.Digest == "" || f.Class != detect.Injection && f.Path != "/content/0/text" {
					t.Errorf("found %s: %+v, want %s", got, f, c.want[i])
				}
			}
		})
	}
}

// A program that fails is left alone for a while, and then asked once to find out.
func TestBreaker(t *testing.T) {
	var asked atomic.Int32
	var up atomic.Bool
	p := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1); up.Load() {
			_, _ = io.WriteString(w, "[]")
			return
		}
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	t.Cleanup(p.Close)
	now := time.Unix(1e9, 0)
	s := New(Options{Name: "x", Kind: Presidio, URL: p.URL, Token: "key", Timeout: time.Minute})
	s.now = func() time.Time { return now }
	scan := func() string { return s.Scan([]byte("text"), detect.Plain, nil).Failed }
	for range 10 {
		if scan() == "" {
			t.Fatal("a failure is none")
		}
	}
	if asked.Load() != mostFailures {
		t.Errorf("asked %d times", asked.Load())
	}
	now = now.Add(pause)
	if first, second := scan(), scan(); first == "" || second == "" || asked.Load() != mostFailures+1 {
		t.Errorf("asked %d times after the pause", asked.Load())
	}
	now = now.Add(pause)
	up.Store(true)
	if failed := scan() + scan(); failed != "" || asked.Load() != mostFailures+3 {
		t.Errorf("once it is up: %q, asked %d times", failed, asked.Load())
	}
}

// Texts that a program refuses, or reads for too long, keep no other text from being searched.
func TestNoTextStopsTheSearch(t *testing.T) {
	stop := make(chan struct{})
	for name, handler := range map[string]http.HandlerFunc{
		"refused":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) },
		"too large": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusRequestEntityTooLarge) },
		"no answer": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "broken") },
		"late":      func(http.ResponseWriter, *http.Request) { <-stop },
	} {
		var asked atomic.Int32
		p := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			asked.Add(1)
			handler(w, r)
		}))
		t.Cleanup(p.Close)
		timeout := time.Minute
		if name == "late" {
			timeout = 50 * time.Millisecond
		}
		s := New(Options{Name: "x", Kind: Presidio, URL: p.URL, Timeout: timeout})
		for range 2 * mostFailures {
			if r := s.Scan([]byte("text"), detect.Plain, nil); r.Failed != "x failed" {
				t.Errorf("%s: %+v", name, r)
			}
		}
		if n := asked.Load(); name != "late" && n != 2*mostFailures {
			t.Errorf("%s: asked %d times", name, n)
		}
	}
	close(stop)
}

// A program that does not answer, redirects or refuses has found nothing, and a long text is sent in part.
func TestFailures(t *testing.T) {
	stop := make(chan struct{})
	for name, handler := range map[string]http.HandlerFunc{
		"silence": func(http.ResponseWriter, *http.Request) { <-stop },
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusTemporaryRedirect)
		},
		"refusal": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) },
	} {
		p := httptest.NewServer(handler)
		t.Cleanup(p.Close)
		r := New(Options{Name: "x", Kind: Presidio, URL: p.URL, Timeout: 50 * time.Millisecond}).Scan([]byte("text"), detect.Plain, nil)
		if r.Failed == "" || len(r.Findings) > 0 {
			t.Errorf("%s: report %+v", name, r)
		}
	}
	close(stop)
	var sent atomic.Int32
	p := program(t, func(request map[string]any) string {
		text, _ := request["text"].(string)
		sent.Store(int32(len(text)))
		return "[]"
	})
	r := New(Options{Name: "x", Kind: Presidio, URL: p.URL, Token: "key", Timeout: time.Minute}).Scan([]byte(strings.Repeat("é", maxText)), detect.Plain, nil)
	if r.Failed == "" || sent.Load() != maxText {
		t.Errorf("%d bytes are sent: %+v", sent.Load(), r)
	}
}

// After late answers in a row searches wait for a part of the deadline, but for one in a while, until an answer
// comes in time.
func TestDeadline(t *testing.T) {
	now := time.Unix(1e9, 0)
	s := New(Options{Name: "x", Kind: Presidio, Timeout: time.Second})
	s.now = func() time.Time { return now }
	want := func(name string, d time.Duration) {
		t.Helper()
		if got := s.deadline(); got != d {
			t.Errorf("%s: %v, want %v", name, got, d)
		}
	}
	for range mostLate {
		want("before", time.Second)
		s.end(context.DeadlineExceeded)
	}
	want("once more", time.Second)
	s.end(context.DeadlineExceeded)
	want("then", time.Second/lateShare)
	now = now.Add(pause)
	want("after a while", time.Second)
	want("and then", time.Second/lateShare)
	s.end(nil)
	want("after an answer", time.Second)
}

// A program reads strings without escapes, and its findings stand where the escapes are.
func TestEscapesAreUndone(t *testing.T) {
	const escaped = "J\\u00f6rg M\\u00fcller"
	text := []byte(strings.Repeat(`["line\n\u0041"]`, 7500) + `{"name":"` + escaped + `"}`)
	p := program(t, func(request map[string]any) string {
		read, _ := request["text"].(string)
		before, _, ok := strings.Cut(read, "Jörg Müller")
		if !ok || strings.Contains(read, "u0041") {
			return "no"
		}
		start := len([]rune(before))
		out, _ := json.Marshal([]any{map[string]any{"entity_type": "PERSON", "start": start, "end": start + 11, "score": 0.9}})
		return string(out)
	})
	r := New(Options{Name: "x", Kind: Presidio, URL: p.URL, Token: "key", Timeout: time.Minute}).Scan(text, detect.JSON, nil)
	if len(r.Findings) != 1 || r.Failed != "" {
		t.Fatalf("report %+v", r)
	}
	if f := r.Findings[0]; string(text[f.Offset:f.Offset+f.Size]) != escaped {
		t.Errorf("found %q", text[f.Offset:f.Offset+f.Size])
	}
}

type panics struct{}

func (panics) Scan([]byte, detect.Form, []byte) detect.Report { panic("a mistake") }

// A detector that fails takes nothing from the others.
func TestTogether(t *testing.T) {
	r := Together{panics{}, detect.New()}.Scan([]byte("key AKIAQYLPMN5HFIQR7XYA"), detect.Plain, nil)
	if len(r.Findings) != 1 || r.Failed == "" {
		t.Errorf("report %+v", r)
	}
}

// Detectors that know the tools of an agent get them.
func TestTogetherNamed(t *testing.T) {
	tools := detect.NewTools([]detect.Tool{{Name: "send_email", Acts: true, Source: "mail"}})
	r := Together{panics{}, detect.New()}.ScanNamed([]byte("Call send_email."), detect.Plain, nil, tools.In("mail"))
	if len(r.Findings) != 1 || r.Findings[0].Class != detect.Injection || r.Failed == "" {
		t.Errorf("report %+v", r)
	}
}
