//go:build unix

package upstream_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/internal/upstream"
)

// A webServer is an MCP server over HTTP that says just what it is told to. After the handshake its answers are those
// of do, if set; echo answers with the params.
type webServer struct {
	session string // "" is none
	events  bool   // answer with event streams
	do      func(w http.ResponseWriter, r *http.Request, m *rpc.Message)
	get     http.HandlerFunc

	mu   sync.Mutex
	seen []http.Header // of POST requests
	last []byte        // body of the last request
}

func (s *webServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		if s.get == nil {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		s.get(w, r)
		return
	}
	body, _ := io.ReadAll(r.Body)
	m, err := rpc.Parse(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	s.seen = append(s.seen, r.Header)
	s.last = body
	s.mu.Unlock()
	switch {
	case m.Method == "initialize":
		if s.session != "" {
			w.Header().Set("Mcp-Session-Id", s.session)
		}
		s.answer(w, `{"jsonrpc":"2.0","id":%s,"result": {"protocolVersion":"2025-06-18"}}`, m.ID)
	case m.IsNotification():
		w.WriteHeader(http.StatusAccepted)
	case m.Method == "echo":
		s.answer(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, m.Params)
	case s.do != nil:
		s.do(w, r, m)
	}
}

// answer writes messages.
func (s *webServer) answer(w http.ResponseWriter, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !s.events {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, text)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	for message := range strings.SplitSeq(text, "\n") {
		fmt.Fprintf(w, "event: message\ndata: %s\n\n", message)
		w.(http.Flusher).Flush()
	}
}

// web reaches a webServer.
func web(t *testing.T, s *webServer, w *watcher) *upstream.Conn {
	t.Helper()
	return dial(t, upstream.Spec{URL: listen(t, s), Headers: map[string]string{"Authorization": "Bearer x"}}, "2025-11-25", w)
}

func TestHTTPHeaders(t *testing.T) {
	s := &webServer{session: "abc"}
	conn := web(t, s, new(watcher))
	call(t, conn, "echo", `{}`)
	s.mu.Lock()
	defer s.mu.Unlock()
	type seen struct{ Auth, Session, Protocol string }
	var got []seen
	for _, h := range s.seen {
		got = append(got, seen{h.Get("Authorization"), h.Get("Mcp-Session-Id"), h.Get("Mcp-Protocol-Version")})
	}
	want := []seen{{"Bearer x", "", ""}, {"Bearer x", "abc", "2025-06-18"}, {"Bearer x", "abc", "2025-06-18"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Over HTTP bad answers are errors of their calls, too, and of no others.
func TestHTTPBadAnswers(t *testing.T) {
	for _, events := range []bool{false, true} {
		for _, test := range []struct {
			name, format string
			defects      []string
		}{
			{"duplicate", `{"jsonrpc":"2.0","id":%s,"result":{"a":1,"a":2}}`, times(1, upstream.Malformed)},
			{"duplicate in error", `{"jsonrpc":"2.0","id":%s,"error":{"code":1,"message":"","data":{"a":1,"a":2}}}`, times(1, upstream.Malformed)},
			{"utf8", `{"jsonrpc":"2.0","id":%s,"result":"` + "\xff" + `"}`, times(1, upstream.Malformed)},
			{"neither", `{"jsonrpc":"2.0","id":%s}`, times(1, upstream.Malformed)},
			{"garbage", `<html>%s`, times(1, upstream.Malformed)},
			{"too long", `{"jsonrpc":"2.0","id":%s,"result":"` + strings.Repeat("x", 5<<20) + `"}`, times(1, upstream.Malformed)},
			{"batch", `[{"jsonrpc":"2.0","id":%s,"result":{}}]`, times(1, upstream.Malformed)},
		} {
			t.Run(fmt.Sprint(test.name, " ", events), func(t *testing.T) {
				w, s := new(watcher), &webServer{events: events}
				s.do = func(w http.ResponseWriter, _ *http.Request, m *rpc.Message) { s.answer(w, test.format, m.ID) }
				conn := web(t, s, w)
				m, err := conn.Call(t.Context(), "do", nil)
				if !errors.As(err, new(*rpc.BadMessage)) {
					t.Errorf("message %v, error %v", m, err)
				}
				call(t, conn, "echo", `{}`)
				if diff := cmp.Diff(test.defects, w.reasons()); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

// What happens to one request is no harm to others.
func TestHTTPRefusals(t *testing.T) {
	status := func(code int, kind, body string) func(http.ResponseWriter, *http.Request, *rpc.Message) {
		return func(w http.ResponseWriter, r *http.Request, m *rpc.Message) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(code)
			io.WriteString(w, strings.ReplaceAll(body, "ID", string(m.ID)))
		}
	}
	for _, test := range []struct {
		name string
		do   func(http.ResponseWriter, *http.Request, *rpc.Message)
		want string // in the error
		code int    // or in the answer
	}{
		{"plain", status(400, "text/plain", "what?\n"), `"400 Bad Request": "what?"`, 0},
		{"unauthorized", status(401, "application/json", `{"error":"login"}`), "401 Unauthorized", 0},
		{"not found", status(404, "text/html", "<html>"), "404 Not Found", 0},
		{"busy", status(503, "text/plain", ""), "503 Service Unavailable", 0},
		{"unavailable", status(500, "text/plain", ""), "500 Internal Server Error", 0},
		{"answer", status(404, "application/json", `{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"no"}}`), "", rpc.MethodNotFound},
		{"busy answer", status(500, "application/json", `{"jsonrpc":"2.0","id":ID,"error":{"code":-32603,"message":"no"}}`), "", rpc.InternalError},
		{"kind", status(200, "text/html", `<html>`), "text/html", 0},
		{"no answer", status(200, "text/event-stream", ": nothing\n\n"), "without response", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			conn := web(t, &webServer{do: test.do}, new(watcher))
			m, err := conn.Call(t.Context(), "do", nil)
			switch {
			case err == nil && (m.Failure() == nil || m.Failure().Code != test.code):
				t.Errorf("got %v", m)
			case err != nil && (test.want == "" || !strings.Contains(err.Error(), test.want)):
				t.Errorf("got %v", err)
			}
			call(t, conn, "echo", `{}`)
		})
	}
}

// Nothing goes to another origin: not the calls, not the operator's headers.
func TestHTTPOrigin(t *testing.T) {
	stranger := listen(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("stranger got %s %v", r.Method, r.Header)
	}))
	for _, code := range []int{302, 307, 308} {
		t.Run(http.StatusText(code), func(t *testing.T) {
			conn := web(t, &webServer{do: func(w http.ResponseWriter, r *http.Request, _ *rpc.Message) {
				http.Redirect(w, r, stranger, code)
			}}, new(watcher))
			if m, err := conn.Call(t.Context(), "do", nil); err == nil || !strings.Contains(err.Error(), "another origin") {
				t.Errorf("message %v, error %v", m, err)
			}
		})
	}
	spec := upstream.Spec{SSE: true, Headers: map[string]string{"Authorization": "Bearer x"}}
	spec.URL = listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "event: endpoint\ndata: %s/messages\n\n", stranger)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	if conn, err := upstream.Dial(t.Context(), spec, upstream.Hello{}, options(new(watcher))); err == nil || !strings.Contains(err.Error(), "another origin") {
		t.Errorf("connection %v, error %v", conn, err)
	}
}

// Servers that hang hold up neither callers nor Close.
func TestHTTPHangs(t *testing.T) {
	hang := func(r *http.Request) { <-r.Context().Done() }
	s := &webServer{session: "abc", get: func(_ http.ResponseWriter, r *http.Request) { hang(r) }}
	s.do = func(w http.ResponseWriter, r *http.Request, m *rpc.Message) {
		if m.Method == "after" {
			s.events = true
			s.answer(w, `{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
		}
		hang(r)
	}
	checkLeaks(t)
	conn, err := upstream.Dial(t.Context(), upstream.Spec{URL: listen(t, s)}, upstream.Hello{Protocol: "2025-11-25"}, options(new(watcher)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if m, err := conn.Call(ctx, "do", nil); err != context.DeadlineExceeded {
		t.Errorf("message %v, error %v", m, err)
	}
	call(t, conn, "after", "")
	began := time.Now()
	if err := conn.Close(); err == nil {
		t.Error("that the session could not be ended is no error")
	}
	if took := time.Since(began); took > patience {
		t.Errorf("Close took %v", took)
	}
}

// The standing stream is opened again where it broke off, and what is bad on it is reported.
func TestStandingStream(t *testing.T) {
	var opened []string
	var mu sync.Mutex
	s := &webServer{session: "abc", get: func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		opened = append(opened, r.Header.Get("Mcp-Session-Id")+" "+r.Header.Get("Last-Event-Id")+" "+r.Header.Get("Mcp-Protocol-Version"))
		if len(opened) == 3 {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "retry: 1\nid: %d\ndata:\n\n: ping\n\nevent: other\ndata: x\n\n", len(opened))
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\ndata: \"method\":\"notifications/n%d\"}\n\ndata: {\n\n", len(opened))
	}}
	w := new(watcher)
	web(t, s, w)
	eventually(t, "the third request", func() bool { mu.Lock(); defer mu.Unlock(); return len(opened) == 3 })
	if diff := cmp.Diff([]string{"abc  2025-06-18", "abc 1 2025-06-18", "abc 2 2025-06-18"}, opened); diff != "" {
		t.Error(diff)
	}
	if !w.has("notifications/n1") || !w.has("notifications/n2") {
		t.Error("notifications are missing")
	}
	if diff := cmp.Diff(times(2, upstream.Malformed), w.reasons()); diff != "" {
		t.Error(diff)
	}
}
