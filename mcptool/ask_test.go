package mcptool_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/mcptool"
)

type until struct {
	Day   string `json:"day"`
	Hours int    `json:"hours"`
}

// lender returns a server whose one tool asks twice before it acts, besides once on admission.
func lender(t *testing.T, did *[]until) *mcp.Server {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	tools, err := mcptool.New(server, mcptool.Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = mcptool.Add(tools, &mcp.Tool{Name: "lend"}, mcptool.Declaration[file]{
		Contract: contract.Writes(contract.Internal),
		Admit:    func(label.Label, file) mcptool.Decision { return mcptool.Ask("Lend?") },
	}, func(ctx context.Context, c *mcptool.Call, _ file) (*mcp.CallToolResult, any, error) {
		term, err := mcptool.AskFor[until](ctx, c, "Until when?")
		if err != nil {
			return nil, nil, err
		}
		if err := c.Ask(ctx, "Until "+term.Day+"?"); err != nil {
			return nil, nil, err
		}
		*did = append(*did, term)
		return c.Text("lent", label.Label{}), nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return server
}

func TestQuestionsDuringACall(t *testing.T) {
	full := map[string]any{"day": "monday", "hours": 2}
	for _, era := range eras {
		for _, c := range []struct {
			name    string
			answers []*mcp.ElicitResult
			did     int
			says    string
		}{
			{"accepted", []*mcp.ElicitResult{{Action: "accept"}, {Action: "accept", Content: full}, {Action: "accept"}}, 1, "lent"},
			{"declined at first", []*mcp.ElicitResult{{Action: "decline"}}, 0, "not accept"},
			{"declined between", []*mcp.ElicitResult{{Action: "accept"}, {Action: "cancel"}}, 0, "not accept"},
			{"declined at last", []*mcp.ElicitResult{{Action: "accept"}, {Action: "accept", Content: full}, {Action: "decline"}}, 0, "not accept"},
			{"another form", []*mcp.ElicitResult{{Action: "accept"}, {Action: "accept", Content: map[string]any{"day": 7}}}, 0, ""},
		} {
			var did []until
			var asked []string
			left := c.answers
			client := &mcp.ClientOptions{ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				asked = append(asked, req.Params.Message)
				answer := left[0]
				left = left[1:]
				return answer, nil
			}}
			r, err := connect(t, lender(t, &did), era, client).CallTool(t.Context(), &mcp.CallToolParams{Name: "lend", Arguments: file{}})
			refused := err != nil || r.IsError // the client's own SDK refuses an answer of another form
			if len(did) != c.did || refused == (c.did == 1) || !slices.Equal(asked, []string{"Lend?", "Until when?", "Until monday?"}[:len(c.answers)]) {
				t.Errorf("%s, %s: ran %v, asked %q: %+v %v", era, c.name, did, asked, r, err)
			}
			if err == nil && !strings.Contains(r.Content[0].(*mcp.TextContent).Text, c.says) {
				t.Errorf("%s, %s: says %+v", era, c.name, r.Content[0])
			}
			if c.did == 1 && did[0] != (until{"monday", 2}) {
				t.Errorf("%s: the tool was told %+v", era, did)
			}
		}
		var did []until
		r := call(t, connect(t, lender(t, &did), era, nil), &mcp.CallToolParams{Name: "lend", Arguments: file{}})
		if !r.IsError || len(did) > 0 || !strings.Contains(r.Content[0].(*mcp.TextContent).Text, "no elicitation") {
			t.Errorf("%s, nobody to ask: %+v", era, r)
		}
	}
}

// A client that writes its own answers gets no further than the question that the server put last.
func TestAnswersCountInTheirOrder(t *testing.T) {
	var did []until
	client := (&user{}).options()
	client.MultiRoundTrip = &mcp.MultiRoundTripOptions{Disabled: true}
	s := connect(t, lender(t, &did), "2026-07-28", client)
	round := func(before *mcp.CallToolResult, content map[string]any) *mcp.CallToolResult {
		p := &mcp.CallToolParams{Name: "lend", Arguments: file{}}
		if before != nil {
			p.RequestState, p.InputResponses = before.RequestState, mcp.InputResponseMap{}
			for id := range before.InputRequests {
				p.InputResponses[id] = &mcp.ElicitResult{Action: "accept", Content: content}
			}
		}
		return call(t, s, p)
	}
	text := func(r *mcp.CallToolResult) string {
		for _, q := range r.InputRequests {
			return q.(*mcp.ElicitParams).Message
		}
		return "none"
	}
	first := round(nil, nil)
	second := round(first, nil)
	if text(first) != "Lend?" || text(second) != "Until when?" {
		t.Fatalf("asked %q and %q", text(first), text(second))
	}
	if again := round(first, nil); !again.IsError || len(did) > 0 {
		t.Errorf("a state counts twice: %+v", again)
	}
	if bad := round(second, map[string]any{"day": 7, "hours": "x"}); !bad.IsError || len(did) > 0 {
		t.Errorf("an answer of another form counts: %+v", bad)
	}
	second = round(round(nil, nil), nil)
	last := round(second, map[string]any{"day": "monday", "hours": 1})
	if text(last) != "Until monday?" || len(did) > 0 {
		t.Errorf("asked %q, ran %v", text(last), did)
	}
	if done := round(last, nil); done.IsError || len(did) != 1 {
		t.Errorf("ran %v: %+v", did, done)
	}
}

// A form that no client could show is the author's mistake, found before anybody is asked.
func TestFormsAreFlat(t *testing.T) {
	s := serveOne(t, contract.Contract{}, func(c *mcptool.Call) *mcp.CallToolResult {
		_, nested := mcptool.AskFor[struct{ In until }](t.Context(), c, "?")
		_, text := mcptool.AskFor[string](t.Context(), c, "?")
		if nested == nil || errors.Is(nested, mcptool.ErrNoUser) || text == nil || errors.Is(text, mcptool.ErrNoUser) {
			t.Errorf("%v, %v", nested, text)
		}
		return c.Text("x", label.Label{})
	})
	call(t, s, &mcp.CallToolParams{Name: "t", Arguments: file{}})
}

// A finding says nothing of the data: the label of the result is as without it.
func TestFindingsJoinTheLabel(t *testing.T) {
	declared := contract.Reads(label.Internal).Returning(label.PII)
	for name, says := range map[string]func(*mcptool.Call) *mcp.CallToolResult{
		"unlabelled": func(c *mcptool.Call) *mcp.CallToolResult {
			c.Malicious("override")
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "x"}}}
		},
		"labelled": func(c *mcptool.Call) *mcp.CallToolResult {
			c.Malicious("override")
			return c.Text("x", declared.Label())
		},
	} {
		want := label.Join(declared.Label(), label.Label{Malicious: true, Findings: label.SetOf("override")})
		if got := read(t, call(t, serveOne(t, declared, says), &mcp.CallToolParams{Name: "t", Arguments: file{}})); !got.Equal(want) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// raw returns a client of a server with one tool of raw arguments.
func raw(t *testing.T, h mcptool.RawHandler) (*mcptool.Tools, *mcp.ClientSession) {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	tools, err := mcptool.New(server, mcptool.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := mcptool.Declaration[json.RawMessage]{
		Contract: contract.Writes(contract.Internal, contract.Public),
		Resolve: func(in json.RawMessage, c contract.Contract) (contract.Contract, error) {
			if strings.Contains(string(in), "inside") {
				c = c.To(contract.Internal)
			}
			return c, nil
		},
	}
	if err := mcptool.AddRaw(tools, &mcp.Tool{Name: "t"}, d, h); err == nil {
		t.Error("a raw tool without a schema is taken")
	}
	schema := json.RawMessage(`{"type":"object","properties":{"to":{"type":"string"}},"required":["to"]}`)
	if err := mcptool.AddRaw(tools, &mcp.Tool{Name: "t", InputSchema: schema}, d, h); err != nil {
		t.Fatal(err)
	}
	return tools, connect(t, server, "2026-07-28", (&user{action: "accept"}).options())
}

func TestRawTools(t *testing.T) {
	var fails error
	tools, s := raw(t, func(ctx context.Context, c *mcptool.Call, in json.RawMessage) (*mcp.CallToolResult, error) {
		if err := c.Ask(ctx, "Do it?"); err != nil {
			return nil, err
		}
		if fails != nil {
			c.Malicious("override")
			return nil, fails
		}
		return c.Text(string(in), label.Label{Sources: label.SetOf(label.System)}), nil
	})
	p := &mcp.CallToolParams{Name: "t", Arguments: map[string]any{"to": "inside"}}
	r := call(t, s, p)
	if got := read(t, r); r.IsError || !got.Sources.Has(label.System) || r.Content[0].(*mcp.TextContent).Text != `{"to":"inside"}` {
		t.Errorf("%+v", r)
	}
	fails = errors.New("broken")
	if r := call(t, s, p); !r.IsError || !read(t, r).Malicious {
		t.Errorf("an error is no result for the model, or loses the finding: %+v", r)
	}
	fails = &jsonrpc.Error{Code: -32000, Message: "broken"}
	_, err := s.CallTool(t.Context(), p)
	var wire *jsonrpc.Error
	if !errors.As(err, &wire) || wire.Code != -32000 {
		t.Fatalf("%v", err)
	}
	if claim, _ := annotation.ReadResult(wire.Data); !claim.Label.Malicious {
		t.Errorf("an error of the protocol loses the finding: %+v", wire)
	}
	for arguments, want := range map[string]contract.Hint{`{"to":"inside"}`: contract.No, `{"to":"outside"}`: contract.Yes} {
		if c, err := tools.Resolve("t", json.RawMessage(arguments)); err != nil || c.OpenWorld != want {
			t.Errorf("%s is resolved to %v, %v", arguments, c, err)
		}
	}
	if _, err := tools.Resolve("t", json.RawMessage(`{"to":7}`)); err == nil {
		t.Error("arguments outside of the schema are resolved")
	}
}

// Questions find their user over HTTP as they do on a pipe, in the sessions of old and without any.
func TestQuestionsOverHTTP(t *testing.T) {
	for _, era := range eras {
		var did []until
		server := lender(t, &did)
		web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
			&mcp.StreamableHTTPOptions{Stateless: era == "2026-07-28"}))
		t.Cleanup(web.Close)
		client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
			ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"day": "monday", "hours": 3}}, nil
			},
		})
		s, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: web.URL}, &mcp.ClientSessionOptions{ProtocolVersion: era})
		if err != nil {
			t.Fatal(err)
		}
		if r := call(t, s, &mcp.CallToolParams{Name: "lend", Arguments: file{}}); r.IsError || len(did) != 1 || did[0].Hours != 3 {
			t.Errorf("%s: ran %v: %+v", era, did, r)
		}
		_ = s.Close()
	}
}

// In 2026-07-28 a client is asked as the request declares, whatever other requests of the connection have declared.
func TestEachRequestDeclaresItsClient(t *testing.T) {
	var did []until
	clientSide, serverSide := mcp.NewInMemoryTransports()
	serving, err := lender(t, &did).Connect(t.Context(), serverSide, nil)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := clientSide.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(); _ = serving.Wait() })
	for n, able := range []string{`{}`, `{"elicitation":{"form":{}}}`, `{}`} {
		id, err := jsonrpc.MakeID(float64(n))
		if err != nil {
			t.Fatal(err)
		}
		params := `{"name":"lend","arguments":{"path":"a"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
			`"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":` + able + `}}`
		if err := conn.Write(t.Context(), &jsonrpc.Request{ID: id, Method: "tools/call", Params: json.RawMessage(params)}); err != nil {
			t.Fatal(err)
		}
		message, err := conn.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		answer := string(message.(*jsonrpc.Response).Result)
		if asks := strings.Contains(answer, `"input_required"`); asks != (able != `{}`) {
			t.Errorf("request %d, of a client with %s: %s", n, able, answer)
		}
	}
}
