package streamable_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weir-mcp/weir/internal/budget"
	"github.com/weir-mcp/weir/internal/streamable"
)

var (
	halfSent = flag.Int("halfsent", 200, "bodies that TestHalfSentBodies leaves unfinished")
	alone    = flag.Bool("alone", false, "serve until standard input ends, for tests that measure a process")
)

// TestAlone is the process that other tests measure.
func TestAlone(t *testing.T) {
	if !*alone {
		t.Skip("is run by other tests")
	}
	h := streamable.New(streamable.Options{Serve: newToy().serve})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := streamable.NewServer(h)
	go srv.Serve(h.Listener(l))
	fmt.Println(l.Addr())
	io.Copy(io.Discard, os.Stdin)
	srv.Close()
	h.Close()
}

// process starts TestAlone, and returns where it serves and a function that returns its resident memory in bytes.
func process(t *testing.T) (address string, memory func() int64) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestAlone$", "-alone")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		io.Copy(io.Discard, out)
		cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line), func() int64 {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
		if err != nil {
			t.Skip("there is no /proc to measure by")
		}
		_, rest, _ := strings.Cut(string(data), "VmRSS:")
		n, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
		return n << 10
	}
}

// halfRequest is the beginning of one with a body of 60 MB.
const halfRequest = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" +
	"Accept: application/json, text/event-stream\r\nContent-Length: 60000000\r\n\r\n{"

// A body that was announced and does not come costs what has come of it, and keeps nobody from being served. It is about 32 KiB for a connection,
// of which the stack of its goroutine is most.
func TestHalfSentBodies(t *testing.T) {
	address, memory := process(t)
	url := "http://" + address
	usual := func() (all []time.Duration) {
		for range 50 {
			began := time.Now()
			id := session(t, url)
			all = append(all, time.Since(began))
			call{method: "DELETE", session: id}.do(t, url)
		}
		slices.Sort(all)
		return all
	}
	alone := usual()
	before := memory()
	for i := range *halfSent {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
		defer c.Close()
		if _, err := io.WriteString(c, halfRequest); err != nil {
			t.Fatal(err)
		}
	}
	meanwhile := usual()
	cost := memory() - before
	t.Logf("%d bodies cost %.1f MiB, %d bytes each; initialize took %v at the median and %v at most, %v and %v before", *halfSent,
		float64(cost)/(1<<20), cost/int64(*halfSent), meanwhile[25], meanwhile[49], alone[25], alone[49])
	if most := int64(*halfSent)*33_000 + 8<<20; cost > most && !raceEnabled {
		t.Errorf("%d half-sent bodies cost %d bytes, more than %d", *halfSent, cost, most)
	}
}

// Where bodies that do not end have all the bytes, the one that began first gives way.
func TestBytesGiveWay(t *testing.T) {
	limits := budget.New(budget.Limits{Bytes: 1 << 20})
	url, _ := start(t, newToy(), streamable.Options{Budget: limits})
	var slow []net.Conn
	for i := range 4 {
		c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		slow = append(slow, c)
		if _, err := io.WriteString(c, halfRequest+strings.Repeat(" ", 200<<10)); err != nil {
			t.Fatal(err)
		}
		if i < 3 {
			eventually(t, "bytes arrive", func() bool { return limits.Bytes.Usage().Used > int64(i)*(256<<10) })
		}
	}
	large := strings.Replace(wait("echo", 3), `"echo"`, `"echo","arguments":{"x":"`+strings.Repeat("x", 400<<10)+`"}`, 1)
	id := session(t, url)
	if resp, body := (call{session: id, body: large}).do(t, url); resp.StatusCode != 200 || len(body) < 400<<10 {
		t.Fatalf("%s %.200s", resp.Status, body)
	}
	resp, err := http.ReadResponse(bufio.NewReader(slow[0]), nil)
	if err != nil || resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" {
		t.Errorf("the first that began: %v, %v", resp, err)
	}
	u := limits.Bytes.Usage()
	if u.Evicted == 0 || u.Peak > u.Limit+900<<10 { // an answer is taken beyond the limit
		t.Errorf("%+v", u)
	}
	if resp, _ := (call{session: id, body: strings.Replace(large, "xxx", strings.Repeat("x", 2<<20), 1)}).do(t, url); resp.StatusCode != 503 {
		t.Errorf("a body that is larger than all there is: %s", resp.Status)
	}
}

// Where idle connections, unfinished headers and bodies have all the connections, the one that has waited the longest gives way; those that
// wait for an answer do not.
func TestConnectionsGiveWay(t *testing.T) {
	y := newToy()
	limits := budget.New(budget.Limits{Connections: 4})
	url, _ := start(t, y, streamable.Options{Budget: limits})
	dial := func(text string) net.Conn {
		c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		io.WriteString(c, text)
		return c
	}
	post := modern("tools/call", `{"name":"wait"}`)
	busy := fmt.Sprintf(head, strings.ReplaceAll(post.header, "\n", "\r\n")+"\r\n", len(post.body)) + post.body
	dial(busy)
	eventually(t, "call runs", func() bool { return y.get("wait") == 1 })
	for range 20 {
		dial("")
		dial("POST / HTT")
		dial(halfRequest)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(call{body: initialize}.request(t, url))
	if err != nil || resp.StatusCode != 200 || y.get("wait") != 1 {
		t.Fatalf("%v, %v; %d calls run", resp, err, y.get("wait"))
	}
	resp.Body.Close()
	for n := 2; n <= 4; n++ {
		dial(busy)
		eventually(t, "call runs", func() bool { return y.get("wait") == n })
	}
	resp, err = http.ReadResponse(bufio.NewReader(dial("")), nil)
	if err != nil || resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" {
		t.Errorf("beyond four calls: %v, %v", resp, err)
	}
	if u := limits.Connections.Usage(); u.Peak != 4 || u.Evicted < 50 || u.Refused != 1 {
		t.Errorf("%+v", u)
	}
}

// What follows a chunked body on its connection is never another request: a Content-Length beside it may have meant it to be a body.
func TestNothingFollowsAChunkedBody(t *testing.T) {
	y := newToy()
	srv := httptest.NewServer(streamable.New(streamable.Options{Serve: y.serve}))
	defer srv.Close()
	smuggled := "DELETE / HTTP/1.1\r\nHost: localhost\r\n\r\n"
	for _, length := range []string{"", "Content-Length: 3\r\n", fmt.Sprintf("Content-Length: %d\r\n", len(ping)+len(smuggled))} {
		c, err := net.Dial("tcp", strings.TrimPrefix(srv.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: */*\r\n%sTransfer-Encoding: chunked\r\n\r\n"+
			"%x\r\n%s\r\n0\r\n\r\n%s", length, len(ping), ping, smuggled)
		all, err := io.ReadAll(c)
		if err != nil || strings.Count(string(all), "HTTP/1.1 ") != 1 || !strings.Contains(string(all), "Connection: close") {
			t.Errorf("%q: %v %s", length, err, all)
		}
		c.Close()
	}
}

// A principal with many sessions takes none from one with few, whatever it does but to have requests under way in all.
func TestPrincipalsShareSessions(t *testing.T) {
	limits := budget.New(budget.Limits{Sessions: 6})
	y := newToy()
	h := streamable.New(streamable.Options{Serve: y.serve, Budget: limits})
	defer h.Close()
	do := func(principal string, c call) *httptest.ResponseRecorder {
		c.host = "localhost"
		r := c.request(t, "http://x")
		return serveDirect(h, r.WithContext(streamable.WithPrincipal(r.Context(), principal, false)), nil)
	}
	open := func(principal string) (id string) {
		eventually(t, principal+" can open a session", func() bool { // no session gives way while its stream is being opened
			w := do(principal, call{body: initialize})
			id = w.Header().Get("Mcp-Session-Id")
			return w.Code == 200
		})
		return id
	}
	few := open("few")
	for range 20 {
		id := open("many")
		ctx, hangUp := context.WithCancel(t.Context())
		defer hangUp()
		r := call{method: "GET", host: "localhost", session: id}.request(t, "http://x")
		go serveDirect(h, r.WithContext(streamable.WithPrincipal(ctx, "many", false)), nil)
	}
	if w := do("few", call{session: few, body: ping}); w.Code != 200 || y.connections("few") != 1 {
		t.Errorf("the session of the other principal: %d, %d connections", w.Code, y.connections("few"))
	}
	if w := do("many", call{session: few, body: ping}); w.Code != 404 {
		t.Errorf("another principal's session: %d", w.Code)
	}
	for range 2 { // there are fewer of its own than of the others
		open("few")
	}
	eventually(t, "all streams are open, and one gives way", func() bool {
		h.Yield()
		return limits.Sessions.Usage().Used == 5
	})
	if w := do("many", call{session: few, body: ping}); w.Code != 404 {
		t.Errorf("another principal's session: %d", w.Code)
	}
	if w := do("few", call{session: few, body: ping}); w.Code != 200 {
		t.Errorf("after all that: %d", w.Code)
	}
}

// Whatever sleeps is bounded, is its principal's only, and is forgotten after a DELETE.
func TestSleepersAreTheirPrincipals(t *testing.T) {
	y := newToy()
	limits := budget.New(budget.Limits{Sessions: 1})
	h := streamable.New(streamable.Options{Serve: y.serve, Budget: limits})
	defer h.Close()
	do := func(principal string, c call) *httptest.ResponseRecorder {
		c.host = "localhost"
		r := c.request(t, "http://x")
		return serveDirect(h, r.WithContext(streamable.WithPrincipal(r.Context(), principal, false)), nil)
	}
	first := do("a", call{body: initialize}).Header().Get("Mcp-Session-Id")
	second := do("a", call{body: initialize}).Header().Get("Mcp-Session-Id")
	for _, c := range []struct {
		by   string
		call call
		want int
	}{
		{"b", call{session: first, body: ping}, 404},
		{"b", call{method: "DELETE", session: first}, 404},
		{"b", call{method: "GET", session: first}, 404},
		{"a", call{session: first, body: ping}, 200}, // and the second sleeps
		{"a", call{method: "DELETE", session: second}, 204},
		{"a", call{session: second, body: ping}, 404},
		{"a", call{session: first, body: ping}, 200},
		{"a", call{method: "DELETE", session: first}, 204},
		{"a", call{session: first, body: ping}, 404},
	} {
		if got := do(c.by, c.call).Code; got != c.want {
			t.Errorf("%s %+v: %d, want %d", c.by, c.call, got, c.want)
		}
	}
	long := strings.Replace(initialize, `"protocolVersion"`, `"clientInfo":{"title":"`+strings.Repeat("x", 9<<10)+`"},"protocolVersion"`, 1)
	third := do("a", call{body: long}).Header().Get("Mcp-Session-Id")
	do("a", call{body: initialize})
	if got := do("a", call{session: third, body: ping}).Code; third == "" || got != 404 {
		t.Errorf("a session whose initialize is too long to be kept: %q %d", third, got)
	}
}
