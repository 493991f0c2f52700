package kit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weir-mcp/weir/internal/rawjson"
)

// A Gateway is how to start a gateway, with the kit's server behind it.
type Gateway struct {
	// Program is the command of the gateway. In its words {server} stands for a program without arguments that is
	// the server on standard input and output, {url} for the server over streamable HTTP, and {config} for a file
	// with the server in the form of mcpServers.
	Program
	URL     string        // where the gateway serves streamable HTTP; "" for standard input and output
	Relay   []string      // a command that calls Relay with two arguments more
	Timeout time.Duration // for each answer
	Start   time.Duration // for the start
}

const (
	plainResult    = `{"content":[{"type":"text","text":"kit"}]}`
	plainTool      = "kit_call"
	resolvableTool = "kit_resolve"
	resolvedResult = `{"tool":{"name":"` + resolvableTool + `","annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,` +
		`"openWorldHint":false,"returnMetadata":{"source":"internal","sensitivity":"financial"}}}}`
)

// maxSilent is the number of calls in a row without an answer after which no further one is made.
const maxSilent = 4

// A host is the kit's client of a gateway that runs.
type host struct {
	gateway Gateway
	words   []string // the command, with its placeholders filled in
	back    *backend
	dir     string

	wire   wire
	id     int
	rename func(tool string) string // the name of a tool of the server at the gateway
	tools  map[string][]byte        // definitions by the gateway's names
	silent int                      // calls in a row without an answer
	sent   bool                     // something other than the handshake and the lists, since the start
}

// open starts the kit's server and the gateway.
func (g Gateway) open(ctx context.Context, tools []byte) (*host, error) {
	if !slices.ContainsFunc(g.Command, hasPlaceholder) {
		return nil, errors.New("no word of the command has {server}, {url} or {config}, so there is no server behind the gateway")
	}
	dir, err := os.MkdirTemp("", "weir-kit-")
	if err != nil {
		return nil, err
	}
	h := &host{gateway: g, dir: dir}
	if h.back, err = newBackend(tools); err != nil {
		h.close()
		return nil, err
	}
	server, config, err := h.back.install(dir, g.Relay)
	if err != nil {
		h.close()
		return nil, err
	}
	fill := strings.NewReplacer("{server}", server, "{url}", h.back.url(), "{config}", config)
	for _, word := range g.Command {
		h.words = append(h.words, fill.Replace(word))
	}
	if err := h.restart(ctx); err != nil {
		h.close()
		return nil, err
	}
	return h, nil
}

func hasPlaceholder(word string) bool {
	return strings.Contains(word, "{server}") || strings.Contains(word, "{url}") || strings.Contains(word, "{config}")
}

func (h *host) close() {
	if h.wire != nil {
		h.wire.close()
	}
	if h.back != nil {
		h.back.close()
	}
	_ = os.RemoveAll(h.dir)
}

// restart ends the gateway, if it runs, and starts it.
func (h *host) restart(ctx context.Context) error {
	if h.wire != nil {
		h.back.hangUp()
		h.wire.close()
		h.wire = nil
	}
	h.back.begin(nil)
	h.rename, h.sent = nil, false
	ctx, cancel := context.WithTimeout(ctx, h.gateway.Start)
	defer cancel()
	p := h.gateway.Program
	p.Command = h.words
	started, err := p.start()
	if err != nil {
		return err
	}
	h.wire = started
	if h.gateway.URL != "" {
		served := newEndpoint(h.gateway.URL)
		h.wire = pair{served, started}
		if err := served.reachable(ctx); err != nil {
			return err
		}
	}
	return h.shake(ctx)
}

// shake makes the handshake and reads the list of tools.
func (h *host) shake(ctx context.Context) error {
	hello := `{"protocolVersion":"` + revision + `","capabilities":{},"clientInfo":{"name":"weir-conformance","version":"1"}}`
	if _, err := h.ask(ctx, "initialize", hello, "protocolVersion"); err != nil {
		return err
	}
	if err := h.wire.send(ctx, []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)); err != nil {
		return err
	}
	for {
		if err := h.list(ctx); err != nil {
			return err
		}
		for name := range h.tools {
			if before, after, ok := strings.Cut(name, plainTool); ok {
				h.rename = func(tool string) string { return before + tool + after }
				return nil
			}
		}
		// Gateways that start their servers in the background have an empty list at first.
		select {
		case <-ctx.Done():
			return fmt.Errorf("tools/list of the gateway has %d tools, and none with %s in its name", len(h.tools), plainTool)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (h *host) list(ctx context.Context) error {
	h.tools = map[string][]byte{}
	params := "{}"
	for range 50 {
		result, err := h.ask(ctx, "tools/list", params, "tools")
		if err != nil {
			return err
		}
		tools, _ := rawjson.Get(result, "tools")
		for tool := range rawjson.Elements(tools) {
			raw, _ := rawjson.Get(tool, "name")
			name, _ := rawjson.String(raw)
			h.tools[name] = bytes.Clone(tool)
		}
		cursor, more := rawjson.Get(result, "nextCursor")
		if !more || rawjson.Kind(cursor) != '"' {
			return nil
		}
		params = `{"cursor":` + string(cursor) + `}`
	}
	return errors.New("tools/list of the gateway has more than 50 pages")
}

// ask makes a request and returns its result, which has the member.
func (h *host) ask(ctx context.Context, method, params, member string) ([]byte, error) {
	id := h.newID()
	o := h.exchange(ctx, id, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":"%s","params":%s}`, id, method, params), false)
	result, ok := rawjson.Get(o.answer, "result")
	if _, has := rawjson.Get(result, member); !ok || !has {
		return nil, fmt.Errorf("%s has no result with %s: %s", method, member, o.tells())
	}
	return result, nil
}

func (h *host) newID() string {
	h.id++
	return strconv.Itoa(1000 + h.id)
}

// An observation is the host's side of one exchange.
type observation struct {
	answer []byte   // the first one
	extra  int      // further ones to the same request
	other  [][]byte // everything else that came
	err    error    // there is no answer, or the gateway ended
}

// tells returns the answer, or why there is none.
func (o *observation) tells() string {
	if o.answer == nil && o.err != nil {
		return "no answer: " + o.err.Error()
	}
	return fmt.Sprintf("%.*s", maxQuote, o.answer)
}

// withheld reports whether the host got something else in the place of a result.
func (o *observation) withheld() bool {
	_, refused := rawjson.Get(o.answer, "error")
	failed, _ := rawjson.Get(o.answer, "result", "isError")
	return refused || string(failed) == "true"
}

// exchange sends a message and waits for the answer to it. If settled, it waits for the answers to two plain calls
// after it, so that all that follows from the message has happened, and takes a missing answer for no fault.
func (h *host) exchange(ctx context.Context, id string, message []byte, settled bool) (o observation) {
	if h.rename != nil {
		h.sent = true
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, h.gateway.Timeout)
		defer cancel()
	}
	if o.err = h.wire.send(ctx, message); o.err != nil {
		return o
	}
	if !settled {
		o.err = h.until(ctx, id, id, &o)
		return o
	}
	for range 2 {
		probing := h.newID()
		call := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%s,"arguments":{%s:1}}}`,
			probing, rawjson.Quote(h.rename(plainTool)), probe)
		if o.err = h.wire.send(ctx, []byte(call)); o.err == nil {
			o.err = h.until(ctx, id, probing, &o)
		}
		if o.err != nil {
			break
		}
	}
	return o
}

// until collects messages until the answer to the request last comes.
func (h *host) until(ctx context.Context, id, last string, o *observation) error {
	for {
		line, err := h.wire.next(ctx)
		if err != nil {
			return err
		}
		got, _ := rawjson.Get(line, "id")
		_, asks := rawjson.Get(line, "method")
		switch {
		case asks && got != nil:
			refusal := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"the kit answers nothing"}}`, got)
			if err := h.wire.send(ctx, refusal); err != nil {
				return err
			}
		case !asks && string(got) == id && o.answer == nil:
			o.answer = line
		case !asks && string(got) == id:
			o.extra++
		default:
			o.other = append(o.other, line)
		}
		if !asks && string(got) == last {
			return nil
		}
	}
}
