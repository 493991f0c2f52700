package kit

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/weir-mcp/weir/conformance"
	"github.com/weir-mcp/weir/internal/rawjson"
)

const (
	modernSpec = "MCP 2026-07-28, "
	roundTrips = modernSpec + "Multi Round-Trip Requests"
)

// The checks of servers in 2026-07-28 that are no single message.
var modernChecks = struct{ discover, first, requests, calls, input, undeclared, retry, state, listen Check }{
	Check{"stateless.discover", Must, modernSpec + "server/discover", "the discovery names the revision and the capabilities"},
	Check{"stateless.first", Must, modernSpec + "Changelog; SEP-2575", "the first request of a connection is answered"},
	Check{"stateless.requests", Must, roundTrips, "the server makes no requests of its own"},
	Check{"stateless.calls", Must, modernSpec + "Schema, Result", "the result of a call says whether it is complete or requires input"},
	Check{"stateless.input", Must, roundTrips, "a result that requires input has requests of known methods, or a state"},
	Check{"stateless.undeclared", Must, roundTrips, "a client is asked for nothing of which its request declares no capability"},
	Check{"stateless.retry", Must, roundTrips, "the same call is answered when it comes with inputResponses"},
	Check{"stateless.state", Should, roundTrips + ", requestState", "a call with a requestState that the server has not made is not carried out"},
	Check{"stateless.listen", Must, modernSpec + "Subscriptions", "subscriptions/listen is acknowledged before anything else"},
}

// stateless runs the checks of 2026-07-28, if the server speaks it.
func (c *client) stateless(ctx context.Context) error {
	probes, err := conformance.StatelessProbes()
	if err != nil {
		return err
	}
	k := modernChecks
	all := []Check{k.discover, k.first, k.requests, k.calls, k.input, k.undeclared, k.retry, k.state, k.listen}
	for _, p := range probes {
		all = append(all, checkOf(p))
	}
	for _, one := range all {
		c.tally.absent(one, "the server does not speak "+modernRevision)
	}
	c.modern, c.asked = true, 0
	if c.restart(ctx) != nil {
		return ctx.Err()
	}
	result, err := c.ask(ctx, "server/discover", "{}", "capabilities")
	c.tally.count(k.discover, "server/discover", explain(err))
	forgotten := c.reopen(ctx, c.list)
	c.tally.count(k.first, "tools/list", explain(forgotten))
	if forgotten != nil && c.restart(ctx) != nil {
		return ctx.Err()
	}
	for _, p := range probes {
		c.tally.count(checkOf(p), p.ID, c.play(ctx, p))
	}
	c.tally.absent(k.calls, "no tool may be called")
	for _, one := range []Check{k.input, k.undeclared, k.retry, k.state} {
		c.tally.absent(one, "no tool that may be called asks for input")
	}
	for _, call := range c.server.Calls {
		c.once(ctx, call)
	}
	for _, call := range c.server.Asks {
		c.rounds(ctx, call)
	}
	c.listens(ctx, result)
	problem := ""
	if c.asked > 0 {
		problem = fmt.Sprintf("it makes %d requests", c.asked)
	}
	c.tally.count(k.requests, "all requests", problem)
	return ctx.Err()
}

func explain(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// able is what a request says of a client that answers every kind of request.
const able = `{"` + metaAbility + `":{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}}}`

// replies are its answers.
var replies = map[string]string{
	"elicitation/create":     `{"action":"decline"}`,
	"sampling/createMessage": `{"role":"assistant","content":{"type":"text","text":"kit"},"model":"kit","stopReason":"endTurn"}`,
	"roots/list":             `{"roots":[]}`,
}

// once makes a call as a client that answers every kind of request.
func (c *client) once(ctx context.Context, call Call) (result []byte) {
	o := c.request(ctx, call, able)
	result, ok := rawjson.Get(o.answer, "result")
	kind, _ := rawjson.Get(result, "resultType")
	problem := ""
	if !ok || string(kind) != `"complete"` && string(kind) != `"input_required"` {
		problem = o.tells()
	}
	c.tally.count(modernChecks.calls, call.Tool, problem)
	return result
}

// rounds makes a call of a tool that asks its client, brings the answers, and makes the call as a client that answers
// nothing.
func (c *client) rounds(ctx context.Context, call Call) {
	k := modernChecks
	result := c.once(ctx, call)
	responses, problem := answersTo(result)
	c.tally.count(k.input, call.Tool, problem)
	if problem != "" {
		return
	}
	unable := c.request(ctx, call, saysNothing)
	if left, _ := rawjson.Get(unable.answer, "result", "inputRequests"); left != nil && string(rawjson.Canonical(left)) != "{}" {
		problem = unable.tells()
	}
	c.tally.count(k.undeclared, call.Tool, problem)
	state, sealed := rawjson.Get(result, "requestState")
	c.forge(ctx, call, responses, sealed)
	problem = ""
	if o := c.answering(ctx, call, responses, state); !isResult(&o) {
		problem = o.tells()
	}
	c.tally.count(k.retry, call.Tool, problem)
}

// forge brings the answers with a state that the server has not made, if it makes any.
func (c *client) forge(ctx context.Context, call Call, responses []byte, sealed bool) {
	if !sealed {
		c.tally.absent(modernChecks.state, "no result has a requestState")
		return
	}
	o := c.answering(ctx, call, responses, rawjson.Quote("kit"))
	kind, _ := rawjson.Get(o.answer, "result", "resultType")
	problem := ""
	if o.answer == nil || string(kind) == `"complete"` && !o.withheld() {
		problem = o.tells()
	}
	c.tally.count(modernChecks.state, call.Tool, problem)
}

func isResult(o *observation) bool {
	_, ok := rawjson.Get(o.answer, "result", "resultType")
	return ok
}

// answersTo returns answers to the questions of a result, and a problem if it has none.
func answersTo(result []byte) (responses json.RawMessage, problem string) {
	kind, _ := rawjson.Get(result, "resultType")
	asks, asked := rawjson.Get(result, "inputRequests")
	state, sealed := rawjson.Get(result, "requestState")
	if string(kind) != `"input_required"` || !asked && !sealed || asked && rawjson.Kind(asks) != '{' || sealed && rawjson.Kind(state) != '"' {
		return nil, fmt.Sprintf("it does not ask: %.*s", maxQuote, result)
	}
	responses = json.RawMessage(`{}`)
	for name, question := range rawjson.Members(asks) {
		method, _ := rawjson.Get(question, "method")
		s, _ := rawjson.String(method)
		if replies[s] == "" {
			return nil, fmt.Sprintf("%.*s is no request of a server", maxQuote, question)
		}
		more, err := rawjson.Set(responses, []byte(replies[s]), name)
		if err != nil {
			return nil, err.Error()
		}
		responses = more
	}
	return responses, ""
}

// answering makes the call again, with answers.
func (c *client) answering(ctx context.Context, call Call, responses, state []byte) observation {
	params := fmt.Appendf(nil, `{"name":%s,"arguments":%s,"inputResponses":%s,"_meta":%s`, rawjson.Quote(call.Tool), call.Arguments, responses, able)
	if state != nil {
		params = fmt.Appendf(params, `,"requestState":%s`, state)
	}
	id := c.newID()
	params = c.dress(append(params, '}'))
	return c.exchange(ctx, id, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":%s}`, id, params), false)
}

// listens listens for changes of the list of tools, if the server announces them.
func (c *client) listens(ctx context.Context, discovery []byte) {
	k := modernChecks
	if offered, _ := rawjson.Get(discovery, "capabilities", "tools", "listChanged"); string(offered) != "true" {
		c.tally.absent(k.listen, "the server announces no changes of its tools")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, c.server.Timeout)
	defer cancel()
	id := c.newID()
	params := c.dress([]byte(`{"notifications":{"toolsListChanged":true}}`))
	err := c.wire.send(ctx, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":"subscriptions/listen","params":%s}`, id, params))
	var line []byte
	if err == nil {
		line, err = c.wire.next(ctx)
	}
	problem := explain(err)
	if method, _ := rawjson.Get(line, "method"); err == nil && string(method) != `"notifications/subscriptions/acknowledged"` {
		problem = fmt.Sprintf("%.*s", maxQuote, line)
	}
	c.tally.count(k.listen, "subscriptions/listen", problem)
}
