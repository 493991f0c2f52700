package kit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/conformance"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/label"
)

// Check runs all checks of gateways. The error is that of starting it.
func (g Gateway) Check(ctx context.Context) (Report, error) {
	all, err := hops()
	if err != nil {
		return Report{}, err
	}
	exchanges, err := conformance.Exchanges()
	if err != nil {
		return Report{}, err
	}
	messages, err := conformance.Messages()
	if err != nil {
		return Report{}, err
	}
	h, err := g.open(ctx, toolList(all))
	if err != nil {
		return Report{}, err
	}
	defer h.close()
	t := newTally()
	// A gateway that remembers what its host has read may act on it: exchanges that mean nothing go first, and each
	// group begins with a gateway that remembers nothing.
	for _, group := range []func(){
		func() {
			for _, e := range exchanges {
				problem := h.again(ctx, func() string { return h.through(ctx, e) })
				t.count(Check{e.ID, Level(e.Level), e.Section, e.Summary}, e.ID, problem)
			}
		},
		func() {
			for _, m := range messages {
				h.reading(ctx, t, m)
			}
		},
		func() { h.propagation(ctx, t) },
		func() { h.resolution(ctx, t) },
		func() { h.passAll(ctx, t, all, "tool") },
		func() { h.passAll(ctx, t, all, "request") },
		func() { h.passAll(ctx, t, all, "result") },
	} {
		h.fresh(ctx)
		group()
	}
	if err := (modernHost{h, t}).check(ctx); err != nil {
		return Report{}, err
	}
	return t.report("gateway"), ctx.Err()
}

// fresh starts the gateway anew, unless nothing was sent since its start.
func (h *host) fresh(ctx context.Context) {
	if h.id != h.start && h.restart(ctx) != nil {
		h.silent = maxSilent
	}
}

// again returns the problem of an attempt. One that fails is made once more with a gateway that remembers nothing:
// it may have acted on an exchange before.
func (h *host) again(ctx context.Context, attempt func() string) string {
	problem := attempt()
	if problem != "" && h.silent < maxSilent {
		h.fresh(ctx)
		problem = attempt()
	}
	return problem
}

func (h *host) passAll(ctx context.Context, t *tally, all []hop, place string) {
	for _, p := range all {
		if p.place == place {
			t.count(p.Check, p.vector, h.pass(ctx, p))
		}
	}
}

// ready has the gateway run. It is started anew after it has ended or left several calls without an answer.
func (h *host) ready(ctx context.Context, o *observation) {
	if o.answer != nil || o.err == nil {
		h.silent = 0
		return
	}
	if h.silent++; h.silent < maxSilent {
		if err := h.restart(ctx); err != nil {
			h.silent = maxSilent
		}
	}
}

var errSilent = errors.New("not tried: the calls before it had no answer")

// call sends the params of a tools/call while the server answers by the script.
func (h *host) call(ctx context.Context, params []byte, script func(inbound)) (o observation) {
	if h.silent >= maxSilent {
		o.err = errSilent
		return o
	}
	h.back.begin(script)
	id := h.newID()
	o = h.exchange(ctx, id, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":%s}`, id, h.dress(params)), false)
	h.ready(ctx, &o)
	return o
}

// answering returns a script that answers with a result.
func answering(result []byte) func(inbound) {
	return func(in inbound) {
		id, _ := rawjson.Get(in.message, "id")
		in.reply(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result))
	}
}

// pass sends a document through the gateway, and returns what is wrong with the outcome.
func (h *host) pass(ctx context.Context, p hop) string {
	switch p.place {
	case "tool":
		tool, ok := h.tools[h.rename(p.name)]
		if !ok {
			return "the gateway does not list the tool"
		}
		return p.survives(tool)
	case "result":
		o := h.call(ctx, h.plainCall(), answering(p.document))
		claim, _ := annotation.ReadResult(p.document)
		if claim.Label.Malicious && o.withheld() {
			return ""
		}
		if result, ok := rawjson.Get(o.answer, "result"); ok {
			return p.survives(result)
		}
		return o.tells()
	default:
		params, err := rawjson.Set(p.document, rawjson.Quote(h.rename(plainTool)), "name")
		if err != nil {
			return err.Error()
		}
		o := h.call(ctx, params, nil)
		calls := h.back.seen()
		if len(calls) == 0 {
			return "the call does not reach the server: " + o.tells()
		}
		got, _ := rawjson.Get(calls[0], "params")
		return p.survives(got)
	}
}

func (h *host) plainCall() []byte {
	return fmt.Appendf(nil, `{"name":%s,"arguments":{}}`, rawjson.Quote(h.rename(plainTool)))
}

// propagation checks the rules for clients on gateways that are such: those that annotate requests by themselves.
func (h *host) propagation(ctx context.Context, t *tally) {
	const section = "SEP-1913, Propagation Rules"
	union := Check{"propagation.open-world", Must, section + ", rule 1: boolean union",
		"requests after an open-world result say so, also after a closed one"}
	origins := Check{"propagation.attribution", Should, section + ", rule 2: attribution union",
		"requests name the origins of all results before them"}
	const a, b = "https://kit.example/a", "https://kit.example/b"
	for _, annotations := range []string{
		`{"openWorldHint":true,"attribution":["` + a + `"]}`, `{"openWorldHint":false,"attribution":["` + b + `"]}`,
	} {
		h.call(ctx, h.plainCall(), answering([]byte(`{"content":[],"_meta":{"annotations":`+annotations+`}}`)))
	}
	o := h.call(ctx, h.plainCall(), nil)
	calls := h.back.seen()
	if len(calls) == 0 {
		t.count(union, union.ID, "the call does not reach the server: "+o.tells())
		return
	}
	params, _ := rawjson.Get(calls[0], "params")
	if _, ok := rawjson.Get(params, "_meta", "annotations"); !ok {
		const because = "the gateway does not annotate requests; its hosts have to"
		t.absent(union, because)
		t.absent(origins, because)
		return
	}
	seen, _ := annotation.ReadRequest(params)
	problem := ""
	if !seen.Untrusted {
		problem = fmt.Sprintf("the request says %.*s", maxQuote, params)
	}
	t.count(union, union.ID, problem)
	if seen.Attribution.IsZero() {
		t.absent(origins, "the gateway does not name origins in requests")
		return
	}
	missing := label.SetOf(a, b).Without(seen.Attribution)
	if problem = ""; !missing.IsZero() {
		problem = "the request does not name " + missing.String()
	}
	t.count(origins, origins.ID, problem)
}

// resolution checks tools/resolve of gateways that answer it.
func (h *host) resolution(ctx context.Context, t *tally) {
	c := Check{"resolve.answer", Must, "SEP-1913, Integration with Tool Resolution; SEP-1862",
		"a resolution through the gateway names the tool and says no less than the server's"}
	id := h.newID()
	name := h.rename(resolvableTool)
	o := h.exchange(ctx, id, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":"tools/resolve","params":{"name":%s,"arguments":{}}}`,
		id, rawjson.Quote(name)), false)
	h.ready(ctx, &o)
	result, ok := rawjson.Get(o.answer, "result")
	if !ok {
		t.absent(c, "the gateway does not resolve tools")
		return
	}
	before, _ := annotation.ReadResolved([]byte(resolvedResult))
	after, _ := annotation.ReadResolved(result)
	problem := ""
	got, ok := rawjson.Get(result, "tool", "name")
	if !ok {
		got, _ = rawjson.Get(result, "name")
	}
	if named, _ := rawjson.String(got); named != name || !worse(before, after) {
		problem = unequal(resolvedResult, string(result))
	}
	t.count(c, c.ID, problem)
}

// reading sends a message that two decoders may read differently, or one that they do not, as a request or as an
// answer.
func (h *host) reading(ctx context.Context, t *tally, m conformance.Message) {
	message := []byte(m.Message)
	id, _ := rawjson.Get(message, "id")
	method, _ := rawjson.Get(message, "method")
	_, answers := rawjson.Get(message, "result")
	_, fails := rawjson.Get(message, "error")
	if h.silent >= maxSilent || string(id) != "1" || !answers && !fails && string(method) != `"tools/call"` {
		return // about an envelope that no gateway forwards
	}
	content, _ := rawjson.Get(message, "result", "content")
	if m.Valid && answers && rawjson.Kind(content) != '[' {
		return // no result of a call: gateways may refuse it for that
	}
	side, play := "request", h.playRequest
	if answers || fails {
		side, play = "result", h.playResult
	}
	c := Check{"reading." + side, Should, "JSON-RPC 2.0, 3 Conventions; RFC 8259, 4 Objects",
		"a " + side + " that decoders read differently is refused, or passes in one reading"}
	if m.Valid {
		c.ID, c.Level, c.Summary = "reading.plain", Must, "messages with one reading pass"
	}
	t.count(c, m.Name, h.again(ctx, func() string {
		o, arrived := play(ctx, m)
		h.ready(ctx, &o)
		for _, line := range arrived {
			if _, err := rpc.Parse(line); err != nil {
				return fmt.Sprintf("what arrives has two readings (%.*s): %.*s", maxQuote, err, maxQuote, line)
			}
		}
		if m.Valid && (o.answer == nil || len(arrived) == 0 || bytes.Contains(o.answer, []byte(badAnswer))) {
			return "it does not pass: " + o.tells()
		}
		return ""
	}))
}

// badAnswer is the text of the error that follows a bad answer, so that a gateway that drops that has one to hand on.
const badAnswer = "kit: the answer before was bad"

// playRequest sends a message as the host, and returns the messages that reach the server.
func (h *host) playRequest(ctx context.Context, m conformance.Message) (o observation, arrived [][]byte) {
	id := h.newID()
	message := strings.Replace(m.Message, `"id":1`, `"id":`+id, 1)
	message = strings.ReplaceAll(message, `"name":"look"`, `"name":`+string(rawjson.Quote(h.rename(plainTool))))
	h.back.begin(answering([]byte(plainResult)))
	o = h.exchange(ctx, id, []byte(message), !m.Valid)
	return o, h.back.seen()
}

// playResult sends a message as the server, and returns the messages that reach the host.
func (h *host) playResult(ctx context.Context, m conformance.Message) (o observation, arrived [][]byte) {
	h.back.begin(func(in inbound) {
		id, _ := rawjson.Get(in.message, "id")
		sent := strings.Replace(m.Message, `"id":1`, `"id":`+string(id), 1)
		in.reply([]byte(sent), fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"%s"}}`, id, badAnswer))
	})
	id := h.newID()
	o = h.exchange(ctx, id, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":%s}`, id, h.plainCall()), false)
	if arrived = o.other; o.answer != nil {
		arrived = append(arrived, o.answer)
	}
	return o, arrived
}
