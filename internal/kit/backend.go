package kit

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
)

// The revisions that are spoken on both sides: one with a handshake, and one in which each request says who makes it.
const (
	revision       = "2025-11-25"
	modernRevision = "2026-07-28"

	metaRevision = "io.modelcontextprotocol/protocolVersion"
	metaAbility  = "io.modelcontextprotocol/clientCapabilities"
	introduction = `"` + metaRevision + `":"` + modernRevision + `","` + metaAbility + `":{},` +
		`"io.modelcontextprotocol/clientInfo":{"name":"weir-conformance","version":"1"}`
)

// An inbound is a message that reached the server of the kit.
type inbound struct {
	message []byte
	reply   func(messages ...[]byte)
	drop    func() // ends the connection
}

// A backend is the server that the kit puts behind a gateway: over standard input and output, by a relay that the
// gateway starts, and over streamable HTTP.
type backend struct {
	listener net.Listener
	http     *http.Server
	token    string
	work     sync.WaitGroup
	tools    []byte // the result of tools/list

	mu     sync.Mutex
	conns  map[net.Conn]bool
	script func(inbound) // takes what the handshake and the lists do not
	calls  [][]byte      // that reached the server and are no probes
	modern bool          // it speaks 2026-07-28
}

func newBackend(tools []byte) (*backend, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	web, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	b := &backend{listener: l, token: rand.Text(), tools: tools, conns: map[net.Conn]bool{}}
	b.http = &http.Server{Addr: web.Addr().String(), Handler: http.HandlerFunc(b.serveHTTP)}
	b.work.Go(func() { _ = b.http.Serve(web) })
	b.work.Go(b.accept)
	return b, nil
}

func (b *backend) url() string { return "http://" + b.http.Addr + "/" + b.token + "/mcp" }

// install writes a program without arguments that starts the relay, and a configuration with it in the usual form.
func (b *backend) install(dir string, relay []string) (program, config string, err error) {
	words := append(append([]string{}, relay...), b.listener.Addr().String(), b.token)
	name, text := "kit-server", "#!/bin/sh\nexec"
	for _, word := range words {
		text += " '" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	if runtime.GOOS == "windows" {
		name, text = "kit-server.cmd", "@\""+strings.Join(words, "\" \"")+"\""
	}
	program, config = filepath.Join(dir, name), filepath.Join(dir, "mcp.json")
	servers := fmt.Sprintf(`{"mcpServers":{"kit":{"command":%s,"args":[]}}}`, rawjson.Quote(program))
	return program, config, errors.Join(os.WriteFile(program, []byte(text+"\n"), 0o700), os.WriteFile(config, []byte(servers), 0o600))
}

// Relay connects the standard streams of a program that a gateway started with the kit's server.
func Relay(address, token string, in io.Reader, out io.Writer) error {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, token+"\n"); err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(conn, in)
		_ = conn.Close()
	}()
	_, _ = io.Copy(out, conn) // until either side ends
	return nil
}

func (b *backend) accept() {
	for {
		conn, err := b.listener.Accept()
		if err != nil {
			return
		}
		b.mu.Lock()
		b.conns[conn] = true
		b.mu.Unlock()
		b.work.Go(func() { b.serve(conn) })
	}
}

// serve answers the lines of one relay.
func (b *backend) serve(conn net.Conn) {
	defer func() {
		_ = conn.Close()
		b.mu.Lock()
		delete(b.conns, conn)
		b.mu.Unlock()
	}()
	all := bufio.NewScanner(conn)
	all.Buffer(nil, maxLine)
	if !all.Scan() || all.Text() != b.token {
		return
	}
	for all.Scan() {
		b.take(inbound{
			message: bytes.Clone(all.Bytes()),
			reply: func(messages ...[]byte) {
				for _, m := range messages {
					_, _ = conn.Write(append(bytes.Clone(m), '\n')) // a gateway that hung up gets nothing
					pause(m)
				}
			},
			drop: func() { _ = conn.Close() },
		})
	}
}

// serveHTTP answers one request of streamable HTTP.
func (b *backend) serveHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/"+b.token+"/mcp" {
		http.NotFound(w, r)
		return
	}
	if r.Method != http.MethodPost {
		http.Error(w, "there is no standing stream", http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxLine))
	if err != nil {
		return
	}
	dropped, answers := false, [][]byte(nil)
	b.take(inbound{message: body, reply: func(m ...[]byte) { answers = m }, drop: func() { dropped = true }})
	switch {
	case dropped:
		panic(http.ErrAbortHandler)
	case len(answers) == 0:
		w.WriteHeader(http.StatusAccepted)
	case len(answers) == 1:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answers[0])
	default:
		w.Header().Set("Content-Type", "text/event-stream")
		for _, m := range answers {
			_, _ = fmt.Fprintf(w, "data: %s\n\n", m)
			_ = http.NewResponseController(w).Flush() // a gateway that hung up gets nothing
			pause(m)
		}
	}
}

// pause waits after a notification, as servers work between progress and their answer: a gateway that hands on both
// without order loses the progress only where the two come at once, and there by chance.
func pause(sent []byte) {
	if _, ok := rawjson.Get(sent, "method"); ok {
		time.Sleep(100 * time.Millisecond)
	}
}

// probe marks calls that belong to no vector.
const probe = `"kit-probe"`

// take answers a message. It counts every message but those of the handshake, the lists and the kit's own probes.
func (b *backend) take(in inbound) {
	id, isRequest := rawjson.Get(in.message, "id")
	respond := func(member, text string) {
		if isRequest {
			in.reply(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"%s":%s}`, id, member, text))
		}
	}
	b.mu.Lock()
	modern, tools, plain := b.modern, string(b.tools), plainResult
	b.mu.Unlock()
	if modern {
		tools, plain = `{"resultType":"complete","ttlMs":0,"cacheScope":"private",`+tools[1:], modernResult
	}
	_, odd := rpc.Parse(in.message)
	method, _ := rawjson.Get(in.message, "method")
	name, _ := rawjson.String(method)
	switch {
	case modern && odd == nil && isRequest && objection(in.message) != "":
		respond("error", objection(in.message))
	case odd != nil || name == "tools/call" && !bytes.Contains(in.message, []byte(probe)):
		b.mu.Lock()
		b.calls = append(b.calls, in.message)
		script := b.script
		b.mu.Unlock()
		if script != nil {
			script(in)
			return
		}
		respond("result", plain)
	case name == "server/discover" && modern:
		respond("result", discovery)
	case name == "initialize":
		respond("result", `{"protocolVersion":"`+revision+`","capabilities":{"tools":{}},"serverInfo":{"name":"kit","version":"1"}}`)
	case name == "tools/list":
		respond("result", tools)
	case name == "tools/call":
		respond("result", plain)
	case name == "tools/resolve":
		respond("result", resolvedResult)
	case name == "ping":
		respond("result", "{}")
	default:
		respond("error", `{"code":-32601,"message":"the kit has tools alone"}`)
	}
}

// speak says whether the server speaks 2026-07-28, from the next connection on.
func (b *backend) speak(modern bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.modern = modern
}

// begin sets the script for the following calls and forgets those before.
func (b *backend) begin(script func(inbound)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.script, b.calls = script, nil
}

// seen returns the calls since begin.
func (b *backend) seen() [][]byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([][]byte{}, b.calls...)
}

func (b *backend) close() {
	_ = b.listener.Close()
	_ = b.http.Close()
	b.hangUp()
	b.work.Wait()
}

// hangUp ends all connections of relays, and the relays with them.
func (b *backend) hangUp() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for conn := range b.conns {
		_ = conn.Close()
	}
}
