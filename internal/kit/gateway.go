package kit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
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

	peer
	rename func(tool string) string // the name of a tool of the server at the gateway
	silent int                      // calls in a row without an answer
	start  int                      // the id of the last request of the handshake
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
	h.timeout = 0
	defer func() { h.timeout = h.gateway.Timeout }()
	ctx, cancel := context.WithTimeout(ctx, h.gateway.Start)
	defer cancel()
	p := h.gateway.Program
	p.Command = h.words
	var err error
	if h.wire, err = connect(ctx, p, h.gateway.URL); err != nil {
		h.wire = nil
		return err
	}
	if err := h.greet(ctx); err != nil {
		return err
	}
	h.start = h.id
	return nil
}

// greet agrees on a revision and reads the list of tools.
func (h *host) greet(ctx context.Context) error {
	if err := h.agree(ctx); err != nil {
		return err
	}
	for {
		if err := h.list(ctx); err != nil {
			return err
		}
		for name := range h.tools {
			if before, after, ok := strings.Cut(name, plainTool); ok {
				h.rename = func(tool string) string { return before + tool + after }
				h.probe = func() string {
					params := fmt.Appendf(nil, `{"name":%s,"arguments":{%s:1}}`, rawjson.Quote(h.rename(plainTool)), probe)
					return fmt.Sprintf(`"method":"tools/call","params":%s`, h.dress(params))
				}
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
