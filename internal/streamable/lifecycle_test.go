package streamable_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-mcp/weir/internal/budget"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/internal/streamable"
)

// serveDirect answers r without a network, as if it had come in at addr.
func serveDirect(h http.Handler, r *http.Request, addr net.Addr) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	if addr != nil {
		r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, addr))
	}
	h.ServeHTTP(w, r)
	return w
}

// largeEvents answers every request with a notification and a response of n bytes each… of white space and text.
func largeEvents(n int) func(context.Context, streamable.Info, rpc.Conn) error {
	text := `{"text":"` + strings.Repeat("x", n) + `"}`
	return func(ctx context.Context, _ streamable.Info, conn rpc.Conn) error {
		for {
			m, err := conn.Read(ctx)
			if err != nil {
				return nil
			}
			if m.IsRequest() {
				conn.Write(rpc.WithRelated(ctx, m.ID), rpc.NewNotification("n", nil))
				conn.Write(ctx, rpc.Reply(m.ID, []byte(text)))
			}
		}
	}
}

func wait(name string, id int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q}}`, id, name)
}

func TestInfo(t *testing.T) {
	y := newToy()
	h := streamable.New(streamable.Options{Serve: y.serve})
	outer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(streamable.WithPrincipal(r.Context(), r.Header.Get("Who"), false)))
	})
	srv := httptest.NewServer(outer)
	t.Cleanup(func() { h.Close(); srv.Close() })
	resp, _ := call{header: "Who: ann", body: initialize}.do(t, srv.URL)
	id := resp.Header.Get("Mcp-Session-Id")
	c := modern("server/discover", "{}")
	c.header += "\nWho: bob\nBaggage: session.id=1"
	c.do(t, srv.URL)

	y.mu.Lock()
	a, b := y.infos[0], y.infos[1]
	y.mu.Unlock()
	if a.Modern || a.SessionID != id || len(id) < 26 || a.Principal != "ann" || a.Remote == "" || a.Header.Get("Who") != "ann" {
		t.Errorf("session: %+v", a)
	}
	if !b.Modern || b.SessionID != "" || b.Principal != "bob" || b.Header.Get("Baggage") != "session.id=1" {
		t.Errorf("request: %+v", b)
	}
	for who, want := range map[string]int{"ann": 200, "bob": 404, "": 404} {
		if resp, body := (call{header: "Who: " + who, session: id, body: ping}).do(t, srv.URL); resp.StatusCode != want {
			t.Errorf("session of ann used by %q: %s %s", who, resp.Status, body)
		}
	}
}

func TestSessionIDsDiffer(t *testing.T) {
	url, _ := start(t, newToy(), streamable.Options{})
	seen := map[string]bool{}
	for range 50 {
		seen[session(t, url)] = true
	}
	if len(seen) != 50 {
		t.Errorf("%d ids for 50 sessions", len(seen))
	}
}

// A client that hangs up cancels its request from 2026-07-28 on, and does not before.
func TestDisconnect(t *testing.T) {
	y := newToy()
	url, _ := start(t, y, streamable.Options{KeepAlive: 10 * time.Millisecond})
	s := session(t, url)

	_, stream, hangUp := modern("tools/call", `{"name":"wait"}`).open(t, url)
	eventually(t, "modern call runs", func() bool { return y.get("wait") == 1 })
	if line, _ := stream.ReadString('\n'); line != ": keep-alive\n" {
		t.Errorf("stream begins with %q", line)
	}
	hangUp()
	eventually(t, "modern call is cancelled", func() bool { return y.get("wait") == 0 })
	eventually(t, "its connection ends", func() bool { return y.get("conn") == 1 })

	_, _, hangUp = call{session: s, body: wait("wait", 3)}.open(t, url)
	eventually(t, "call runs", func() bool { return y.get("wait") == 1 })
	hangUp()
	time.Sleep(50 * time.Millisecond)
	if y.get("wait") != 1 {
		t.Error("call of a session was cancelled by hanging up")
	}
	cancel := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`
	if resp, _ := (call{session: s, body: cancel}).do(t, url); resp.StatusCode != 202 {
		t.Errorf("cancelling: %s", resp.Status)
	}
	eventually(t, "call is cancelled", func() bool { return y.get("wait") == 0 })
	if resp, _ := (call{session: s, body: wait("echo", 3)}).do(t, url); resp.StatusCode != 200 {
		t.Errorf("using the id again: %s", resp.Status)
	}
}

// A session whose initialize nobody waits for ends; so does one whose initialize fails.
func TestSessionsThatNobodyKnows(t *testing.T) {
	y := newToy()
	blocked := make(chan struct{})
	url, _ := start(t, y, streamable.Options{Serve: func(ctx context.Context, _ streamable.Info, conn rpc.Conn) error {
		close(blocked)
		y.count("conn", 1)
		defer y.count("conn", -1)
		<-ctx.Done()
		return nil
	}})
	ctx, cancel := context.WithCancel(t.Context())
	go http.DefaultClient.Do(call{body: initialize}.request(t, url).WithContext(ctx))
	<-blocked
	cancel()
	eventually(t, "abandoned session ends", func() bool { return y.get("conn") == 0 })

	z := newToy()
	url, _ = start(t, z, streamable.Options{})
	resp, body := call{body: strings.Replace(initialize, "2025-11-25", "bad", 1)}.do(t, url)
	if resp.Header.Get("Mcp-Session-Id") != "" || code(body) != "-32602" {
		t.Errorf("failed initialize: %v %s", resp.Header, body)
	}
	eventually(t, "failed session ends", func() bool { return z.get("conn") == 0 })
}

func TestStandingStream(t *testing.T) {
	y := newToy()
	url, _ := start(t, y, streamable.Options{})
	s := session(t, url)
	change := call{session: s, body: wait("change", 1)}
	changed := `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
	get := call{method: "GET", session: s}

	change.do(t, url) // waits in the queue
	resp, first, _ := get.open(t, url)
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("GET: %s %v", resp.Status, resp.Header)
	}
	if got := event(t, first); got != changed {
		t.Errorf("got %s", got)
	}
	_, second, hangUp := get.open(t, url)
	change.do(t, url)
	if got := event(t, second); got != changed {
		t.Errorf("got %s", got)
	}
	if rest, err := io.ReadAll(first); err != nil || strings.Contains(string(rest), "data:") {
		t.Errorf("the first stream goes on with %q, %v", rest, err)
	}
	hangUp()
	_, third, _ := get.open(t, url)
	change.do(t, url)
	if got := event(t, third); got != changed {
		t.Errorf("got %s", got)
	}
	if resp, _ := (call{method: "DELETE", session: s}).do(t, url); resp.StatusCode != 204 {
		t.Errorf("DELETE: %s", resp.Status)
	}
	if _, err := io.ReadAll(third); err != nil {
		t.Errorf("stream of a deleted session: %v", err)
	}
	eventually(t, "session ends", func() bool { return y.get("conn") == 0 })
	if resp, _ := get.do(t, url); resp.StatusCode != 404 {
		t.Errorf("GET after DELETE: %s", resp.Status)
	}
}

// What belongs to a request whose client is gone goes to the standing stream.
func TestRelatedFallsBack(t *testing.T) {
	began, received, written := make(chan bool), make(chan bool), make(chan error, 1)
	url, _ := start(t, nil, streamable.Options{Serve: func(ctx context.Context, _ streamable.Info, conn rpc.Conn) error {
		for {
			m, err := conn.Read(ctx)
			if err != nil {
				return nil
			}
			if m.Method == "x" {
				close(began)
				for done := false; !done; { // until the handler knows that the client is gone
					conn.Write(rpc.WithRelated(ctx, m.ID), rpc.NewRequest([]byte(`"q"`), "roots/list", nil))
					select {
					case <-received:
						done = true
					case <-time.After(10 * time.Millisecond):
					}
				}
				written <- conn.Write(ctx, rpc.Reply(m.ID, nil))
				continue
			}
			conn.Write(ctx, rpc.Reply(m.ID, nil))
		}
	}})
	s := session(t, url)
	ctx, cancel := context.WithCancel(t.Context())
	go http.DefaultClient.Do(call{session: s, body: `{"jsonrpc":"2.0","id":1,"method":"x"}`}.request(t, url).WithContext(ctx))
	<-began
	cancel()
	_, stream, _ := call{method: "GET", session: s}.open(t, url)
	if got := event(t, stream); got != `{"jsonrpc":"2.0","id":"q","method":"roots/list"}` {
		t.Errorf("got %s", got)
	}
	close(received)
	if err := <-written; err != nil {
		t.Errorf("writing a response that nobody waits for: %v", err)
	}
}

func TestDuplicateID(t *testing.T) {
	y := newToy()
	url, _ := start(t, y, streamable.Options{KeepAlive: time.Millisecond})
	s := session(t, url)
	call{session: s, body: wait("wait", 1)}.open(t, url)
	eventually(t, "call runs", func() bool { return y.get("wait") == 1 })
	if resp, body := (call{session: s, body: wait("echo", 1)}).do(t, url); resp.StatusCode != 400 || code(body) != "-32600" {
		t.Errorf("same id: %s %s", resp.Status, body)
	}
	text := strings.Replace(wait("echo", 1), `"id":1`, `"id":"1"`, 1)
	if resp, body := (call{session: s, body: text}).do(t, url); resp.StatusCode != 200 || id(body) != `"1"` {
		t.Errorf("same id as text: %s %s", resp.Status, body)
	}
}

// At the limit the session that was quiet for the longest time sleeps; one with a request under way does not.
func TestSessionLimit(t *testing.T) {
	y := newToy()
	limits := budget.New(budget.Limits{Sessions: 2})
	url, h := start(t, y, streamable.Options{Budget: limits})
	first := session(t, url)
	second := session(t, url)
	go http.DefaultClient.Do(call{session: second, body: wait("hang", 7)}.request(t, url))
	eventually(t, "call runs", func() bool { return y.get("wait") == 1 })
	third := session(t, url)
	eventually(t, "first session sleeps", func() bool { return y.get("conn") == 2 })
	go http.DefaultClient.Do(call{session: third, body: wait("hang", 8)}.request(t, url))
	eventually(t, "call runs", func() bool { return y.get("wait") == 2 })
	for _, refused := range []call{{body: initialize}, {session: first, body: ping}} {
		if resp, _ := refused.do(t, url); resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" {
			t.Errorf("beyond the limit: %s", resp.Status)
		}
	}
	if resp, _ := modern("server/discover", "{}").do(t, url); resp.StatusCode != 200 {
		t.Errorf("request without session: %s", resp.Status)
	}
	call{method: "DELETE", session: second}.do(t, url)
	if resp, body := (call{session: first, body: ping}).do(t, url); resp.StatusCode != 200 {
		t.Errorf("first session after its sleep: %s %s", resp.Status, body)
	}
	h.Close()
	if u := limits.Sessions.Usage(); u.Used != 0 || u.Evicted != 1 || u.Refused != 2 || u.Peak != 2 {
		t.Errorf("%+v", u)
	}
}

// bubble runs f with a session of a toy, on fake time and without a network.
func bubble(t *testing.T, opts streamable.Options, f func(t *testing.T, y *toy, h *streamable.Handler, s string)) {
	synctest.Test(t, func(t *testing.T) {
		y := newToy()
		opts.Serve = y.serve
		h := streamable.New(opts)
		defer h.Close()
		w := serveDirect(h, call{host: "localhost", body: initialize}.request(t, "http://x"), nil)
		f(t, y, h, w.Header().Get("Mcp-Session-Id"))
	})
}

func TestIdleExpiry(t *testing.T) {
	const idle = 10 * time.Minute
	direct := func(t *testing.T, h http.Handler, s, body string) int {
		return serveDirect(h, call{host: "localhost", session: s, body: body}.request(t, "http://x"), nil).Code
	}
	bubble(t, streamable.Options{IdleTimeout: idle}, func(t *testing.T, y *toy, h *streamable.Handler, s string) {
		for range 5 { // requests keep it alive
			time.Sleep(idle - time.Second)
			if got := direct(t, h, s, ping); got != 200 {
				t.Fatalf("status %d", got)
			}
		}
		time.Sleep(idle + time.Second)
		synctest.Wait()
		if y.get("conn") != 0 {
			t.Errorf("%d connections of a session that sleeps", y.get("conn"))
		}
		if got := direct(t, h, s, ping); got != 200 || y.get("conn") != 1 {
			t.Errorf("status %d, %d connections after its sleep", got, y.get("conn"))
		}
		if last := y.infos[len(y.infos)-1]; last.SessionID != s {
			t.Errorf("woken as %q, was %q", last.SessionID, s)
		}
		time.Sleep(idle + 24*time.Hour + time.Second)
		if got := direct(t, h, s, ping); got != 404 {
			t.Errorf("status %d after a day of sleep", got)
		}
	})
	bubble(t, streamable.Options{IdleTimeout: idle}, func(t *testing.T, y *toy, h *streamable.Handler, s string) {
		ctx, hangUp := context.WithCancel(t.Context())
		var streams sync.WaitGroup
		r := call{method: "GET", host: "localhost", session: s}.request(t, "http://x").WithContext(ctx)
		streams.Go(func() { serveDirect(h, r, nil) })
		time.Sleep(10 * idle) // an open stream keeps it alive
		if got := direct(t, h, s, ping); got != 200 {
			t.Fatalf("status %d", got)
		}
		hangUp()
		streams.Wait()
		time.Sleep(idle + time.Second)
		synctest.Wait()
		if y.get("conn") != 0 {
			t.Errorf("%d connections of a session that sleeps", y.get("conn"))
		}
	})
}

// A response that takes long begins as a stream, with comments while nothing comes.
func TestKeepAlive(t *testing.T) {
	bubble(t, streamable.Options{KeepAlive: time.Minute}, func(t *testing.T, y *toy, h *streamable.Handler, s string) {
		var calls sync.WaitGroup
		var w *httptest.ResponseRecorder
		calls.Go(func() {
			w = serveDirect(h, call{host: "localhost", session: s, body: wait("wait", 5)}.request(t, "http://x"), nil)
		})
		time.Sleep(150 * time.Second)
		cancel := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}`
		serveDirect(h, call{host: "localhost", session: s, body: cancel}.request(t, "http://x"), nil)
		calls.Wait()
		body := w.Body.String()
		if !strings.HasPrefix(body, ": keep-alive\n\n: keep-alive\n\ndata: {") || w.Header().Get("Content-Type") != "text/event-stream" {
			t.Errorf("got %v %q", w.Header(), body)
		}
	})
}

// Close ends sessions, streams and requests of both eras, and refuses what comes later.
func TestClose(t *testing.T) {
	y := newToy()
	url, h := start(t, y, streamable.Options{KeepAlive: 10 * time.Millisecond})
	s := session(t, url)
	_, standing, _ := call{method: "GET", session: s}.open(t, url)
	_, older, _ := call{session: s, body: wait("hang", 1)}.open(t, url)
	_, newer, _ := modern("tools/call", `{"name":"hang"}`).open(t, url)
	eventually(t, "calls run", func() bool { return y.get("wait") == 2 })
	h.Close()
	if y.get("conn") != 0 || y.get("wait") != 0 {
		t.Errorf("%d connections, %d calls after Close", y.get("conn"), y.get("wait"))
	}
	if rest, err := io.ReadAll(standing); err != nil || strings.Contains(string(rest), "data") {
		t.Errorf("standing stream ended with %q, %v", rest, err)
	}
	if got := event(t, older); code(got) != "-32603" || id(got) != "1" {
		t.Errorf("request in a session got %s", got)
	}
	if got := event(t, newer); code(got) != "-32603" || id(got) != "1" {
		t.Errorf("request without session got %s", got)
	}
	for _, c := range []call{{body: initialize}, modern("ping", "{}"), {method: "GET", session: s}} {
		if resp, _ := c.do(t, url); resp.StatusCode != 503 {
			t.Errorf("after Close: %s", resp.Status)
		}
	}
	h.Close()
}

// Drain waits for the requests of both eras that are in flight, takes what may help to answer them, and refuses others.
func TestDrain(t *testing.T) {
	y := newToy()
	url, h := start(t, y, streamable.Options{KeepAlive: 10 * time.Millisecond})
	s := session(t, url)
	call{session: s, body: wait("hang", 1)}.open(t, url)
	hungUp, hangUp := context.WithCancel(t.Context())
	newer := modern("tools/call", `{"name":"hang"}`).request(t, url).WithContext(hungUp)
	go http.DefaultClient.Do(newer)
	eventually(t, "calls run", func() bool { return y.get("wait") == 2 })
	drained := make(chan struct{})
	go func() {
		h.Drain(t.Context())
		close(drained)
	}()
	eventually(t, "requests are refused", func() bool {
		resp, _ := call{session: s, body: ping}.do(t, url)
		return resp.StatusCode == 503
	})
	if resp, _ := modern("ping", "{}").do(t, url); resp.StatusCode != 503 {
		t.Errorf("a request without session got %s", resp.Status)
	}
	hangUp()
	eventually(t, "one call is left", func() bool { return y.get("wait") == 1 })
	select {
	case <-drained:
		t.Error("drained, and a call still runs")
	default:
	}
	const cancel = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`
	if resp, _ := (call{session: s, body: cancel}).do(t, url); resp.StatusCode != 202 {
		t.Errorf("a cancellation got %s", resp.Status)
	}
	call{method: "DELETE", session: s}.do(t, url) // whose calls are answered with an error
	<-drained
}

// When Serve returns, requests in progress get an error and the session is gone.
func TestServeReturns(t *testing.T) {
	y := newToy()
	url, _ := start(t, y, streamable.Options{KeepAlive: 200 * time.Millisecond})
	for _, how := range []string{"quit", "panic"} {
		s := session(t, url)
		_, waiting, _ := call{session: s, body: wait("hang", 1)}.open(t, url)
		eventually(t, "call runs", func() bool { return y.get("wait") == 1 })
		if resp, body := (call{session: s, body: wait(how, 2)}).do(t, url); resp.StatusCode != 404 || code(body) != "-32603" {
			t.Errorf("%s: %s %s", how, resp.Status, body)
		}
		if got := event(t, waiting); code(got) != "-32603" || id(got) != "1" {
			t.Errorf("%s: the other request got %s", how, got)
		}
		if resp, _ := (call{session: s, body: ping}).do(t, url); resp.StatusCode != 404 {
			t.Errorf("%s: session still there: %s", how, resp.Status)
		}
		eventually(t, "session ends", func() bool { return y.get("conn") == 0 && y.get("wait") == 0 })
	}
}
