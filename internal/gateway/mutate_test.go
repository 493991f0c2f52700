package gateway_test

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
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

var (
	mutations = flag.Int("mutations", 400, "how many mutated messages TestMutations sends")
	seed      = flag.Uint64("mutations.seed", 1, "what they are drawn from")
)

const (
	mutateWindow   = 16               // mutated messages that are under way at once
	mutatePatience = 20 * time.Second // with the valid calls that follow
	newMeta        = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"h","version":"1"}}`
)

// corpus are messages of hosts; META stands for the member of params by which 2026-07-28 says who asks.
var corpus = []string{
	`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"echo","arguments":{"path":"/a","n":1.5e3,"deep":{"x":[1,null,true]}},META}}`,
	`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"text":"caf\u00e9 \ud83d\ude00"},META}}`,
	`{"jsonrpc":"2.0","id":8,"method":"tools/list","params":{META}}`,
	`{"jsonrpc":"2.0","id":9,"method":"resources/read","params":{"uri":"x://a",META}}`,
	`{"jsonrpc":"2.0","id":10,"method":"prompts/get","params":{"name":"p","arguments":{"a":"b"},META}}`,
	`{"jsonrpc":"2.0","id":11,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":"b"},META}}`,
	`{"jsonrpc":"2.0","id":12,"method":"tools/resolve","params":{"name":"echo","arguments":{},META}}`,
	`{"jsonrpc":"2.0","id":13,"method":"acme/vendor","params":{"x":[{"y":{}}],META}}`,
	`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7,"reason":"r"}}`,
	`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":0.5}}`,
	`{"jsonrpc":"2.0","method":"notifications/acme/x","params":{"a":1}}`,
	`{"jsonrpc":"2.0","id":"weir-1","result":{"action":"accept","content":{"a":1}}}`,
	`{"jsonrpc":"2.0","id":14,"method":"ping","params":{META}}`,
}

// answers are messages of servers; ID stands for the id of the call.
var answers = []string{
	`{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"a \ud83d\ude00","_meta":{"a":1}}],"structuredContent":{"x":[1,2]},"_meta":{"annotations":{"openWorldHint":true}}}}`,
	`{"jsonrpc":"2.0","id":ID,"error":{"code":-32000,"message":"no","data":{"x":1}}}`,
	`{"jsonrpc":"2.0","id":ID,"result":{"resultType":"complete","content":[{"type":"resource","resource":{"uri":"x://a","text":"t"}}],"isError":true}}`,
	`{"jsonrpc":"2.0","id":"s1","method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object"}}}`,
	`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`,
	`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":{"a":1}}}`,
	`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`,
}

// tokens are put into messages.
var tokens = []string{`"`, `\`, `{`, `}`, `[`, `]`, `,`, `:`, `null`, `true`, `-`, `1e999`, `"id":1,`, `"Name":"x",`, `"name":"x",`, `\ud83d`, `\u0000`, "\xff", "\n", "\r", `"method":"tools/call",`, `"params":{},`, `"_meta":1,`, `"ſ":1,`, `[[[[[[[[[[`}

// mutate changes a message in one to three places.
func mutate(r *rand.Rand, text string) string {
	b := []byte(text)
	for range 1 + r.IntN(3) {
		i, n := r.IntN(len(b)+1), r.IntN(12)
		j := min(i+n, len(b))
		switch r.IntN(6) {
		case 0:
			b = append(b[:i:i], b[j:]...)
		case 1:
			b = append(b[:i:i], append([]byte(tokens[r.IntN(len(tokens))]), b[i:]...)...)
		case 2:
			b = append(b[:j:j], b[i:]...)
		case 3:
			if i < len(b) {
				b[i] ^= 1 << r.IntN(8)
			}
		case 4:
			if i < len(b) && (b[i]|0x20 >= 'a' && b[i]|0x20 <= 'z') {
				b[i] ^= 0x20
			}
		case 5:
			if r.IntN(4) == 0 {
				b = b[:i]
			}
		}
		if len(b) == 0 {
			return " "
		}
	}
	return string(b)
}

// mutant is a server over pipes that answers every call, with the bytes that the call asks for if it does. What it cannot read is
// written to a file: Weir must not send such.
func mutant(file string) {
	in, out := bufio.NewReaderSize(os.Stdin, 1<<20), bufio.NewWriter(os.Stdout)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		answer, err := mutantAnswer([]byte(line))
		if err != nil {
			_ = os.WriteFile(file, []byte(err.Error()+": "+line), 0o600)
		}
		if answer != "" {
			fmt.Fprintln(out, strings.NewReplacer("\n", " ", "\r", " ").Replace(answer))
		}
		if in.Buffered() == 0 {
			out.Flush()
		}
	}
}

// mutantAnswer returns the answer of that server to a message.
func mutantAnswer(message []byte) (string, error) {
	m, err := rpc.Parse(message)
	if err != nil || !json.Valid(message) {
		return "", fmt.Errorf("a message that is none: %v", err)
	}
	if !m.IsRequest() {
		return "", nil
	}
	result := `{}`
	switch m.Method {
	case "server/discover":
		result = `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"prompts":{},"resources":{}},"resultType":"complete"}`
	case "initialize":
		result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"prompts":{},"resources":{},"logging":{}},"serverInfo":{"name":"m","version":"1"}}`
	case "tools/list":
		result = `{"tools":[{"name":"echo","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"openWorldHint":false}}]}`
	case "prompts/list":
		result = `{"prompts":[{"name":"p"}]}`
	case "resources/list":
		result = `{"resources":[{"uri":"x://a","name":"a"}]}`
	case "resources/templates/list":
		result = `{"resourceTemplates":[]}`
	case "tools/call":
		result = `{"content":[]}`
		raw, _ := rawjson.Get(m.Params, "arguments", "answer")
		text, _ := rawjson.String(raw)
		if answer, err := hex.DecodeString(text); err == nil && len(answer) > 0 {
			return strings.ReplaceAll(string(answer), "ID", string(m.ID)), nil
		}
	}
	return `{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + result + `}`, nil
}

// A mutating run sends mutated messages in one direction, era and transport.
type mutating struct {
	modern, overHTTP, fromServer bool
	r                            *rand.Rand
}

func (x *mutating) String() string {
	words := []string{"host", "legacy", "pipe"}
	for i, word := range []string{"server", "2026-07-28", "HTTP"} {
		if []bool{x.fromServer, x.modern, x.overHTTP}[i] {
			words[i] = word
		}
	}
	return strings.Join(words, " ")
}

// message returns the next mutated message, or a call that the server answers with one.
func (x *mutating) message(i int) string {
	if x.fromServer {
		answer := hex.EncodeToString([]byte(mutate(x.r, answers[x.r.IntN(len(answers))])))
		return x.call(fmt.Sprintf("bad-%d", i), `{"answer":"`+answer+`"}`)
	}
	return mutate(x.r, x.era(corpus[x.r.IntN(len(corpus))]))
}

func (x *mutating) call(id, arguments string) string {
	return x.era(`{"jsonrpc":"2.0","id":"` + id + `","method":"tools/call","params":{"name":"echo","arguments":` + arguments + `,META}}`)
}

func (x *mutating) era(text string) string {
	if x.modern {
		return strings.Replace(text, "META", newMeta, 1)
	}
	return strings.NewReplacer(",META", "", "META", "").Replace(text)
}

// Mutated messages, in both directions, eras and transports: after each a valid call works, and neither side gets anything that is no
// message. Full: go test ./internal/gateway -run TestMutations -mutations 100000
func TestMutations(t *testing.T) {
	n := *mutations / 8
	for i := range 8 {
		x := &mutating{i&1 != 0, i&2 != 0, i&4 != 0, rand.New(rand.NewPCG(*seed, uint64(i)))}
		t.Run(x.String(), func(t *testing.T) {
			t.Parallel()
			r, bad := mutantRig(t, x.overHTTP)
			if x.overHTTP {
				x.post(t, r, n)
			} else {
				x.pipe(t, r, n)
			}
			if text, err := os.ReadFile(bad); err == nil {
				t.Errorf("the server got %.500s", text)
			}
		})
	}
}

// mutantRig makes a gateway over the server, and returns the file of messages that it should not have got.
func mutantRig(t *testing.T, overHTTP bool) (*rig, string) {
	t.Helper()
	bad := filepath.Join(t.TempDir(), "bad")
	spec := upstream.Spec{Name: "m", Command: []string{os.Args[0], "mutant", bad}}
	if overHTTP {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if r.Method != http.MethodPost {
				w.WriteHeader(http.StatusMethodNotAllowed)
				return
			}
			answer, err := mutantAnswer(body)
			if err != nil {
				_ = os.WriteFile(bad, []byte(err.Error()+": "+string(body)), 0o600)
			}
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, answer)
		}))
		t.Cleanup(server.Close)
		spec = upstream.Spec{Name: "m", URL: server.URL}
	}
	g, err := gateway.New(gateway.Options{
		State: guard.NewState(nil, record.Discard()), Version: "test", Stderr: io.Discard,
		// Short, since a request whose answer is mutated takes one of 4096 places until then.
		Servers: []gateway.Server{{Name: "m", Trust: contract.Trusted, Timeout: 2 * time.Second, Spec: spec}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	r := newRecord()
	r.g = g
	return r, bad
}

// pipe sends n messages over a pipe.
func (x *mutating) pipe(t *testing.T, r *rig, n int) {
	w := r.wire(t)
	if !x.modern {
		w.ask(hello)
	}
	probes := make(chan string, 4*mutateWindow)
	defer func() { // the lines are read up to their end before the wire's own cleanup reads them
		w.in.Close()
		for range probes {
		}
	}()
	go func() {
		defer close(probes)
		for {
			line, err := w.lines.ReadBytes('\n')
			if err != nil {
				return
			}
			m, err := rpc.Parse(line)
			if err != nil {
				if !bytes.Contains(line, []byte(`"id":null,"error"`)) {
					t.Errorf("the host got %.300s: %v", line, err)
				}
				continue
			}
			if id, _ := rawjson.String(m.ID); strings.HasPrefix(id, "probe-") {
				probes <- string(line)
			}
		}
	}()
	for done := 0; done < n; done += mutateWindow {
		for i := range mutateWindow {
			w.send(x.message(done + i))
			w.send(x.call(fmt.Sprintf("probe-%d", done+i), `{}`))
		}
		for range mutateWindow {
			select {
			case line := <-probes:
				if !strings.Contains(line, `"content":[]`) {
					t.Fatalf("a valid call after mutated ones: %q", line)
				}
			case <-time.After(mutatePatience):
				t.Fatalf("a valid call near message %d has no answer", done)
			}
		}
	}
}

// post sends n messages over HTTP.
func (x *mutating) post(t *testing.T, r *rig, n int) {
	front := httptest.NewServer(r.g.Handler())
	t.Cleanup(front.Close)
	client := &http.Client{Timeout: mutatePatience}
	session := ""
	send := func(body, method, name string) (http.Header, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, front.URL, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			req.Header.Set("Mcp-Session-Id", session)
		}
		if x.modern {
			req.Header.Set("Mcp-Protocol-Version", "2026-07-28")
			req.Header.Set("Mcp-Method", method)
			req.Header.Set("Mcp-Name", name)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatalf("%.300q: %v", body, err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.Header, string(text)
	}
	if !x.modern {
		header, _ := send(hello, "", "")
		session = header.Get("Mcp-Session-Id")
	}
	for i := range n {
		send(x.message(i), "tools/call", "echo")
		if _, text := send(x.call(fmt.Sprintf("probe-%d", i), `{}`), "tools/call", "echo"); !strings.Contains(text, `"content":[]`) {
			t.Fatalf("a valid call after message %d: %q", i, text)
		}
	}
}
