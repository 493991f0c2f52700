package kit_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/label"
)

// A proxy is a small gateway that keeps every rule, but for its fault. Requests have the ids of the host on both
// sides.
type proxy struct {
	fault string
	relay string

	mu      sync.Mutex
	in      *bufio.Writer           // of the server
	hello   *rpc.Message            // the handshake
	pending map[string]*rpc.Message // requests, by id
	seen    label.Label             // of the results so far
}

// serve runs the proxy until its input or its server ends.
func (p *proxy) serve() {
	if _, err := os.Stat(p.mark()); err == nil {
		select {}
	}
	p.start()
	eachLine(bufio.NewScanner(os.Stdin), p.fromHost)
	os.Exit(0)
}

// mark is a file by which a gateway that starts no more knows it; "" for another one.
func (p *proxy) mark() string {
	_, file, _ := strings.Cut(p.fault, "starts no more, by ")
	return file
}

func eachLine(all *bufio.Scanner, do func([]byte)) {
	all.Buffer(nil, 16<<20)
	for all.Scan() {
		do(bytes.Clone(all.Bytes()))
	}
}

func (p *proxy) start() {
	server := exec.Command(p.relay)
	in, err := server.StdinPipe()
	if err != nil {
		panic(err)
	}
	out, err := server.StdoutPipe()
	if err != nil {
		panic(err)
	}
	if err := server.Start(); err != nil {
		panic(err)
	}
	p.in = bufio.NewWriter(in)
	go func() {
		eachLine(bufio.NewScanner(out), p.fromServer)
		p.ended()
	}()
}

// ended is a server that is gone: the gateway ends too, and its calls with it.
func (p *proxy) ended() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fault != "makes calls again" || len(p.pending) == 0 {
		os.Exit(0)
	}
	p.start()
	p.toServer(p.hello.Append(nil))
	for _, m := range p.pending {
		p.toServer(m.Append(nil))
	}
}

func (p *proxy) toServer(line []byte) {
	_, _ = p.in.Write(append(line, '\n'))
	_ = p.in.Flush()
}

func (p *proxy) toHost(line []byte) { _, _ = os.Stdout.Write(append(line, '\n')) }

func (p *proxy) fromHost(line []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m, err := rpc.Parse(line)
	id, hasID := rawjson.Get(line, "id")
	switch {
	case p.refuses(line), err != nil && p.fault != "forwards every request" && !(p.fault == "forwards notifications" && !hasID):
		if hasID {
			p.toHost(rpc.ReplyError(id, rpc.Errorf(-32700, "refused")).Append(nil))
		}
		return
	case err != nil:
		if json.Valid(line) {
			p.toServer(line)
		}
		return
	case m.ID == nil || m.Method == "tools/call" && p.fault == "hangs":
		return
	case p.mark() != "" && m.Method == "tools/call" && bytes.Contains(m.Params, []byte("2026-07-28")):
		_ = os.WriteFile(p.mark(), nil, 0o600)
		return
	case m.Method == "initialize":
		p.hello = m
	}
	if m.Method == "tools/call" {
		m.Params = p.params(m.Params)
	}
	p.pending[string(m.ID)] = m
	p.toServer(m.Append(nil))
}

func (p *proxy) refuses(line []byte) bool {
	return p.fault == "refuses surrogates" && bytes.Contains(line, []byte(`\ud83d"`))
}

// params returns the params for the server, with the label of the session.
func (p *proxy) params(params []byte) []byte {
	switch p.fault {
	case "does not annotate":
		return params
	case "reads numbers as doubles":
		params = decoded(params)
	case "drops answers":
		return rawjson.Delete(params, "inputResponses")
	case "drops states":
		return rawjson.Delete(params, "requestState")
	case "says nothing of hosts":
		return rawjson.Delete(params, "_meta", metaAble)
	case "drops _meta of requests":
		return rawjson.Delete(params, "_meta", "com.example/kit")
	case "has tokens of its own":
		if out, err := rawjson.Set(params, []byte("5"), "_meta", "progressToken"); err == nil {
			params = out
		}
	}
	out, err := annotation.WriteRequest(params, p.seen, true)
	if err != nil {
		return params
	}
	return out
}

// decoded is a document as a program writes it that has decoded it.
func decoded(document []byte) []byte {
	var v any
	if json.Unmarshal(document, &v) != nil {
		return document
	}
	out, _ := json.Marshal(v)
	return out
}

func (p *proxy) fromServer(line []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m, err := rpc.Parse(line)
	id, hasID := rawjson.Get(line, "id")
	asked := p.pending[string(id)]
	switch {
	case !hasID && err == nil && m.Method != "":
		p.toHost(line)
		return
	case asked == nil && p.fault == "passes second answers" && string(id) != `"kit-nobody"`:
		p.toHost(line)
		return
	case asked == nil && p.fault == "matches answers by order" && string(id) == `"kit-nobody"` && len(p.pending) == 1:
		m.ID = []byte(slices.Collect(maps.Keys(p.pending))[0])
		asked = p.pending[string(m.ID)]
	case asked == nil:
		return
	case err != nil && p.fault == "forwards every result" && json.Valid(line):
		delete(p.pending, string(id))
		p.toHost(line)
		return
	case err != nil || p.refuses(line):
		text := "bad answer"
		if p.fault == "quotes bad answers" {
			text += ": " + string(line)
		}
		delete(p.pending, string(id))
		p.toHost(rpc.ReplyError(id, rpc.Errorf(-32603, "%s", text)).Append(nil))
		return
	}
	delete(p.pending, string(m.ID))
	if m.Result != nil {
		if m.Result = p.result(asked, m.Result); m.Result == nil {
			m = rpc.ReplyError(m.ID, rpc.Errorf(-32021, "it asks for what the host does not do"))
		}
	}
	if m.Error != nil && p.fault == "has errors of its own" {
		m = rpc.ReplyError(m.ID, rpc.Errorf(-32603, "it failed"))
	}
	p.toHost(m.Append(nil))
}

// result returns the result for the host, and raises the session.
func (p *proxy) result(asked *rpc.Message, result []byte) []byte {
	method := asked.Method
	switch {
	case method == "tools/list" && p.fault == "knows the hints of MCP alone":
		return rawjson.Pick(p.hints(result), "tools")
	case method == "tools/resolve" && p.fault == "resolves to the static hints":
		return []byte(`{"tool":{"name":"kit_resolve","annotations":{"readOnlyHint":true,"openWorldHint":false}}}`)
	case method != "tools/call":
		return result
	}
	if result = p.rounds(asked, result); result == nil {
		return nil
	}
	claim, _ := annotation.ReadResult(result)
	switch p.fault {
	case "keeps the last label":
		p.seen = claim.Label
	case "names the last origins":
		p.seen.Attribution = label.Set[string]{}
		fallthrough
	default:
		p.seen = label.Join(p.seen, claim.Label)
	}
	switch p.fault {
	case "drops warnings":
		return rawjson.Delete(result, "_meta", "annotations", "maliciousActivityHint")
	case "knows no _meta of extensions":
		return rawjson.Delete(result, "_meta", "io.modelcontextprotocol/trust-annotations")
	case "drops structured content":
		return rawjson.Delete(result, "structuredContent")
	case "drops isError":
		return rawjson.Delete(result, "isError")
	}
	return result
}

// rounds returns the result of a call in 2026-07-28 for the host, or nil if it asks for something that the host does not do.
func (p *proxy) rounds(asked *rpc.Message, result []byte) []byte {
	_, elicits := rawjson.Get(asked.Params, "_meta", metaAble, "elicitation")
	_, asks := rawjson.Get(result, "inputRequests")
	switch {
	case asks && !elicits && p.fault != "asks every host":
		return nil
	case p.fault == "drops questions":
		return rawjson.Delete(result, "inputRequests")
	case p.fault == "drops types":
		return rawjson.Delete(result, "resultType")
	}
	return result
}

// hints returns a list of tools with the four hints of MCP and no other annotation.
func (p *proxy) hints(list []byte) []byte {
	out, err := rawjson.Edit(list, func(tools []byte) ([]byte, error) {
		all := []byte("[")
		for tool := range rawjson.Elements(tools) {
			if annotations, ok := rawjson.Get(tool, "annotations"); ok {
				known := rawjson.Pick(annotations, "title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
				tool, _ = rawjson.Set(tool, known, "annotations")
			}
			if len(all) > 1 {
				all = append(all, ',')
			}
			all = append(all, tool...)
		}
		return append(all, ']'), nil
	}, "tools")
	if err != nil {
		panic(err)
	}
	return out
}
