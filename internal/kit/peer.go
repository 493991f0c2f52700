package kit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/weir-mcp/weir/internal/rawjson"
)

// A peer is an implementation that runs, with the kit as its client.
type peer struct {
	wire    wire
	id      int
	timeout time.Duration     // for each answer; 0 until the handshake is done
	probe   func() string     // method and params of a plain request
	tools   map[string][]byte // definitions by name
	modern  bool              // it is spoken to in 2026-07-28
	asked   int               // requests of the peer
}

// agree agrees on a revision: by the handshake, or by the discovery of 2026-07-28.
func (p *peer) agree(ctx context.Context) error {
	if !p.modern {
		return p.shake(ctx)
	}
	result, err := p.ask(ctx, "server/discover", "{}", "supportedVersions")
	if err != nil {
		return err
	}
	offered, _ := rawjson.Get(result, "supportedVersions")
	for version := range rawjson.Elements(offered) {
		if s, _ := rawjson.String(version); s == modernRevision {
			return nil
		}
	}
	return fmt.Errorf("it offers %.*s", maxQuote, offered)
}

// dress returns the params of a request as the revision has them.
func (p *peer) dress(params []byte) []byte {
	if !p.modern {
		return params
	}
	for name, value := range rawjson.Members([]byte("{" + introduction + "}")) {
		if _, ok := rawjson.Get(params, "_meta", name); ok {
			continue
		}
		if more, err := rawjson.Set(params, value, "_meta", name); err == nil {
			params = more
		}
	}
	return params
}

// shake makes the handshake.
func (p *peer) shake(ctx context.Context) error {
	hello := `{"protocolVersion":"` + revision + `","capabilities":{},"clientInfo":{"name":"weir-conformance","version":"1"}}`
	if _, err := p.ask(ctx, "initialize", hello, "protocolVersion"); err != nil {
		return err
	}
	return p.wire.send(ctx, []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
}

// connect starts a program, and waits for the endpoint that it serves, if one is named.
func connect(ctx context.Context, p Program, url string) (wire, error) {
	var started *running
	if len(p.Command) > 0 {
		var err error
		if started, err = p.start(); err != nil {
			return nil, err
		}
	}
	if url == "" {
		return started, nil
	}
	served := newEndpoint(url)
	if err := served.reachable(ctx); err != nil {
		pair{served, started}.close()
		return nil, err
	}
	return pair{served, started}, nil
}

func (p *peer) list(ctx context.Context) error {
	p.tools = map[string][]byte{}
	params := "{}"
	for range 50 {
		result, err := p.ask(ctx, "tools/list", params, "tools")
		if err != nil {
			return err
		}
		tools, _ := rawjson.Get(result, "tools")
		for tool := range rawjson.Elements(tools) {
			raw, _ := rawjson.Get(tool, "name")
			name, _ := rawjson.String(raw)
			p.tools[name] = bytes.Clone(tool)
		}
		cursor, more := rawjson.Get(result, "nextCursor")
		if !more || rawjson.Kind(cursor) != '"' {
			return nil
		}
		params = `{"cursor":` + string(cursor) + `}`
	}
	return errors.New("tools/list has more than 50 pages")
}

// ask makes a request and returns its result, which has the member.
func (p *peer) ask(ctx context.Context, method, params, member string) ([]byte, error) {
	id := p.newID()
	o := p.exchange(ctx, id, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":"%s","params":%s}`, id, method, p.dress([]byte(params))), false)
	result, ok := rawjson.Get(o.answer, "result")
	if _, has := rawjson.Get(result, member); !ok || !has {
		return nil, fmt.Errorf("%s has no result with %s: %s", method, member, o.tells())
	}
	return result, nil
}

func (p *peer) newID() string {
	p.id++
	return strconv.Itoa(1000 + p.id)
}

// An observation is the host's side of one exchange.
type observation struct {
	answer []byte   // the first one
	extra  int      // further ones to the same request
	other  [][]byte // everything else that came
	size   int      // of the rest, in bytes
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
func (p *peer) exchange(ctx context.Context, id string, message []byte, settled bool) (o observation) {
	if p.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, p.timeout)
		defer cancel()
	}
	if o.err = p.wire.send(ctx, message); o.err != nil {
		return o
	}
	if !settled {
		o.err = p.until(ctx, id, id, &o)
		return o
	}
	for range 2 {
		probing := p.newID()
		call := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, probing, p.probe())
		if o.err = p.wire.send(ctx, []byte(call)); o.err == nil {
			o.err = p.until(ctx, id, probing, &o)
		}
		if o.err != nil {
			break
		}
	}
	return o
}

// settling is how much longer an answer is waited for that did not come before those to later requests.
const settling = 2 * time.Second

// await waits for an answer that has not come yet.
func (p *peer) await(ctx context.Context, id string, o *observation) {
	if o.answer != nil || o.err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, settling)
	defer cancel()
	_ = p.until(ctx, id, id, o) // there may be none, which is no fault of the connection
}

// maxRest bounds the messages beside an answer, in bytes.
const maxRest = 32 << 20

// until collects messages until the answer to the request last comes.
func (p *peer) until(ctx context.Context, id, last string, o *observation) error {
	for {
		line, err := p.wire.next(ctx)
		if err != nil {
			return err
		}
		got, _ := rawjson.Get(line, "id")
		_, asks := rawjson.Get(line, "method")
		switch {
		case asks && got != nil:
			p.asked++
			refusal := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"the kit answers nothing"}}`, got)
			if err := p.wire.send(ctx, refusal); err != nil {
				return err
			}
		case !asks && string(got) == id && o.answer == nil:
			o.answer = line
		case !asks && string(got) == id:
			o.extra++
		default:
			o.other = append(o.other, line)
			if o.size += len(line); o.size > maxRest {
				return fmt.Errorf("it sends more than %d bytes that answer nothing", maxRest)
			}
		}
		if !asks && string(got) == last {
			return nil
		}
	}
}
