package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/demo/servers"
	"github.com/weir-mcp/weir/internal/gateway"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/internal/upstream"
	"github.com/weir-mcp/weir/record"
)

// TestMain makes the test binary a server of some kind when it is started as one.
func TestMain(m *testing.M) {
	if len(os.Args) >= 3 && os.Args[1] == "faulty" {
		faulty(os.Args[2], strings.Join(os.Args[3:], ""))
		return
	}
	if len(os.Args) == 3 && os.Args[1] == "mortal" {
		mortal(os.Args[2])
		return
	}
	if len(os.Args) == 2 && os.Args[1] == "resolving" {
		resolving()
		return
	}
	if len(os.Args) == 3 && os.Args[1] == "mutant" {
		mutant(os.Args[2])
		return
	}
	if len(os.Args) == 3 && os.Args[1] == "hostile" {
		hostile(os.Args[2])
		return
	}
	if len(os.Args) == 3 && os.Args[1] == "leaky" {
		leaky(os.Args[2])
		return
	}
	if len(os.Args) == 4 && os.Args[1] == "hider" {
		if err := hider(os.Args[2], os.Args[3]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if len(os.Args) == 3 && os.Args[1] == "scripted" {
		scripted()
		return
	}
	if len(os.Args) == 4 && os.Args[1] == "serve" {
		if err := servers.Run(context.Background(), os.Args[2], servers.Options{Data: os.Args[3]}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// A rig is a gateway over real servers, with its record.
type rig struct {
	g      *gateway.Gateway
	record *bytes.Buffer
	mu     *sync.Mutex
	data   map[string]string // server -> its directory
}

func (r *rig) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.record.Write(p)
}

// recorded returns the events of a kind.
func (r *rig) recorded(t *testing.T, kind record.Kind) (out []record.Event) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	dec := json.NewDecoder(bytes.NewReader(r.record.Bytes()))
	for {
		var e record.Event
		if err := dec.Decode(&e); err == io.EOF {
			return out
		} else if err != nil {
			t.Fatal(err)
		}
		if e.Kind == kind {
			out = append(out, e)
		}
	}
}

func newRecord() *rig {
	return &rig{record: &bytes.Buffer{}, mu: &sync.Mutex{}, data: map[string]string{}}
}

// newRig makes a gateway over the files and mail servers, changed by change.
func newRig(t *testing.T, change func(*gateway.Options)) *rig {
	t.Helper()
	r := newRecord()
	opts := gateway.Options{State: guard.NewState(nil, record.NewLines(r)), BaseEnv: os.Environ(), Version: "test", Stderr: io.Discard}
	for _, name := range []string{"files", "mail"} {
		dir := filepath.Join(t.TempDir(), name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		r.data[name] = dir
		opts.Servers = append(opts.Servers, gateway.Server{Name: name, Trust: contract.Trusted, Spec: upstream.Spec{
			Name: name, Command: []string{os.Args[0], "serve", name, dir},
		}})
	}
	write(t, r.data["files"], "salaries.csv", "name,salary\nann,1\n")
	write(t, r.data["files"], "notes.md", "buy milk\n")
	write(t, r.data["mail"], "drafts.json", "[]")
	write(t, r.data["mail"], "inbox.json", "[]")
	r.open(t, opts, change)
	return r
}

// open makes the gateway of the rig, which the end of the test closes.
func (r *rig) open(t testing.TB, opts gateway.Options, change func(*gateway.Options)) {
	t.Helper()
	if change != nil {
		change(&opts)
	}
	g, err := gateway.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	r.g = g
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// stdio connects a client to the gateway as over stdio.
func (r *rig) stdio(t *testing.T, protocol string, opts *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	hostReads, gatewayWrites := io.Pipe()
	gatewayReads, hostWrites := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- r.g.ServeStdio(t.Context(), rpc.NewStream(gatewayReads, gatewayWrites, nil)) }()
	s := connect(t, &mcp.IOTransport{Reader: hostReads, Writer: hostWrites}, protocol, opts)
	t.Cleanup(func() {
		hostWrites.Close()
		select {
		case err := <-served:
			if err != nil {
				t.Errorf("serving stdio: %v", err)
			}
		case <-time.After(time.Minute):
			t.Error("the gateway did not notice that its host left")
		}
	})
	return s
}

// http connects a client to the gateway over streamable HTTP.
func (r *rig) http(t *testing.T, protocol string, opts *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	srv := httptest.NewServer(r.g.Handler())
	t.Cleanup(srv.Close)
	return connect(t, &mcp.StreamableClientTransport{Endpoint: srv.URL}, protocol, opts)
}

func connect(t *testing.T, transport mcp.Transport, protocol string, opts *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1"}, opts)
	s, err := c.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: protocol})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if got := s.InitializeResult().ProtocolVersion; got != protocol {
		t.Fatalf("agreed on %s, want %s", got, protocol)
	}
	return s
}

func callTool(t *testing.T, s *mcp.ClientSession, name string, args map[string]any) (*mcp.CallToolResult, string) {
	t.Helper()
	res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return res, textOf(res)
}

// textOf returns the text of a result.
func textOf(res *mcp.CallToolResult) string {
	var b strings.Builder
	for _, c := range res.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			b.WriteString(text.Text)
		}
	}
	return b.String()
}

// everyWay runs a test over both transports, in both eras.
func everyWay(t *testing.T, run func(t *testing.T, connect func(*rig, *mcp.ClientOptions) *mcp.ClientSession)) {
	for _, protocol := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"} {
		t.Run("stdio "+protocol, func(t *testing.T) {
			t.Parallel()
			run(t, func(r *rig, o *mcp.ClientOptions) *mcp.ClientSession { return r.stdio(t, protocol, o) })
		})
		t.Run("http "+protocol, func(t *testing.T) {
			t.Parallel()
			run(t, func(r *rig, o *mcp.ClientOptions) *mcp.ClientSession { return r.http(t, protocol, o) })
		})
	}
}

// filledIn is the form of a person who approves.
var filledIn = map[string]any{"approve": true}

func person(action string, asked *[]string) *mcp.ClientOptions {
	return &mcp.ClientOptions{ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		*asked = append(*asked, req.Params.Message)
		return &mcp.ElicitResult{Action: action, Content: filledIn}, nil
	}}
}

var mailTo = map[string]any{"to": "accountant@external.example", "subject": "salaries", "body": "ann,1"}

func TestSalarySheetToTheAccountant(t *testing.T) {
	everyWay(t, func(t *testing.T, connect func(*rig, *mcp.ClientOptions) *mcp.ClientSession) {
		for action, sent := range map[string]int{"accept": 1, "decline": 0, "cancel": 0} {
			r := newRig(t, nil)
			var asked []string
			s := connect(r, person(action, &asked))
			res, _ := callTool(t, s, "read_file", map[string]any{"path": "salaries.csv"})
			labels, _ := res.Meta["annotations"].(map[string]any)
			if labels == nil || labels["attribution"] == nil {
				t.Errorf("the result has no labels: %v", res.Meta)
			}
			res, text := callTool(t, s, "send_email", mailTo)
			out, err := servers.ReadOutbox(r.data["mail"])
			if err != nil || len(out) != sent {
				t.Errorf("%s: %d mails left (%v), want %d; %s", action, len(out), err, sent, text)
			}
			if res.IsError != (sent == 0) {
				t.Errorf("%s: isError is %v: %s", action, res.IsError, text)
			}
			if len(asked) != 1 || !strings.Contains(asked[0], "accountant@external.example") || !strings.Contains(asked[0], "mcp://files/read_file") {
				t.Errorf("%s: asked %q", action, asked)
			}
			if n := len(r.recorded(t, record.Approval)); n != 2 {
				t.Errorf("%s: %d events of the question, want asked and answered", action, n)
			}
		}
	})
}

func TestHostThatCannotAskIsToldWhy(t *testing.T) {
	everyWay(t, func(t *testing.T, connect func(*rig, *mcp.ClientOptions) *mcp.ClientSession) {
		r := newRig(t, nil)
		s := connect(r, nil)
		callTool(t, s, "read_file", map[string]any{"path": "salaries.csv"})
		res, text := callTool(t, s, "send_email", mailTo)
		if !res.IsError || !strings.Contains(text, "blocked by weir") || !strings.Contains(text, "elicitation") {
			t.Errorf("isError %v: %s", res.IsError, text)
		}
		if out, _ := servers.ReadOutbox(r.data["mail"]); len(out) != 0 {
			t.Errorf("mail left: %v", out)
		}
	})
}

func TestOneApprovalLetsOneCallThrough(t *testing.T) {
	everyWay(t, func(t *testing.T, connect func(*rig, *mcp.ClientOptions) *mcp.ClientSession) {
		r := newRig(t, nil)
		var asked []string
		s := connect(r, person("accept", &asked))
		callTool(t, s, "read_file", map[string]any{"path": "salaries.csv"})
		for range 3 {
			callTool(t, s, "send_email", mailTo)
		}
		if out, _ := servers.ReadOutbox(r.data["mail"]); len(out) != 3 || len(asked) != 3 {
			t.Errorf("%d mails after %d questions", len(out), len(asked))
		}
	})
}

func TestToolsShowTheirEffectiveContract(t *testing.T) {
	r := newRig(t, func(o *gateway.Options) { o.Servers[1].Trust = contract.Untrusted })
	s := r.stdio(t, "2025-11-25", nil)
	list, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	readOnly := map[string]bool{}
	for _, tool := range list.Tools {
		readOnly[tool.Name] = tool.Annotations != nil && tool.Annotations.ReadOnlyHint
	}
	if !readOnly["read_file"] || readOnly["read_drafts"] || readOnly["send_email"] {
		t.Errorf("read-only: %v; a trusted server's claim counts, an untrusted one's does not", readOnly)
	}
}

func TestNamesCollideOnlyWhereTheyMust(t *testing.T) {
	r := newRig(t, func(o *gateway.Options) {
		second := o.Servers[0]
		second.Name = "archive"
		o.Servers = append(o.Servers, second)
	})
	s := r.stdio(t, "2025-11-25", nil)
	list, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	got := strings.Join(names, " ")
	for _, want := range []string{"files__read_file", "archive__read_file", "send_email"} {
		if !strings.Contains(" "+got+" ", " "+want+" ") {
			t.Errorf("no %s among %s", want, got)
		}
	}
	if _, text := callTool(t, s, "archive__read_file", map[string]any{"path": "notes.md"}); !strings.Contains(text, "milk") {
		t.Errorf("archive__read_file: %s", text)
	}
}

func TestSessionKeyFromTheHostDecides(t *testing.T) {
	r := newRig(t, nil)
	s := r.stdio(t, "2025-11-25", nil)
	send := func(session, parent string) bool {
		meta := mcp.Meta{"dev.weir/agent-session": session}
		if parent != "" {
			meta["dev.weir/parent-agent-session"] = parent
		}
		res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Meta: meta, Name: "send_email", Arguments: mailTo})
		if err != nil {
			t.Fatal(err)
		}
		return !res.IsError
	}
	if _, err := s.CallTool(t.Context(), &mcp.CallToolParams{
		Meta: mcp.Meta{"dev.weir/agent-session": "one"}, Name: "read_file", Arguments: map[string]any{"path": "salaries.csv"},
	}); err != nil {
		t.Fatal(err)
	}
	if send("one", "") || !send("two", "") || send("child", "one") {
		t.Error("the label must hold in its own session and its children, and nowhere else")
	}
}
