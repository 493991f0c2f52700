//go:build unix

package upstream_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/upstream"
)

// serveKind runs a server over standard input and output.
func serveKind(kind string) {
	switch kind {
	case "sdk":
		_ = sdkServer(nil).Run(context.Background(), &mcp.StdioTransport{})
	case "sdk-legacy":
		_ = sdkServer(legacyOnly).Run(context.Background(), &mcp.StdioTransport{})
	case "sdk-modern":
		_ = sdkServer(modernOnly).Run(context.Background(), &mcp.StdioTransport{})
	case "sleeper":
		signal.Ignore(syscall.SIGTERM)
		time.Sleep(2 * patience)
	default:
		serveHostile(kind, os.Stdin, os.Stdout)
	}
}

var (
	legacyOnly = []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}
	modernOnly = []string{"2026-07-28"}
)

// sdkServer is a server of the official SDK. Its tools: greet; wait, which waits until it is cancelled, and waited,
// which says how often it began and ended; change, which changes the list of tools; ask, which asks the client for its roots.
func sdkServer(versions []string) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "sdk", Version: "1"}, &mcp.ServerOptions{SupportedProtocolVersions: versions})
	var began, waited atomic.Int64
	text := func(format string, args ...any) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf(format, args...)}}}, nil, nil
	}
	add := func(name string, f func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, any, error)) {
		mcp.AddTool(s, &mcp.Tool{Name: name}, func(ctx context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			return f(ctx, req)
		})
	}
	add("greet", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, any, error) { return text("hello") })
	add("wait", func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, any, error) {
		began.Add(1)
		<-ctx.Done()
		waited.Add(1)
		return nil, nil, ctx.Err()
	})
	add("waited", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, any, error) {
		return text("began %d, ended %d", began.Load(), waited.Load())
	})
	add("change", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, any, error) {
		add("new", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, any, error) { return text("new") })
		return text("changed")
	})
	add("ask", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, any, error) {
		//lint:ignore SA1019 servers of the older revisions ask for roots
		roots, err := req.Session.ListRoots(ctx, nil)
		if err != nil {
			return nil, nil, err
		}
		return text("%s", roots.Roots[0].URI)
	})
	return s
}

// listen serves over HTTP on the loopback interface until the test ends.
func listen(t *testing.T, h http.Handler) string {
	t.Helper()
	checkLeaks(t)
	return serve(t, h)
}

// serve is listen for tests that run beside others, where nobody can say whose a goroutine is.
func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}

// sdkHTTP is an endpoint of the SDK; stateless ones speak 2026-07-28.
func sdkHTTP(t *testing.T, stateless bool) upstream.Spec {
	server := sdkServer(nil)
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: stateless, PropagateRequestCancellation: true})
	return upstream.Spec{Name: "http", URL: listen(t, h)}
}

// sdkSSE is an endpoint of the HTTP+SSE transport.
func sdkSSE(t *testing.T) upstream.Spec {
	server := sdkServer(nil)
	return upstream.Spec{Name: "sse", SSE: true, URL: listen(t, mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return server }, nil))}
}

// A hostile is a server over lines whose methods are misdeeds.
type hostile struct {
	kind string
	in   *bufio.Reader
	out  io.Writer
}

// serveHostile shakes hands like a good server and then does what it is asked for. Kinds: "stubborn" ignores the end of
// its input and SIGTERM, "grandchild" leaves a process behind in its group, "escaped" one in another; "quitter" ends at
// a request before the handshake, "mute" never answers one.
func serveHostile(kind string, in io.Reader, out io.Writer) {
	h := &hostile{kind: kind, in: bufio.NewReader(in), out: out}
	for {
		line, err := h.in.ReadBytes('\n')
		if err != nil {
			break
		}
		h.do(bytes.TrimSuffix(line, []byte("\n")))
	}
	if kind == "stubborn" {
		signal.Ignore(syscall.SIGTERM)
		time.Sleep(2 * patience)
	}
}

func (h *hostile) line(format string, args ...any) { fmt.Fprintf(h.out, format+"\n", args...) }

func (h *hostile) do(line []byte) {
	id, _ := rawjson.Get(line, "id")
	params, _ := rawjson.Get(line, "params")
	raw, _ := rawjson.Get(line, "method")
	method, _ := rawjson.String(raw)
	switch method {
	case "initialize":
		h.line(`{"jsonrpc":"2.0","id":%s,"result": { "protocolVersion":"2025-11-25", "x" : 1.0}}`, id)
		if h.kind == "grandchild" || h.kind == "escaped" {
			h.line(`{"jsonrpc":"2.0","method":"notifications/pid","params":{"pid":%d}}`, sleeper(h.kind == "escaped"))
		}
	case "server/discover":
		switch h.kind {
		case "quitter":
			os.Exit(1)
		case "mute":
		default:
			h.line(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, id)
		}
	case "echo":
		h.line(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, params)
	case "garbage":
		h.line("Listening on port 80\n\n{\n[1,2]\n\"\xff\"\n{\"jsonrpc\":\"2.0\",\"method\":1}\n"+`{"jsonrpc":"2.0","id":%s,"result":{}}`, id)
	case "huge":
		io.WriteString(h.out, `{"result":{"a":"`)
		for range 100 {
			io.WriteString(h.out, strings.Repeat("x", 1_000_000))
		}
		h.line(`"},"jsonrpc":"2.0","id":%s}`, id)
	case "deep":
		h.line(`{"jsonrpc":"2.0","id":%s,"result":%s1%s}`, id, strings.Repeat("[", 1_000_000), strings.Repeat("]", 1_000_000))
	case "utf8":
		h.line(`{"jsonrpc":"2.0","id":%s,"result":{"a":"`+"\xc3\x28"+`"}}`, id)
	case "surrogate":
		h.line(`{"jsonrpc":"2.0","id":%s,"result":{"a":"\ud800"}}`, id)
	case "duplicate":
		h.line(`{"jsonrpc":"2.0","id":%s,"result":{"a":{"b":1,"\u0062":2}}}`, id)
	case "both":
		h.line(`{"jsonrpc":"2.0","id":%s,"result":{},"error":{"code":1,"message":""}}`, id)
	case "die":
		os.Exit(3)
	case "half":
		fmt.Fprintf(h.out, `{"jsonrpc":"2.0","id":%s,"result":{`, id)
		os.Exit(0)
	case "never":
	case "late":
		h.line(`{"jsonrpc":"2.0","method":"notifications/begun"}`)
		time.Sleep(300 * time.Millisecond)
		h.line(`{"jsonrpc":"2.0","id":%s,"result":{}}`, id)
	case "twice":
		h.line(`{"jsonrpc":"2.0","id":%[1]s,"result":{"n":1}}`+"\n"+`{"jsonrpc":"2.0","id":%[1]s,"result":{"n":2}}`, id)
	case "unknown":
		for _, other := range []string{"0", "-1", "99999", `"1"`, "1.0", "1e0", `"` + string(id) + `"`, "18446744073709551617"} {
			h.line(`{"jsonrpc":"2.0","id":%s,"result":{"n":0}}`, other)
		}
		h.line(`{"jsonrpc":"2.0","id":%s,"result":{"n":1}}`, id)
	case "ask":
		h.ask(id)
	case "flood":
		for i := range 200 {
			h.line(`{"jsonrpc":"2.0","id":%d,"method":"slow"}`, i)
		}
		h.line(`{"jsonrpc":"2.0","id":%s,"result":{}}`, id)
	case "cancel":
		h.line(`{"jsonrpc":"2.0","id":"q","method":"slow"}` + "\n" + `{"jsonrpc":"2.0","id":"q","method":"slow"}` + "\n" +
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"q"}}`)
		h.line(`{"jsonrpc":"2.0","id":%s,"result":{}}`, id)
	case "deaf":
		time.Sleep(2 * patience)
	}
}

// ask sends requests of its own and answers with what it got, as an array.
func (h *hostile) ask(id []byte) {
	h.line(`{"jsonrpc":"2.0","id":"%s","method":"sampling/createMessage","params":{"x":1}}`, "é\\u0061")
	h.line(`{"jsonrpc":"2.0","id":-3,"method":"ping"}`)
	h.line(`{"jsonrpc":"2.0","id":4,"method":"bad","params":{"a":1,"a":2}}`)
	var got []string
	for range 3 {
		line, err := h.in.ReadBytes('\n')
		if err != nil {
			os.Exit(1)
		}
		got = append(got, string(bytes.TrimSpace(line)))
	}
	all, _ := json.Marshal(got)
	h.line(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, all)
}

// sleeper starts a process that holds standard output open, and returns its id.
func sleeper(escape bool) int {
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{serverKind + "=sleeper"}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if escape {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	}
	if err := cmd.Start(); err != nil {
		os.Exit(1)
	}
	return cmd.Process.Pid
}
