package mcptool_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/mcptool"
)

// eras are the revisions that the tests are run in: the last with a handshake, and the one without.
var eras = []string{"2025-11-25", "2026-07-28"}

// connect returns a client of a server, over an in-memory transport.
func connect(t *testing.T, server *mcp.Server, era string, opts *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	ct, st := mcp.NewInMemoryTransports()
	serving, err := server.Connect(t.Context(), st, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, opts)
	if err := mcp.AddSendingCustomMethod[*resolveParams, *resolveResult](client, "tools/resolve"); err != nil {
		t.Fatal(err)
	}
	session, err := client.Connect(t.Context(), ct, &mcp.ClientSessionOptions{ProtocolVersion: era})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close(); _ = serving.Close() })
	return session
}

type resolveParams struct {
	mcp.ParamsBase
	Name      string `json:"name"`
	Arguments any    `json:"arguments,omitempty"`
}

type resolveResult struct {
	mcp.ResultBase
	Tool struct {
		Name        string         `json:"name"`
		Annotations map[string]any `json:"annotations"`
	} `json:"tool"`
	ResultType  string         `json:"resultType"`
	Name        string         `json:"name"`
	Annotations map[string]any `json:"annotations"`
}

// fileServer returns the example with two files.
func fileServer(t *testing.T) (*mcp.Server, string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "public"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"plain": "hello", "key": "-----BEGIN PRIVATE KEY-----"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	server, err := newFileServer(root)
	if err != nil {
		t.Fatal(err)
	}
	return server, dir
}

func call(t *testing.T, s *mcp.ClientSession, p *mcp.CallToolParams) *mcp.CallToolResult {
	t.Helper()
	result, err := s.CallTool(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func TestResultsCarryTheirLabel(t *testing.T) {
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			server, _ := fileServer(t)
			s := connect(t, server, era, nil)
			got := call(t, s, &mcp.CallToolParams{Name: "read_file", Arguments: file{Path: "key"}}).Meta["annotations"]
			want := map[string]any{
				"attribution":    []any{"file:///key"},
				"returnMetadata": map[string]any{"source": "internal", "sensitivity": "credentials"},
			}
			if diff := cmp.Diff(any(want), got); diff != "" {
				t.Errorf("annotations (-want +got):\n%s", diff)
			}
			missing := call(t, s, &mcp.CallToolParams{Name: "read_file", Arguments: file{Path: "none"}})
			if !missing.IsError || missing.StructuredContent != nil {
				t.Errorf("a file that is not there gave %+v", missing)
			}
		})
	}
}

// lists reads tools/list as a client does that knows the annotations.
func lists(t *testing.T, server *mcp.Server, era string) map[string]map[string]any {
	t.Helper()
	var raw []byte
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			result, err := next(ctx, method, req)
			if method == "tools/list" {
				raw, _ = json.Marshal(result)
			}
			return result, err
		}
	})
	if _, err := connect(t, server, era, nil).ListTools(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	var list struct {
		Tools []struct {
			Name        string         `json:"name"`
			Annotations map[string]any `json:"annotations"`
			Meta        map[string]any `json:"_meta"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		t.Fatal(err)
	}
	by := map[string]map[string]any{}
	for _, tool := range list.Tools {
		by[tool.Name] = tool.Annotations
		if _, marked := tool.Meta["io.modelcontextprotocol/tool-resolution"]; marked != (tool.Name == "write_file") {
			t.Errorf("%s is marked as resolvable: %t", tool.Name, marked)
		}
	}
	return by
}

func TestListShowsContracts(t *testing.T) {
	for _, era := range eras {
		server, _ := fileServer(t)
		got := lists(t, server, era)["write_file"]
		want := map[string]any{
			"readOnlyHint": false, "openWorldHint": false,
			"inputMetadata": map[string]any{
				"destination": []any{"internal", "public"}, "sensitivity": "none", "outcomes": "consequential",
			},
			"returnMetadata": map[string]any{"source": "system", "sensitivity": "none"},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: annotations (-want +got):\n%s", era, diff)
		}
	}
}

func TestResolve(t *testing.T) {
	withExtension := &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{
		Extensions: map[string]any{"io.modelcontextprotocol/tool-resolution": map[string]any{}},
	}}
	resolve := func(s *mcp.ClientSession, name string, arguments any) (*resolveResult, error) {
		return mcp.CallCustomMethod[*resolveParams, *resolveResult](t.Context(), s, "tools/resolve",
			&resolveParams{Name: name, Arguments: arguments})
	}
	for _, era := range eras {
		server, _ := fileServer(t)
		core, extension := connect(t, server, era, nil), connect(t, server, era, withExtension)
		r, err := resolve(core, "write_file", file{Path: "public/x"})
		if err != nil {
			t.Fatalf("%s: %v", era, err)
		}
		if got := r.Tool.Annotations["inputMetadata"].(map[string]any)["destination"]; got != "public" || r.Tool.Name != "write_file" {
			t.Errorf("%s: the core form says %v of %q", era, got, r.Tool.Name)
		}
		if r, err = resolve(extension, "write_file", file{Path: "x"}); err != nil {
			t.Fatalf("%s: %v", era, err)
		}
		for _, hint := range []string{"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"} {
			if _, ok := r.Annotations[hint].(bool); !ok {
				t.Errorf("%s: the extension form lacks %s: %v", era, hint, r.Annotations)
			}
		}
		if r.ResultType != "complete" || r.Name != "write_file" || r.Tool.Name != "" {
			t.Errorf("%s: the extension form is %+v", era, r)
		}
		for _, c := range []struct {
			name      string
			arguments any
		}{{"read_file", file{Path: "x"}}, {"nothing", nil}, {"write_file", map[string]any{"path": 7}}, {"write_file", nil}} {
			if _, err := resolve(core, c.name, c.arguments); err == nil || !strings.Contains(err.Error(), "resolvable") && !strings.Contains(err.Error(), "arguments") {
				t.Errorf("%s: resolving %s with %v gives %v", era, c.name, c.arguments, err)
			}
		}
	}
}

// user answers elicitations.
type user struct {
	action string
	asked  []string
}

func (u *user) options() *mcp.ClientOptions {
	return &mcp.ClientOptions{ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		u.asked = append(u.asked, req.Params.Message)
		return &mcp.ElicitResult{Action: u.action, Content: map[string]any{}}, nil
	}}
}

// tainted are the params of a call by an agent that has read untrusted content.
func tainted(name string, arguments any) *mcp.CallToolParams {
	return &mcp.CallToolParams{Name: name, Arguments: arguments, Meta: mcp.Meta{"annotations": map[string]any{"openWorldHint": true}}}
}

func TestUserIsAsked(t *testing.T) {
	for _, era := range eras {
		for _, c := range []struct {
			action  string // "": the client cannot ask
			path    string
			clean   bool // the agent has seen no untrusted content
			asked   int
			written bool
		}{
			{action: "accept", path: "public/a", asked: 1, written: true},
			{action: "decline", path: "public/b", asked: 1},
			{action: "cancel", path: "public/c", asked: 1},
			{path: "public/d"},
			{action: "decline", path: "e", written: true},
			{action: "decline", path: "public/f", clean: true, written: true},
		} {
			server, root := fileServer(t)
			u := &user{action: c.action}
			opts := u.options()
			if c.action == "" {
				opts = nil
			}
			p := tainted("write_file", file{Path: c.path, Text: "text"})
			if c.clean {
				p.Meta = nil
			}
			result := call(t, connect(t, server, era, opts), p)
			_, err := os.Stat(filepath.Join(root, c.path))
			if written := err == nil; written != c.written || result.IsError == c.written || len(u.asked) != c.asked {
				t.Errorf("%s: %+v: written %t, result %+v, asked %q", era, c, written, result, u.asked)
			}
		}
	}
}

// An answer counts for one call, with the arguments it was asked about, within its time.
func TestAnswersAreBound(t *testing.T) {
	now := time.Now()
	ran := 0
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	tools, err := mcptool.New(server, mcptool.Options{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"delete", "erase"} {
		err = mcptool.Add(tools, &mcp.Tool{Name: name}, mcptool.Declaration[file]{
			Admit: func(label.Label, file) mcptool.Decision { return mcptool.Ask("Delete it?") },
		}, func(context.Context, *mcptool.Call, file) (*mcp.CallToolResult, any, error) {
			ran++
			return nil, nil, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	opts := (&user{}).options()
	opts.MultiRoundTrip = &mcp.MultiRoundTripOptions{Disabled: true}
	s := connect(t, server, "2026-07-28", opts)
	ask := func() *mcp.CallToolParams {
		p := &mcp.CallToolParams{Name: "delete", Arguments: file{Path: "a"}}
		q := call(t, s, p)
		if !q.NeedsInput() {
			t.Fatalf("no question but %+v", q)
		}
		p.RequestState = q.RequestState
		p.InputResponses = mcp.InputResponseMap{}
		for id := range q.InputRequests {
			p.InputResponses[id] = &mcp.ElicitResult{Action: "accept", Content: map[string]any{}}
		}
		return p
	}
	for name, twist := range map[string]func(p *mcp.CallToolParams){
		"arguments": func(p *mcp.CallToolParams) { p.Arguments = file{Path: "b"} },
		"tool":      func(p *mcp.CallToolParams) { p.Name = "erase" },
		"state":     func(p *mcp.CallToolParams) { p.RequestState = "A" + p.RequestState[1:] },
		"no state":  func(p *mcp.CallToolParams) { p.RequestState = "" },
		"time":      func(*mcp.CallToolParams) { now = now.Add(mcptool.DefaultPatience) },
		"no answer": func(p *mcp.CallToolParams) { p.InputResponses = nil },
	} {
		p := ask()
		twist(p)
		if r := call(t, s, p); !r.NeedsInput() || ran != 0 {
			t.Errorf("%s: the call ran %d times, the result is %+v", name, ran, r)
		}
	}
	p := ask()
	if r := call(t, s, p); r.IsError || ran != 1 {
		t.Errorf("the accepted call ran %d times: %+v", ran, r)
	}
	if r := call(t, s, p); !r.IsError || ran != 1 {
		t.Errorf("an answer counts twice: ran %d times: %+v", ran, r)
	}
}

func TestMistakesOfAuthors(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	if _, err := mcptool.New(server, mcptool.Options{Key: []byte("short")}); err == nil {
		t.Error("a short key is taken")
	}
	tools, err := mcptool.New(server, mcptool.Options{})
	if err != nil {
		t.Fatal(err)
	}
	closed := mcptool.Declaration[file]{Contract: contract.Contract{OpenWorld: contract.No, Sources: contract.Possible(label.Internal)}}
	var says label.Label
	answer := func(_ context.Context, c *mcptool.Call, _ file) (*mcp.CallToolResult, any, error) {
		return c.Text("x", says), nil, nil
	}
	if err := mcptool.Add(tools, &mcp.Tool{Name: "hinted", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, closed, answer); err == nil {
		t.Error("a tool with hints of its own is taken")
	}
	if err := mcptool.Add(tools, &mcp.Tool{Name: "closed"}, closed, answer); err != nil {
		t.Fatal(err)
	}
	refusing := mcptool.Declaration[file]{Admit: func(label.Label, file) mcptool.Decision { return mcptool.Decision{} }}
	if err := mcptool.Add(tools, &mcp.Tool{Name: "refusing"}, refusing, answer); err != nil {
		t.Fatal(err)
	}
	byHand := func(_ context.Context, c *mcptool.Call, _ file) (*mcp.CallToolResult, any, error) {
		r := c.Text("x", label.Label{})
		r.Meta = mcp.Meta{"annotations": map[string]any{}}
		return r, nil, nil
	}
	if err := mcptool.Add(tools, &mcp.Tool{Name: "by hand"}, closed, byHand); err != nil {
		t.Fatal(err)
	}
	s := connect(t, server, "2025-11-25", nil)
	if r := call(t, s, &mcp.CallToolParams{Name: "closed", Arguments: file{}}); r.IsError {
		t.Errorf("a result inside of the contract is an error: %+v", r)
	}
	says = label.Label{Untrusted: true}
	if _, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "closed", Arguments: file{}}); err == nil || !strings.Contains(err.Error(), "outside") {
		t.Errorf("a result outside of the contract gives %v", err)
	}
	if _, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "by hand", Arguments: file{}}); err == nil {
		t.Error("annotations by hand are taken")
	}
	if r := call(t, s, &mcp.CallToolParams{Name: "refusing", Arguments: file{}}); !r.IsError {
		t.Error("the zero Decision lets a call run")
	}
	bad := &mcp.CallToolParams{Name: "closed", Arguments: file{}, Meta: mcp.Meta{"annotations": map[string]any{"openWorldHint": "yes"}}}
	if _, err := s.CallTool(t.Context(), bad); err == nil {
		t.Error("annotations of the wrong type count as none")
	}
}

// TestExampleIsShort holds the size that the documentation promises.
func TestExampleIsShort(t *testing.T) {
	src, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, body, found := strings.Cut(string(src), "\n)\n\n")
	if n := strings.Count(body, "\n"); !found || n >= 60 {
		t.Errorf("the reference server has %d lines", n)
	}
}
