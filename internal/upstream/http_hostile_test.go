//go:build unix

package upstream_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/internal/upstream"
)

// events writes a stream of events, as they are, and keeps it open if the last is "open".
func events(w http.ResponseWriter, r *http.Request, texts ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, text := range texts {
		if text == "open" {
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			return
		}
		io.WriteString(w, text)
	}
	w.(http.Flusher).Flush()
}

func result(id any) string {
	return fmt.Sprintf("data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"of\":%s}}\n\n", id, id)
}

// What a server says in the wrong place is reported, goes to nobody, and does no harm to the call.
func TestHTTPStrangeEvents(t *testing.T) {
	note := "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/n\"}\n\n"
	for _, test := range []struct {
		name    string
		before  string // the answer
		after   string
		defects []string
	}{
		{"unknown id", result("99"), "", times(1, upstream.UnknownAnswer)},
		{"another spelling", result(`"2"`) + result("2.0"), "", times(2, upstream.UnknownAnswer)},
		{"no message", "data: <html>\n\ndata: [\ndata: ]\n\n", "", times(2, upstream.Malformed)},
		{"bad answer for another", "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":1,\"a\":2}}\n\n", "", times(1, upstream.Malformed)},
		{"other events", "event: endpoint\ndata: http://elsewhere/\n\nevent: x\ndata: {\n\n" + note, "", nil},
		{"twice", "", result("ID"), nil}, // what comes after the answer is not looked at
		{"much after", "", strings.Repeat(note, 100_000), nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			w, s := new(watcher), &webServer{}
			s.do = func(w http.ResponseWriter, r *http.Request, m *rpc.Message) {
				events(w, r, test.before, result(m.ID), strings.ReplaceAll(test.after, "ID", string(m.ID)))
			}
			conn := web(t, s, w)
			m, err := conn.Call(t.Context(), "do", nil)
			if err != nil || string(m.Result) != fmt.Sprintf(`{"of":%s}`, m.ID) {
				t.Errorf("message %v, error %v", m, err)
			}
			call(t, conn, "echo", `{}`)
			if diff := cmp.Diff(test.defects, w.reasons()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// An answer counts only in the response to its own request.
func TestHTTPAnswersForOthers(t *testing.T) {
	for _, kind := range []string{"application/json", "text/event-stream", "standing"} {
		t.Run(kind, func(t *testing.T) {
			w, s := new(watcher), &webServer{}
			waits, told := make(chan json.RawMessage, 1), make(chan struct{})
			s.do = func(w http.ResponseWriter, r *http.Request, m *rpc.Message) {
				switch {
				case m.Method == "wait":
					waits <- m.ID
					<-told
					events(w, r, result(m.ID))
				case kind == "application/json":
					w.Header().Set("Content-Type", kind)
					fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"of":"other"}}`, <-waits)
				case kind == "text/event-stream":
					events(w, r, fmt.Sprintf("data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"of\":\"other\"}}\n\n", <-waits))
				default:
					w.Header().Set("Content-Type", "text/html")
				}
			}
			s.get = func(w http.ResponseWriter, r *http.Request) {
				if kind == "standing" {
					events(w, r, fmt.Sprintf("data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"of\":\"other\"}}\n\n", <-waits), "open")
				}
			}
			conn := web(t, s, w)
			ended := make(chan string)
			go func() {
				m, err := conn.Call(context.WithoutCancel(t.Context()), "wait", nil)
				ended <- fmt.Sprintf("%s %v", m.Result, err)
			}()
			if m, err := conn.Call(t.Context(), "do", nil); err == nil {
				t.Errorf("got %s", m.Result)
			}
			eventually(t, "the defect", func() bool { return len(w.reasons()) > 0 })
			close(told)
			if got := <-ended; got != `{"of":2} <nil>` && got != `{"of":3} <nil>` {
				t.Errorf("the other call got %s", got)
			}
			if diff := cmp.Diff(times(1, upstream.UnknownAnswer), w.reasons()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A stream that breaks off is resumed behind its last whole event, as often as that helps.
func TestHTTPResumes(t *testing.T) {
	for _, test := range []struct {
		name     string
		protocol string
		streams  []string // the response to POST, then to each GET; "" is 405, "503" a status
		want     string   // in the error; "" is the answer
		opened   []string // Last-Event-ID of the GETs
	}{
		{"at once", "2025-11-25", []string{"id: a\nretry: 1\ndata:\n\n", "ANSWER"}, "", []string{"a"}},
		{"in the middle", "2025-11-25",
			[]string{"id: a\nretry: 1\ndata:\n\nid: b\ndata: {\"jsonrpc\":", "id: c\n\n", "503", "ANSWER"}, "", []string{"a", "c", "c"}},
		{"not numbered", "2025-11-25", []string{"retry: 1\ndata:\n\n"}, "without response", nil},
		{"not offered", "2025-11-25", []string{"id: a\nretry: 1\ndata:\n\n", ""}, "405", []string{"a"}},
		{"nothing new", "2025-11-25", []string{"id: a\nretry: 1\ndata:\n\n", ": \n\n", ": \n\n", ": \n\n", ": \n\n", ": \n\n"}, "without response",
			[]string{"a", "a", "a", "a", "a"}},
		{"no such thing", "2026-07-28", []string{"id: a\nretry: 1\ndata:\n\n"}, "without response", nil},
		{"too long", "2025-11-25", []string{"id: a\ndata:\n\ndata: " + strings.Repeat("x", 5<<20) + "\n\n"}, "longer than", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var opened []string
			var id string
			s := &webServer{}
			send := func(w http.ResponseWriter, r *http.Request, text string) {
				switch text {
				case "":
					w.WriteHeader(http.StatusMethodNotAllowed)
				case "503":
					w.WriteHeader(http.StatusServiceUnavailable)
				default:
					events(w, r, strings.ReplaceAll(text, "ANSWER", result(id)))
				}
			}
			s.get = func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				if last := r.Header.Get("Last-Event-Id"); last == "" || len(opened)+1 >= len(test.streams) {
					w.WriteHeader(http.StatusMethodNotAllowed)
				} else {
					opened = append(opened, last)
					send(w, r, test.streams[len(opened)])
				}
			}
			s.do = func(w http.ResponseWriter, r *http.Request, m *rpc.Message) {
				if m.Method == "server/discover" {
					s.answer(w, `{"jsonrpc":"2.0","id":%s,"result":{"supportedVersions":["2026-07-28"]}}`, m.ID)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				id = string(m.ID)
				send(w, r, test.streams[0])
			}
			conn, err := upstream.Dial(t.Context(), upstream.Spec{URL: serve(t, s)}, upstream.Hello{Protocol: test.protocol}, options(new(watcher)))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			m, err := conn.Call(t.Context(), "do", nil)
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("message %v, error %v", m, err)
			}
			mu.Lock()
			defer mu.Unlock()
			if diff := cmp.Diff(test.opened, opened); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// To requests of a session, 404 says that it is gone, and so is the connection, unless the very request is answered.
func TestHTTPSessionGone(t *testing.T) {
	for _, test := range []struct {
		name, session, body string
		gone                bool
	}{
		{"bare", "abc", "", true},
		{"text", "abc", "Session not found", true},
		{"nobody's error", "abc", `{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}`, true},
		{"another's error", "abc", `{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":77}`, true},
		{"answer", "abc", `{"jsonrpc":"2.0","error":{"code":-32601,"message":"no"},"id":ID}`, false},
		{"no session", "", "", false},
		{"no session, nobody's error", "", `{"jsonrpc":"2.0","error":{"code":-32601,"message":"no"},"id":null}`, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			var deleted atomic.Bool
			s := &webServer{session: test.session, get: func(_ http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodDelete {
					deleted.Store(true)
				}
			}}
			s.do = func(w http.ResponseWriter, _ *http.Request, m *rpc.Message) {
				w.WriteHeader(http.StatusNotFound)
				io.WriteString(w, strings.ReplaceAll(test.body, "ID", string(m.ID)))
			}
			conn := web(t, s, new(watcher))
			m, err := conn.Call(t.Context(), "do", nil)
			if errors.Is(err, upstream.ErrClosed) != test.gone {
				t.Errorf("message %v, error %v", m, err)
			}
			if strings.Contains(test.name, "answer") || strings.Contains(test.name, "no session, nobody") {
				if err != nil || m.Failure() == nil || m.Failure().Code != rpc.MethodNotFound {
					t.Errorf("message %v, error %v", m, err)
				}
			}
			if err := conn.Close(); err != nil {
				t.Error(err)
			}
			if want := test.session != "" && !test.gone; deleted.Load() != want {
				t.Errorf("session deleted: %t, want %t", deleted.Load(), want)
			}
		})
	}
}

// A response that names another session than the handshake's is refused.
func TestHTTPOtherSession(t *testing.T) {
	s := &webServer{session: "abc", get: func(http.ResponseWriter, *http.Request) {}}
	s.do = func(w http.ResponseWriter, _ *http.Request, m *rpc.Message) {
		w.Header().Set("Mcp-Session-Id", "xyz")
		s.answer(w, `{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
	}
	conn := web(t, s, new(watcher))
	if m, err := conn.Call(t.Context(), "do", nil); err == nil || !strings.Contains(err.Error(), "another session") {
		t.Errorf("message %v, error %v", m, err)
	}
	call(t, conn, "echo", `{}`)
}

// A redirect within the origin is followed if the message goes along, but not for ever.
func TestHTTPRedirects(t *testing.T) {
	for _, test := range []struct {
		code int
		to   string
		want string // in the error; "" is an answer
	}{
		{307, "/there", ""},
		{308, "/there", ""},
		{301, "/there", "makes a GET of a POST"},
		{302, "/there", "makes a GET of a POST"},
		{303, "/there", "makes a GET of a POST"},
		{307, "/again", "redirects more than"},
	} {
		t.Run(fmt.Sprint(test.code, test.to), func(t *testing.T) {
			s := &webServer{}
			s.do = func(w http.ResponseWriter, r *http.Request, m *rpc.Message) {
				if r.URL.Path == "/there" {
					s.answer(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, m.Params)
					return
				}
				http.Redirect(w, r, test.to, test.code)
			}
			conn := web(t, s, new(watcher))
			m, err := conn.Call(t.Context(), "do", json.RawMessage(`{"a":1}`))
			switch {
			case test.want == "" && (err != nil || string(m.Result) != `{"a":1}`):
				t.Errorf("message %v, error %v", m, err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("message %v, error %v", m, err)
			}
		})
	}
}

// A server that is slow with one answer, or never ends one, holds up no other call, nor notifications.
func TestHTTPSlowAnswers(t *testing.T) {
	s := &webServer{}
	release := make(chan struct{})
	s.do = func(w http.ResponseWriter, r *http.Request, m *rpc.Message) {
		switch m.Method {
		case "flood":
			for r.Context().Err() == nil {
				events(w, r, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/n\"}\n\n")
			}
		case "trickle":
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"jsonrpc":"2.0",`)
			w.(http.Flusher).Flush()
			<-release
			fmt.Fprintf(w, `"id":%s,"result":{}}`, m.ID)
		case "deaf":
			<-r.Context().Done()
		}
	}
	conn := web(t, s, new(watcher))
	ctx, cancel := context.WithCancel(t.Context())
	late, never := make(chan error, 2), make(chan error, 2)
	for method, ends := range map[string]chan error{"trickle": late, "flood": never, "deaf": never} {
		go func() { ends <- second(conn.Call(ctx, method, nil)) }()
	}
	for range 20 {
		call(t, conn, "echo", `{}`)
		if err := conn.Notify(t.Context(), "notifications/n", nil); err != nil {
			t.Error(err)
		}
	}
	close(release)
	if err := <-late; err != nil {
		t.Errorf("slow answer: %v", err)
	}
	cancel()
	for range 2 {
		if err := <-never; err != context.Canceled {
			t.Errorf("no answer: %v", err)
		}
	}
}

// A server may say something to a notification, or never stop: that is its own business.
func TestHTTPNotifications(t *testing.T) {
	s := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		m, err := rpc.Parse(body)
		switch {
		case err != nil: // the standing stream
			w.WriteHeader(http.StatusMethodNotAllowed)
		case m.Method == "initialize":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18"}}`, m.ID)
		case m.Method == "notifications/bad":
			http.Error(w, "what?", http.StatusBadRequest)
		case m.Method == "notifications/endless":
			events(w, r, "data: x\n\n", "open")
		default:
			io.WriteString(w, "null")
		}
	})
	conn := dial(t, upstream.Spec{URL: listen(t, s)}, "2025-06-18", new(watcher))
	for _, method := range []string{"notifications/n", "notifications/endless", "notifications/n"} {
		if err := conn.Notify(t.Context(), method, nil); err != nil {
			t.Errorf("%s: %v", method, err)
		}
	}
	if err := conn.Notify(t.Context(), "notifications/bad", nil); err == nil || !strings.Contains(err.Error(), `"400 Bad Request": "what?"`) {
		t.Errorf("bad: %v", err)
	}
}

// From 2026-07-28 on a request is cancelled by hanging up, and by nothing else; its headers repeat what is in it.
func TestHTTPModern(t *testing.T) {
	s := &webServer{}
	gone := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	s.do = func(w http.ResponseWriter, r *http.Request, m *rpc.Message) {
		if m.Method == "server/discover" {
			s.answer(w, `{"jsonrpc":"2.0","id":%s,"result":{"supportedVersions":["2026-07-28"]}}`, m.ID)
			return
		}
		cancel()
		<-r.Context().Done()
		close(gone)
	}
	conn := web26(t, s)
	params := json.RawMessage(`{"name":" é\n","arguments":{}}`)
	if _, err := conn.Call(ctx, "tools/call", params); err != context.Canceled {
		t.Errorf("got %v", err)
	}
	<-gone
	call(t, conn, "echo", `{}`)
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var got []string
	for _, h := range s.seen {
		got = append(got, strings.Join([]string{h.Get("Mcp-Protocol-Version"), h.Get("Mcp-Method"), h.Get("Mcp-Name"), h.Get("Mcp-Session-Id")}, "|"))
	}
	want := []string{"2026-07-28|server/discover||", "2026-07-28|tools/call|=?base64?IMOpCg==?=|", "2026-07-28|echo||"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// web26 reaches a webServer in the newest revision.
func web26(t *testing.T, s *webServer) *upstream.Conn {
	t.Helper()
	return dial(t, upstream.Spec{URL: listen(t, s)}, "2026-07-28", new(watcher))
}

// What the HTTP+SSE transport's server says in the wrong form is reported, and ends nothing.
func TestSSEBadEvents(t *testing.T) {
	var mu sync.Mutex
	var out http.ResponseWriter
	say := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(out, format, args...)
		out.(http.Flusher).Flush()
	}
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			mu.Lock()
			out = w
			mu.Unlock()
			w.Header().Set("Content-Type", "text/event-stream")
			say("event: endpoint\ndata: /messages?session=1\n\n")
			<-r.Context().Done()
			return
		}
		body, _ := io.ReadAll(r.Body)
		m, _ := rpc.Parse(body)
		switch {
		case r.URL.String() != "/messages?session=1":
			http.Error(w, "where?", http.StatusNotFound)
		case m.Method == "initialize":
			say("data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"protocolVersion\":\"2024-11-05\"}}\n\n", m.ID)
		case m.Method == "bad":
			say("data: <html>\n\nevent: x\ndata: {\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"a\":1,\"a\":2}}\n\n", m.ID)
		case m.Method == "refused":
			http.Error(w, "no", http.StatusTeapot)
		case m.IsRequest():
			say("data: {\"jsonrpc\":\"2.0\",\"id\":%s,\ndata: \"result\":{ \"b\" : 1.0}, \"y\":2}\n\n", m.ID)
		}
	})
	w := new(watcher)
	conn := dial(t, upstream.Spec{URL: listen(t, h), SSE: true}, "2024-11-05", w)
	if _, err := conn.Call(t.Context(), "bad", nil); !errors.As(err, new(*rpc.BadMessage)) {
		t.Errorf("bad answer: %v", err)
	}
	if _, err := conn.Call(t.Context(), "refused", nil); err == nil || !strings.Contains(err.Error(), "teapot") {
		t.Errorf("refused: %v", err)
	}
	m, err := conn.Call(t.Context(), "good", nil)
	if err != nil || string(m.Result) != `{ "b" : 1.0}` {
		t.Errorf("message %v, error %v", m, err)
	}
	if diff := cmp.Diff(times(2, upstream.Malformed), w.reasons()); diff != "" {
		t.Error(diff)
	}
}
