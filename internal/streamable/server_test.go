package streamable_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weir-mcp/weir/internal/budget"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/internal/streamable"
)

// A toy is a small MCP server on raw connections. Its tools:
//
//	echo      returns its arguments as text
//	ask       asks the user by elicitation/create and returns the answer
//	progress  reports progress three times, then returns
//	change    says on the standing stream that the list of tools has changed
//	wait      waits until it is cancelled, by notification or context
//	hang      does the same, and then does not answer
//	quit      makes the server return without an answer
//	panic     panics
type toy struct {
	mu      sync.Mutex
	running map[string]int // calls of wait and hang, connections, and notifications that came
	changed chan struct{}  // closed to tell listeners once
	infos   []streamable.Info
}

func newToy() *toy { return &toy{running: map[string]int{}, changed: make(chan struct{})} }

// connections returns how many connections a principal has had.
func (y *toy) connections(principal string) (n int) {
	y.mu.Lock()
	defer y.mu.Unlock()
	for _, info := range y.infos {
		if info.Principal == principal {
			n++
		}
	}
	return n
}

func (y *toy) count(name string, n int) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.running[name] += n
}

func (y *toy) get(name string) int {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.running[name]
}

// a talk is one connection to a toy.
type talk struct {
	*toy
	info streamable.Info
	conn rpc.Conn

	mu      sync.Mutex
	asked   map[string]chan *rpc.Message
	cancels map[string]context.CancelFunc
}

var errQuit = errors.New("told to quit")

func (y *toy) serve(ctx context.Context, info streamable.Info, conn rpc.Conn) error {
	y.mu.Lock()
	y.infos = append(y.infos, info)
	y.mu.Unlock()
	y.count("conn", 1)
	defer y.count("conn", -1)
	t := &talk{
		toy: y, info: info, conn: conn,
		asked: map[string]chan *rpc.Message{}, cancels: map[string]context.CancelFunc{},
	}
	ctx, cancel := context.WithCancel(ctx)
	var calls sync.WaitGroup
	defer calls.Wait()
	defer cancel()
	for {
		m, err := conn.Read(ctx)
		if err == io.EOF || ctx.Err() != nil {
			return nil
		} else if err != nil {
			return err
		}
		switch {
		case m.IsResponse():
			t.mu.Lock()
			c := t.asked[string(m.ID)]
			t.mu.Unlock()
			if c != nil {
				c <- m
			}
		case m.Method == "notifications/cancelled":
			id, _ := rawjson.Get(m.Params, "requestId")
			t.mu.Lock()
			stop := t.cancels[string(id)]
			t.mu.Unlock()
			if stop != nil {
				stop()
			}
		case m.IsNotification():
			y.count(m.Method, 1)
		default:
			tool, _ := rawjson.Get(m.Params, "name")
			switch string(tool) {
			case `"quit"`:
				return errQuit
			case `"panic"`:
				panic("told to")
			}
			callCtx, stop := context.WithCancel(ctx)
			t.mu.Lock()
			t.cancels[string(m.ID)] = stop
			t.mu.Unlock()
			calls.Go(func() {
				defer stop()
				if reply := t.handle(callCtx, m); reply != nil {
					conn.Write(callCtx, reply)
				}
			})
		}
	}
}

const capabilities = `{"tools":{"listChanged":true}}`

func (t *talk) handle(ctx context.Context, m *rpc.Message) *rpc.Message {
	result := func(format string, args ...any) *rpc.Message {
		return rpc.Reply(m.ID, fmt.Appendf(nil, format, args...))
	}
	switch m.Method {
	case "initialize":
		version, ok := rawjson.Get(m.Params, "protocolVersion")
		if !ok {
			version = []byte(`"2025-11-25"`)
		}
		if string(version) == `"bad"` {
			return rpc.ReplyError(m.ID, rpc.Errorf(rpc.InvalidParams, "bad version"))
		}
		return result(`{"protocolVersion":%s,"capabilities":%s,"serverInfo":{"name":"toy","version":"1"}}`,
			version, capabilities)
	case "server/discover":
		return result(`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":%s,
			"ttlMs":0,"cacheScope":"private"}`, capabilities)
	case "ping":
		return result(`{}`)
	case "tools/list":
		return result(`{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[
			{"name":"echo","inputSchema":{"type":"object"}},
			{"name":"ask","inputSchema":{"type":"object"},"annotations":{"unheardOf":[1,{"a":null}]}}]}`)
	case "tools/call":
		return t.call(ctx, m)
	case "subscriptions/listen":
		meta := fmt.Sprintf(`{"_meta":{"io.modelcontextprotocol/subscriptionId":%s}`, m.ID)
		t.conn.Write(ctx, rpc.NewNotification("notifications/subscriptions/acknowledged",
			[]byte(meta+`,"notifications":{"toolsListChanged":true}}`)))
		select {
		case <-t.changed:
			t.conn.Write(ctx, rpc.NewNotification("notifications/tools/list_changed", []byte(meta+"}")))
			<-ctx.Done()
		case <-ctx.Done():
		}
		return nil
	}
	return rpc.ReplyError(m.ID, rpc.Errorf(rpc.MethodNotFound, "method not found"))
}

func (t *talk) call(ctx context.Context, m *rpc.Message) *rpc.Message {
	name, _ := rawjson.Get(m.Params, "name")
	args, _ := rawjson.Get(m.Params, "arguments")
	text := func(s []byte) *rpc.Message {
		return rpc.Reply(m.ID, fmt.Appendf(nil, `{"resultType":"complete","content":[{"type":"text","text":%s}]}`,
			rawjson.Quote(string(s))))
	}
	related := rpc.WithRelated(ctx, m.ID)
	switch string(name) {
	case `"echo"`:
		return text(args)
	case `"ask"`:
		reply, err := t.ask(related, m.ID)
		if err != nil {
			return rpc.ReplyError(m.ID, rpc.Errorf(rpc.InternalError, "%v", err))
		}
		return text(reply.Result)
	case `"progress"`:
		token, _ := rawjson.Get(m.Params, "_meta", "progressToken")
		for i := range 3 {
			t.conn.Write(related, rpc.NewNotification("notifications/progress",
				fmt.Appendf(nil, "{\"progressToken\":%s,\r\n\"progress\":%d}", token, i+1)))
		}
		return text([]byte("done"))
	case `"change"`:
		t.conn.Write(ctx, rpc.NewNotification("notifications/tools/list_changed", nil))
		return text([]byte("changed"))
	case `"wait"`, `"hang"`:
		t.count("wait", 1)
		defer t.count("wait", -1)
		<-ctx.Done()
		if string(name) == `"hang"` {
			return nil
		}
		return text([]byte("cancelled"))
	}
	return rpc.ReplyError(m.ID, rpc.Errorf(rpc.InvalidParams, "no such tool"))
}

func (t *talk) ask(ctx context.Context, call json.RawMessage) (*rpc.Message, error) {
	id := json.RawMessage(rawjson.Quote("ask " + string(call)))
	c := make(chan *rpc.Message, 1)
	t.mu.Lock()
	t.asked[string(id)] = c
	t.mu.Unlock()
	params := `{"message":"sure?","requestedSchema":{"type":"object","properties":{"ok":{"type":"boolean"}}}}`
	if err := t.conn.Write(ctx, rpc.NewRequest(id, "elicitation/create", []byte(params))); err != nil {
		return nil, err
	}
	select {
	case m := <-c:
		return m, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// start serves y over HTTP until the test ends, and then checks that nothing is left.
func start(t testing.TB, y *toy, opts streamable.Options) (url string, h *streamable.Handler) {
	t.Helper()
	if opts.Serve == nil {
		opts.Serve = y.serve
	}
	if opts.Budget == nil {
		opts.Budget = budget.New(budget.Limits{})
	}
	h = streamable.New(opts)
	srv := httptest.NewUnstartedServer(h)
	srv.Config = streamable.NewServer(h)
	srv.Listener = h.Listener(srv.Listener)
	srv.Start()
	t.Cleanup(func() {
		h.Close()
		srv.CloseClientConnections()
		srv.Close()
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		noneLeft(t)
		for _, u := range opts.Budget.Usage() {
			if u.Used != 0 {
				t.Errorf("%d %s are still taken", u.Used, u.Of)
			}
		}
	})
	return srv.URL, h
}

// noneLeft fails the test if a goroutine of the package outlives its handler.
func noneLeft(t testing.TB) {
	t.Helper()
	var stacks []byte
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		stacks = make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		left := 0
		for g := range bytes.SplitSeq(stacks, []byte("\n\n")) {
			if bytes.Contains(g, []byte("internal/streamable.(")) && !bytes.Contains(g, []byte("clients).Accept(")) { // of a server that goes on
				left++
			}
		}
		if left == 0 {
			return
		}
	}
	t.Errorf("goroutines left:\n%s", stacks)
}

// patience is how long something may take on a slow machine that has to come soon.
const patience = time.Minute

// eventually fails the test if condition does not become true.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if condition() {
			return
		}
	}
	t.Fatalf("not in time: %s", what)
}

// A call is one HTTP request of a test.
type call struct {
	method  string // default POST
	host    string
	session string
	header  string // lines "Name: value"; a value of "-" removes the default
	body    string
}

func (c call) request(t testing.TB, url string) *http.Request {
	t.Helper()
	method := c.method
	if method == "" {
		method = http.MethodPost
	}
	r, err := http.NewRequest(method, url, strings.NewReader(c.body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if c.session != "" {
		r.Header.Set("Mcp-Session-Id", c.session)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(c.header) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		if value == "-" {
			r.Header.Del(name)
		} else if seen[name] {
			r.Header.Add(name, value)
		} else {
			r.Header.Set(name, value)
		}
		seen[name] = true
	}
	r.Host = c.host
	return r
}

// do sends the request and returns the whole answer.
func (c call) do(t testing.TB, url string) (*http.Response, string) {
	t.Helper()
	resp, err := http.DefaultClient.Do(c.request(t, url))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

// open sends the request and returns the answer with its body unread, and a function that hangs up.
func (c call) open(t testing.TB, url string) (*http.Response, *bufio.Reader, func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	resp, err := http.DefaultClient.Do(c.request(t, url).WithContext(ctx))
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(cancel)
	return resp, bufio.NewReader(resp.Body), func() { cancel(); resp.Body.Close() }
}

// event reads the next event of a stream.
func event(t testing.TB, r *bufio.Reader) string {
	t.Helper()
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatalf("reading an event: %v", err)
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			if blank, err := r.ReadString('\n'); blank != "\n" {
				t.Fatalf("event ends in %q, %v", blank, err)
			}
			return strings.TrimSuffix(data, "\n")
		}
	}
}

const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`

// session opens a session.
func session(t testing.TB, url string) string {
	t.Helper()
	resp, body := call{body: initialize}.do(t, url)
	id := resp.Header.Get("Mcp-Session-Id")
	if resp.StatusCode != http.StatusOK || id == "" {
		t.Fatalf("initialize: %s, session %q: %s", resp.Status, id, body)
	}
	return id
}

// modern returns a request of 2026-07-28 whose headers are right.
func modern(method, params string) call {
	name, _ := rawjson.Get([]byte(params), "name")
	s, _ := rawjson.String(name)
	header := "Mcp-Protocol-Version: 2026-07-28\nMcp-Method: " + method
	if s != "" {
		header += "\nMcp-Name: " + s
	}
	p, err := rawjson.Set([]byte(params), []byte(`"2026-07-28"`), "_meta", "io.modelcontextprotocol/protocolVersion")
	if err != nil {
		panic(err)
	}
	return call{header: header, body: fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, p)}
}
