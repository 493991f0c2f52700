//go:build unix

package gateway_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/gateway"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/internal/upstream"
	"github.com/weir-mcp/weir/record"
)

// faulty is an MCP server with one tool, named after it. The tool's argument "do" says how to behave, and "n" how often.
// If log is not empty, each request for the list adds a letter to that file; and the server does not start if there is a
// file of that name that ends in ".broken", nor shake hands while there is one that ends in ".held".
func faulty(name, log string) {
	if log != "" {
		_ = os.WriteFile(log+".started", nil, 0o600)
	}
	if _, err := os.Stat(log + ".broken"); err == nil {
		os.Exit(1)
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<16)
	out := bufio.NewWriterSize(os.Stdout, 1<<16)
	for {
		out.Flush()
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		m, err := rpc.Parse([]byte(line))
		if err != nil || !m.IsRequest() {
			continue
		}
		answer := func(result string) {
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
		}
		switch m.Method {
		case "initialize":
			for held := true; held; time.Sleep(5 * time.Millisecond) {
				_, err := os.Stat(log + ".held")
				held = err == nil
			}
			answer(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{"subscribe":true}},"serverInfo":{"name":"f","version":"1"}}`)
		case "resources/list":
			answer(`{"resources":[{"uri":"test://` + name + `","name":"r"}]}`)
		case "resources/subscribe":
			answer(`{}`)
		case "tools/list":
			if log != "" {
				f, _ := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
				fmt.Fprint(f, "x")
				f.Close()
			}
			answer(`{"tools":[{"name":"` + name + `","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"idempotentHint":false}}]}`)
		case "tools/call":
			behave(m, out, answer)
		default:
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`+"\n", m.ID)
		}
	}
}

// behave answers a tool call in the way that its arguments ask for.
func behave(m *rpc.Message, out *bufio.Writer, answer func(result string)) {
	do, _ := rawjson.Get(m.Params, "arguments", "do")
	count, _ := rawjson.Get(m.Params, "arguments", "n")
	n, _ := strconv.Atoi(string(count))
	switch word, _ := rawjson.String(do); word {
	case "never answer":
		return
	case "die in a line":
		fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"ty`, m.ID)
		out.Flush()
		os.Exit(1)
	case "stop reading":
		time.Sleep(time.Hour)
	case "flood standard error":
		line := bytes.Repeat([]byte("x"), 1<<10)
		for range n {
			os.Stderr.Write(append(line, '\n'))
		}
	case "flood notifications":
		for i := range n {
			fmt.Fprintf(out, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":%d}}`+"\n", i)
		}
	case "flood nonsense":
		for range n {
			fmt.Fprintln(out, `{"jsonrpc":"2.0","id":999999,"result":{}}`)
		}
	case "flood requests":
		for i := range n {
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":"q%d","method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}`+"\n", i)
		}
	}
	answer(`{"content":[{"type":"text","text":"pid ` + strconv.Itoa(os.Getpid()) + `"}]}`)
}

// faultyRig makes a gateway over faulty servers of these names.
func faultyRig(t *testing.T, change func(*gateway.Options), names ...string) *rig {
	t.Helper()
	settles(t)
	r := newRecord()
	opts := gateway.Options{State: guard.NewState(nil, record.NewLines(r)), Version: "test", Stderr: io.Discard, BaseEnv: []string{"GORACE=atexit_sleep_ms=0"}}
	for _, name := range names {
		opts.Servers = append(opts.Servers, gateway.Server{Name: name, Trust: contract.Trusted, Spec: upstream.Spec{
			Name: name, Command: []string{os.Args[0], "faulty", name},
		}})
	}
	r.open(t, opts, change)
	return r
}

// settles checks when the test is over, and all that it started later has been closed, that there are as many goroutines,
// open files and child processes as now. Tests that use it do not run in parallel.
func settles(t *testing.T) {
	t.Helper()
	goroutines, files := runtime.NumGoroutine(), openFiles()
	t.Cleanup(func() {
		deadline := time.Now().Add(time.Minute)
		for runtime.NumGoroutine() > goroutines || openFiles() > files || len(children()) > 0 {
			if time.Now().After(deadline) {
				stacks := make([]byte, 1<<16)
				t.Errorf("goroutines %d, were %d; files %d, were %d; children %v\n%s", runtime.NumGoroutine(), goroutines,
					openFiles(), files, children(), stacks[:runtime.Stack(stacks, true)])
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
	})
}

// openFiles counts this process's file descriptors, where the system lists them.
func openFiles() int {
	names, _ := filepath.Glob("/proc/self/fd/*")
	return len(names)
}

// children returns the child processes of this process, dead ones included, where the system lists them.
func children() (pids []string) {
	names, _ := filepath.Glob("/proc/self/task/*/children")
	for _, name := range names {
		line, _ := os.ReadFile(name)
		pids = append(pids, strings.Fields(string(line))...)
	}
	return pids
}

// tool writes a call of a faulty server's tool.
func tool(id, name, arguments string) string {
	return `{"jsonrpc":"2.0","id":"` + id + `","method":"tools/call","params":{"name":"` + name + `","arguments":` + arguments + `}}`
}

// until reads until every one of these requests is answered, and returns the answers by id. Anything else is passed over.
func (w *wire) until(ids ...string) map[string]string {
	w.t.Helper()
	got := map[string]string{}
	for len(got) < len(ids) {
		line := w.recv()
		m, err := rpc.Parse([]byte(line))
		if err != nil {
			w.t.Fatalf("%v in %s", err, line)
		}
		if id, _ := rawjson.String(m.ID); m.IsResponse() {
			for _, want := range ids {
				if want == id {
					got[id] = line
				}
			}
		}
	}
	return got
}

// pid returns the process that answered.
func pid(t *testing.T, answer string) int {
	t.Helper()
	_, rest, ok := strings.Cut(answer, `"text":"pid `)
	digits, _, _ := strings.Cut(rest, `"`)
	n, err := strconv.Atoi(digits)
	if !ok || err != nil {
		t.Fatalf("no process in %s", answer)
	}
	return n
}

func TestOnlyItsOwnCallsNoticeThatAServerIsKilled(t *testing.T) {
	r := faultyRig(t, nil, "a", "b")
	w := r.wire(t)
	w.ask(hello)
	w.send(tool("pid a", "a", `{}`))
	w.send(tool("pid b", "b", `{}`))
	before := w.until("pid a", "pid b")
	var lost []string
	for i := range 10 {
		id := fmt.Sprint("lost ", i)
		lost = append(lost, id)
		w.send(tool(id, "a", `{"do":"never answer"}`))
		w.send(tool(fmt.Sprint("kept ", i), "b", `{"do":"never answer"}`))
	}
	for n := 0; r.g.Status().Servers[0].InFlight < int64(len(lost)); n++ { // they are on their way side by side
		if n == 2400 {
			t.Fatal("the calls do not reach their server")
		}
		time.Sleep(25 * time.Millisecond)
	}
	if err := syscall.Kill(pid(t, before["pid a"]), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for id, answer := range w.until(lost...) {
		if !strings.Contains(answer, `"error"`) || !strings.Contains(answer, "killed") {
			t.Errorf("%s: %s; want an error that says what happened", id, answer)
		}
	}
	w.send(tool("again a", "a", `{}`))
	w.send(tool("again b", "b", `{}`))
	after := w.until("again a", "again b")
	if pid(t, after["again a"]) == pid(t, before["pid a"]) || pid(t, after["again b"]) != pid(t, before["pid b"]) {
		t.Errorf("before %v, after %v; want another process for a, the same for b", before, after)
	}
	for i := range 10 {
		w.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"kept %d"}}`, i))
	}
}

func TestServersMisbehave(t *testing.T) {
	for _, test := range []struct {
		arguments, want string
		defects         int
	}{
		{`{"do":"die in a line"}`, `"error"`, 1},
		{`{"do":"flood standard error","n":20000}`, `"result"`, 0},
		{`{"do":"flood notifications","n":20000}`, `"result"`, 0},
		{`{"do":"flood nonsense","n":20000}`, `"result"`, 100},
	} {
		t.Run(test.arguments, func(t *testing.T) {
			r := faultyRig(t, nil, "a", "b")
			w := r.wire(t)
			w.ask(hello)
			w.send(tool("bad", "a", test.arguments))
			w.send(tool("good", "b", `{}`))
			got := w.until("bad", "good")
			if !strings.Contains(got["bad"], test.want) || !strings.Contains(got["good"], `"result"`) {
				t.Errorf("%v; want %s of the first and a result of the second", got, test.want)
			}
			w.send(tool("again", "a", `{}`))
			if again := w.until("again")["again"]; !strings.Contains(again, `"result"`) {
				t.Errorf("afterwards: %s", again)
			}
			if got := len(r.recorded(t, record.Defect)); got != test.defects {
				t.Errorf("%d defects recorded, want %d", got, test.defects)
			}
		})
	}
}

// A server may ask its host without end. Questions beyond the limit are refused, and its answers and other
// servers go on.
func TestServerAsksWithoutEnd(t *testing.T) {
	r := faultyRig(t, nil, "a", "b")
	w := r.wire(t)
	w.ask(strings.Replace(hello, `"capabilities":{}`, `"capabilities":{"sampling":{}}`, 1))
	w.send(tool("asks", "a", `{"do":"flood requests","n":20000}`))
	w.send(tool("good", "b", `{}`))
	asked := 0
	for left := 2; left > 0; {
		switch line := w.recv(); {
		case strings.Contains(line, "sampling/createMessage"):
			asked++
		case strings.Contains(line, `"result"`):
			left--
		case !strings.Contains(line, "notifications/cancelled"):
			t.Fatalf("got %s", line)
		}
	}
	if asked == 0 || asked > 64 {
		t.Errorf("the host was asked %d times without an answer, want at most 64", asked)
	}
}

// A server that does not read holds up who calls it, until the deadline, and nobody else.
func TestServerNeverReads(t *testing.T) {
	r := faultyRig(t, func(o *gateway.Options) { o.Servers[0].Timeout = time.Second }, "a", "b")
	w := r.wire(t)
	w.ask(hello)
	big := `{"do":"stop reading","x":"` + strings.Repeat("x", 100<<10) + `"}`
	var deaf []string
	for i := range 4 {
		deaf = append(deaf, fmt.Sprint("deaf ", i))
		w.send(tool(deaf[i], "a", big))
	}
	for i := range 5 {
		w.send(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed","params":{"x":"` + strings.Repeat("x", 100<<10) + `"}}`)
		id := fmt.Sprint("good ", i)
		w.send(tool(id, "b", `{}`))
		if i == 4 {
			deaf = append(deaf, id)
		}
	}
	for id, answer := range w.until(deaf...) {
		want := "no answer within 1s"
		if strings.HasPrefix(id, "good") {
			want = `"result"`
		}
		if !strings.Contains(answer, want) {
			t.Errorf("%s: %s, want %s", id, answer, want)
		}
	}
}

// Many first calls at once have one list read, and a server that cannot be started again hides no other.
func TestListsAreReadOnce(t *testing.T) {
	log := filepath.Join(t.TempDir(), "listed")
	r := faultyRig(t, func(o *gateway.Options) { o.Servers[0].Spec.Command = append(o.Servers[0].Spec.Command, log) }, "a", "b")
	w := r.wire(t)
	w.ask(hello)
	var ids []string
	for i := range 200 {
		ids = append(ids, fmt.Sprint(i))
		w.send(tool(ids[i], "ab"[i%2:i%2+1], `{}`))
	}
	before := w.until(ids...)
	if seen, _ := os.ReadFile(log); len(seen) != 1 {
		t.Errorf("the list was asked for %d times, want once", len(seen))
	}
	if err := os.WriteFile(log+".broken", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid(t, before["0"]), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		a, b := fmt.Sprint("a", i), fmt.Sprint("b", i)
		w.send(tool(a, "a", `{}`))
		got := w.until(a)
		w.send(`{"jsonrpc":"2.0","id":"list","method":"tools/list"}`)
		w.send(tool(b, "b", `{}`))
		maps.Copy(got, w.until("list", b))
		for id, want := range map[string]string{a: "server a", b: `"result"`, "list": `"name":"a"`} {
			if !strings.Contains(got[id], want) || i == 2 && id == a && !strings.Contains(got[id], "tries again") {
				t.Errorf("%s: %s, want %s", id, got[id], want)
			}
		}
	}
}

// A host may leave in the middle of calls.
func TestHostLeaves(t *testing.T) {
	r := faultyRig(t, func(o *gateway.Options) { o.Servers[0].Timeout = time.Second }, "a")
	w := r.wire(t)
	w.ask(hello)
	for i := range 100 {
		w.send(tool(fmt.Sprint(i), "a", `{"do":"never answer"}`))
	}
	w.in.Close()
}

// Hosts of the newest revision cancel by hanging up.
func TestHostsHangUp(t *testing.T) {
	r := faultyRig(t, nil, "a")
	srv := httptest.NewServer(r.g.Handler())
	t.Cleanup(srv.Close)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}}
	t.Cleanup(client.CloseIdleConnections)
	post := func(ctx context.Context, arguments string) (string, error) {
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":` + arguments + `,"_meta":{` +
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"h","version":"1"},` +
			`"io.modelcontextprotocol/clientCapabilities":{}}}}`
		req, err := http.NewRequestWithContext(ctx, "POST", srv.URL, strings.NewReader(body))
		if err != nil {
			return "", err
		}
		for k, v := range map[string]string{
			"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
			"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "a",
		} {
			req.Header.Set(k, v)
		}
		resp, err := client.Do(req)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		answer, err := io.ReadAll(resp.Body)
		return string(answer), err
	}
	if answer, err := post(t.Context(), `{}`); err != nil || !strings.Contains(answer, `"pid `) {
		t.Fatalf("%s, %v", answer, err)
	}
	files := openFiles()
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			if answer, err := post(ctx, `{"do":"never answer"}`); err == nil {
				t.Errorf("answered %s", answer)
			}
		})
	}
	wg.Wait()
	if answer, err := post(t.Context(), `{}`); err != nil || !strings.Contains(answer, `"pid `) {
		t.Errorf("afterwards: %s, %v", answer, err)
	}
	client.CloseIdleConnections()
	for deadline := time.Now().Add(time.Minute); openFiles() > files; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d files are open, were %d", openFiles(), files)
		}
	}
}

// A host that floods with requests gets every answer, even if it begins to read only after it has written all; one that
// floods with cancellations is not held up by them.
func TestHostFloods(t *testing.T) {
	r := faultyRig(t, nil, "a")
	w := r.wire(t)
	w.ask(hello)
	var ids []string
	for i := range 3000 {
		ids = append(ids, fmt.Sprint("call ", i))
		w.send(tool(ids[i], "a", `{}`))
	}
	for id, answer := range w.until(ids...) {
		if !strings.Contains(answer, `"result"`) {
			t.Fatalf("%s: %s", id, answer)
		}
	}
	for i := range 1500 {
		w.send(tool(fmt.Sprint("slow ", i), "a", `{"do":"never answer"}`))
	}
	for i := range 20000 {
		w.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"slow %d"}}`, i))
	}
	w.send(tool("last", "a", `{}`))
	if got := w.recv(); !strings.Contains(got, `"last"`) || !strings.Contains(got, `"result"`) {
		t.Errorf("after cancellations: %s", got)
	}
}

// An agent session with ten thousand calls costs no more for each at its end than at its beginning.
func TestLongSession(t *testing.T) {
	// The record does not stay in memory, which would have to grow for it.
	r := faultyRig(t, func(o *gateway.Options) { o.State = guard.NewState(nil, record.NewLines(io.Discard)) }, "a")
	w := r.wire(t)
	w.ask(hello)
	call := tool("x", "a", `{}`)
	thousand := func() uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range 1000 {
			w.ask(call)
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	w.ask(call) // the first reads the list
	first := thousand()
	for range 8 {
		thousand()
	}
	if last := thousand(); last > first*3/2 {
		t.Errorf("a thousand calls allocated %d bytes at first and %d after nine thousand", first, last)
	}
}
