package kit_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/kit"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/mcptool"
)

// A faulty is a small server that keeps every rule, but for its fault.
type faulty struct{ fault string }

const (
	lookHints = `"readOnlyHint":true,"openWorldHint":false,"returnMetadata":{"source":"internal","sensitivity":["none","financial"]}`
	lookClaim = `"content":[{"type":"text","text":"a","_meta":{"io.modelcontextprotocol/trust-annotations":{"sensitive":true}}}]`
)

func (s faulty) serve() {
	eachLine(bufio.NewScanner(os.Stdin), func(line []byte) {
		id, hasID := rawjson.Get(line, "id")
		m, err := rpc.Parse(line)
		if s.fault == "reads names in any case" || s.fault == "takes duplicates" {
			m, err = s.lenient(line)
		}
		switch {
		case err != nil && s.fault == "ends at a bad message" && !json.Valid(line):
			os.Exit(1)
		case err != nil && hasID && json.Valid(line):
			s.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32600,"message":"refused"}}`, id))
		case err != nil && s.fault == "answers notifications" && json.Valid(line):
			s.write(`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"refused"}}`)
		case err != nil || m.ID == nil:
		case s.fault == "reads ids as doubles":
			var n float64
			if json.Unmarshal(m.ID, &n) == nil {
				m.ID, _ = json.Marshal(n)
			}
			fallthrough
		default:
			s.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, m.ID, s.answer(m, line)))
		}
	})
}

func (s faulty) write(line string) { _, _ = os.Stdout.WriteString(line + "\n") }

// lenient reads as encoding/json does: the last of two names counts, in any case.
func (s faulty) lenient(line []byte) (*rpc.Message, error) {
	var m struct {
		ID     json.RawMessage
		Method string
		Params json.RawMessage
	}
	if _, err := rpc.Parse(line); err == nil ||
		bytes.Contains(line, []byte(`"ping"`)) == (s.fault == "takes duplicates") && rawjson.Check(line) == nil {
		return rpc.Parse(line)
	}
	if err := json.Unmarshal(line, &m); err != nil || m.ID == nil {
		return nil, fmt.Errorf("no request: %w", err)
	}
	return rpc.NewRequest(m.ID, m.Method, m.Params), nil
}

func (s faulty) answer(m *rpc.Message, line []byte) string {
	name, _ := rawjson.Get(m.Params, "name")
	if _, modern := rawjson.Get(m.Params, "_meta", metaVersion); modern && s.fault != "knows handshakes only" && s.fault != "knows nothing" {
		return s.modern(m)
	}
	switch m.Method {
	case "initialize":
		if s.fault == "knows no handshake" || s.fault == "knows nothing" {
			return `"error":{"code":-32601,"message":"no"}`
		}
		return `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`
	case "ping":
		if s.fault == "refuses surrogates" && bytes.Contains(line, []byte(`\ud83d"`)) || s.fault == "knows its members alone" && len(m.Params) > 0 {
			return `"error":{"code":-32600,"message":"refused"}`
		}
		return `"result":{}`
	case "tools/list":
		return s.tools()
	case "tools/call":
		return s.call(m, name)
	case "tools/resolve":
		return s.resolve(name)
	}
	if s.fault == "has one code" {
		return `"error":{"code":-32000,"message":"no"}`
	}
	return `"error":{"code":-32601,"message":"no"}`
}

func (s faulty) tools() string {
	hints := map[string]string{
		"says nothing of its tools":     `"returnMetadata":{"source":"internal","sensitivity":["none","financial"]}`,
		"has a word of its own":         lookHints + `,"inputMetadata":{"destination":"moon","sensitivity":"none","outcomes":"benign"}`,
		"returns more than it declares": `"readOnlyHint":true,"openWorldHint":false,"returnMetadata":{"source":"internal","sensitivity":["none","pii"]}`,
	}[s.fault]
	if hints == "" {
		hints = lookHints
	}
	return `"result":{"tools":[{"name":"look","inputSchema":{"type":"object"},"annotations":{` + hints + `}}]}`
}

func (s faulty) call(m *rpc.Message, name []byte) string {
	_, defects := annotation.ReadRequest(m.Params)
	_, annotated := rawjson.Get(m.Params, "_meta", "annotations")
	switch {
	case string(name) != `"look"` && s.fault == "knows no codes of tools":
		return `"result":{"content":[],"isError":true}`
	case string(name) != `"look"`:
		return `"error":{"code":-32602,"message":"no such tool"}`
	case len(defects) > 0 && s.fault == "fails at bad annotations":
		return `"error":{"code":-32603,"message":"panic"}`
	case len(defects) > 0:
		return `"error":{"code":-32602,"message":"bad annotations"}`
	case annotated && s.fault == "hangs at annotations":
		select {}
	case annotated && s.fault == "never stops talking":
		for line := `{"jsonrpc":"2.0","method":"` + strings.Repeat("x", 1<<20) + `"}`; ; {
			s.write(line)
		}
	case s.fault == "does not aggregate":
		return `"result":{` + lookClaim + `,"_meta":{"annotations":{"openWorldHint":false}}}`
	case s.fault == "has a value of its own":
		return `"result":{` + lookClaim + `,"_meta":{"annotations":{"openWorldHint":"no",` +
			`"returnMetadata":{"source":"internal","sensitivity":"financial"}},"io.modelcontextprotocol/trust-annotations":{"sensitive":true}}}`
	}
	return `"result":{` + lookClaim + `,"_meta":{"annotations":{"returnMetadata":{"source":"internal","sensitivity":"financial"}},` +
		`"io.modelcontextprotocol/trust-annotations":{"sensitive":true}}}`
}

func (s faulty) resolve(name []byte) string {
	switch {
	case string(name) != `"look"` && s.fault != "resolves everything":
		return `"error":{"code":-32602,"message":"no such tool"}`
	case s.fault == "resolves beyond":
		return `"result":{"tool":{"name":"look","annotations":{"readOnlyHint":false,"returnMetadata":{"source":"internal","sensitivity":"financial"}}}}`
	case s.fault == "resolves another tool":
		name = []byte(`"leap"`)
	}
	return `"result":{"tool":{"name":` + string(name) + `,"annotations":{"readOnlyHint":true,` +
		`"returnMetadata":{"source":"internal","sensitivity":"financial"}}}}`
}

func server(fault string) kit.Server {
	p := program("server")
	p.Command = append(p.Command, fault)
	call := kit.Call{Tool: "look", Arguments: []byte("{}")}
	return kit.Server{Program: p, Calls: []kit.Call{call}, Asks: []kit.Call{call}, Timeout: 20 * time.Second, Start: time.Minute}
}

// Each fault of a server breaks exactly the checks of the rules that it breaks; a server without one breaks none.
func TestFaultyServers(t *testing.T) {
	for fault, want := range map[string]string{
		"none":                          "",
		"says nothing of its tools":     "definition.hints",
		"has a word of its own":         "definition.values",
		"has a value of its own":        "result.values",
		"returns more than it declares": "result.bounds resolve.bounds",
		"does not aggregate":            "result.aggregate",
		"fails at bad annotations":      "request.wrong",
		"resolves beyond":               "resolve.bounds",
		"resolves another tool":         "resolve.bounds",
		"resolves everything":           "resolve.unknown",
		"has one code":                  "message.unknown stateless.unknown stateless.removed",
		"knows no codes of tools":       "message.tool stateless.tool",
		"knows its members alone":       "message.meta message.surrogate",
		"refuses surrogates":            "message.surrogate",
		"ends at a bad message":         "message.malformed",
		"answers notifications":         "message.notification",
		"reads ids as doubles":          "message.number",
		"reads names in any case":       "reading.method reading.id reading.duplicate",
		"takes duplicates":              "reading.duplicate",
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			r, err := server(fault).Check(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, strings.Join(failing(r, kit.Failed, kit.Warned), " ")); diff != "" {
				t.Error(diff)
				for _, one := range r.Checks {
					if len(one.Broken) > 0 {
						t.Log(one.ID, one.Broken)
					}
				}
			}
		})
	}
}

// A server with mcptool breaks three checks, all in the transport of the SDK: it reads ids as doubles, ends at a line that
// is no JSON, and takes the last of two members with one name.
func TestOwnServer(t *testing.T) {
	s := kit.Server{Program: program("mcptool"), Timeout: 20 * time.Second, Start: time.Minute,
		Calls: []kit.Call{{Tool: "look", Arguments: []byte(`{"name":"a"}`)}}}
	r, err := s.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("message.malformed message.number reading.duplicate", strings.Join(failing(r, kit.Failed, kit.Warned), " ")); diff != "" {
		t.Error(diff)
	}
	absent := strings.Join(failing(r, kit.Absent), " ")
	for _, id := range []string{"result.values", "result.bounds", "request.wrong", "resolve.bounds", "resolve.unknown"} {
		if strings.Contains(absent, id) {
			t.Errorf("%s is not applicable: %s", id, absent)
		}
	}
}

// serveTools is a server of an author who uses mcptool.
func serveTools() error {
	type note struct {
		Name string `json:"name"`
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "notes", Version: "1"}, nil)
	tools, err := mcptool.New(s, mcptool.Options{})
	if err != nil {
		return err
	}
	declaration := mcptool.Declaration[note]{
		Contract: contract.Reads(label.Internal, label.UntrustedPublic),
		Resolve: func(_ note, c contract.Contract) (contract.Contract, error) {
			c.Sources = contract.Possible(label.Internal)
			return c, nil
		},
	}
	err = mcptool.Add(tools, &mcp.Tool{Name: "look"}, declaration, func(_ context.Context, c *mcptool.Call, in note) (*mcp.CallToolResult, any, error) {
		return c.Text(in.Name, label.Label{Private: true, Sources: label.SetOf(label.Internal), Attribution: label.SetOf("https://notes.example/")}), nil, nil
	})
	if err != nil {
		return err
	}
	return s.Run(context.Background(), &mcp.StdioTransport{})
}

// A server that hangs fails, and without a call the checks of results are not applicable.
func TestServersThatHang(t *testing.T) {
	inTime(t, func(timeout time.Duration) []string {
		s := server("hangs at annotations")
		s.Timeout = timeout
		r, err := s.Check(t.Context())
		if err != nil {
			return []string{err.Error()}
		}
		if got := failing(r, kit.Failed); len(got) == 0 || got[0] != "request.annotations" {
			return []string{fmt.Sprint("it fails ", got)}
		}
		return nil
	})
	s := server("never stops talking")
	r, err := s.Check(t.Context())
	if err == nil {
		if got := failing(r, kit.Failed); len(got) == 0 || got[0] != "request.annotations" {
			t.Errorf("one that never stops talking fails %v", got)
		}
	}
	s = server("none")
	s.Calls = nil
	if r, err = s.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	absent := strings.Join(failing(r, kit.Absent), " ")
	for _, id := range []string{"result.values", "result.bounds", "result.aggregate", "request.annotations", "request.wrong", "resolve.bounds"} {
		if !strings.Contains(absent, id) {
			t.Errorf("%s is applicable without a call", id)
		}
	}
	s.Calls = []kit.Call{{Tool: "leap", Arguments: []byte("{}")}}
	if _, err := s.Check(t.Context()); err == nil {
		t.Error("a tool that is not there is called")
	}
}
