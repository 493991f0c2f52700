package kit

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/conformance"
	"github.com/weir-mcp/weir/internal/rawjson"
)

// The kit's server in 2026-07-28.
const (
	modernResult = `{"resultType":"complete","content":[{"type":"text","text":"kit"}]}`
	discovery    = `{"resultType":"complete","ttlMs":0,"cacheScope":"private","supportedVersions":["` + modernRevision + `"],` +
		`"capabilities":{"tools":{}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"kit","version":"1"}}}`
	kitMessage  = "May the kit go on?"
	kitState    = `"kit-state"`
	kitQuestion = `{"resultType":"input_required","requestState":` + kitState + `,"inputRequests":{"kit":{"method":"elicitation/create",` +
		`"params":{"mode":"form","message":"` + kitMessage + `","requestedSchema":{"type":"object","properties":{}}}}}}`
	kitReply = `{"kit":{"action":"accept","content":{}}}`
)

// The checks of gateways in 2026-07-28 that are no single message.
var passages = struct{ discover, metadata, result, older, input, retry, undeclared Check }{
	Check{"stateless.discover", Must, modernSpec + "server/discover", "the gateway answers the discovery and lists the tools of its server"},
	Check{"stateless.request", Must, modernSpec + "Basic, Request Metadata", "requests to a server say revision, client and capabilities"},
	Check{"stateless.result", Must, modernSpec + "Schema, Result", "the members of a result reach the host, its type with them"},
	Check{"stateless.older", Must, modernSpec + "Schema, Result", "the result of a server with a handshake reaches the host with a type"},
	Check{"stateless.input", Must, roundTrips, "the questions of a server reach a host that answers such"},
	Check{"stateless.retry", Must, roundTrips, "the answers, and the state as the server made it, reach the server"},
	Check{"stateless.undeclared", Should, roundTrips, "a host is asked for nothing of which its request declares no capability"},
}

// objection returns the error with which the kit's server refuses a request that does not say who makes it; "" if it
// does.
func objection(message []byte) string {
	revision, _ := rawjson.Get(message, "params", "_meta", metaRevision)
	able, _ := rawjson.Get(message, "params", "_meta", metaAbility)
	switch {
	case rawjson.Kind(able) != '{':
		return `{"code":-32602,"message":"the request has no capabilities of its client"}`
	case string(revision) != `"`+modernRevision+`"`:
		return `{"code":-32022,"message":"unknown revision","data":{"supported":["` + modernRevision + `"]}}`
	}
	return ""
}

// ownProbes are the messages to servers that gateways answer by themselves, or hand on.
var ownProbes = []string{"stateless.type", "stateless.caching", "stateless.metadata", "stateless.version", "stateless.meta"}

// A modernHost is the kit's client of a gateway in 2026-07-28.
type modernHost struct {
	*host
	*tally
}

// check runs the checks, if the gateway speaks the revision: with a server that does, and with an older one.
func (h modernHost) check(ctx context.Context) error {
	probes, err := conformance.StatelessProbes()
	if err != nil {
		return err
	}
	probes = slices.DeleteFunc(probes, func(p conformance.Probe) bool { return !slices.Contains(ownProbes, p.ID) })
	k := passages
	for _, one := range []Check{k.discover, k.metadata, k.result, k.older, k.input, k.retry, k.undeclared} {
		h.absent(one, "the gateway does not speak "+modernRevision)
	}
	for _, p := range probes {
		h.absent(checkOf(p), "the gateway does not speak "+modernRevision)
	}
	h.gateway.Start = min(h.gateway.Start, modernStarts*h.gateway.Timeout) // it has been started before
	h.modern, h.silent = true, 0
	h.back.speak(true)
	if h.restart(ctx) != nil {
		return ctx.Err()
	}
	h.count(k.discover, "server/discover", "")
	for _, p := range probes {
		if h.silent >= maxSilent {
			h.count(checkOf(p), p.ID, errSilent.Error())
			continue
		}
		problem, ends := h.holds(ctx, p)
		if ends != nil && h.restart(ctx) != nil {
			h.silent = maxSilent
		}
		h.count(checkOf(p), p.ID, problem+explain(ends))
	}
	h.passage(ctx)
	h.questions(ctx)
	h.back.speak(false)
	if h.restart(ctx) != nil {
		h.absent(k.older, "the gateway speaks "+modernRevision+" with servers that do")
		return ctx.Err()
	}
	h.older(ctx)
	return ctx.Err()
}

// modernStarts is how many timeouts a gateway may take to start in 2026-07-28.
const modernStarts = 4

// older makes a call to a server with a handshake.
func (h modernHost) older(ctx context.Context) {
	o := h.call(ctx, h.plainCall(), nil)
	problem := ""
	if kind, _ := rawjson.Get(o.answer, "result", "resultType"); string(kind) != `"complete"` {
		problem = o.tells()
	}
	h.count(passages.older, "tools/call", problem)
}

// passage makes a call to a server that speaks the revision.
func (h modernHost) passage(ctx context.Context) {
	const sent = `{"resultType":"complete","content":[{"type":"text","text":"kit"}],"_meta":{"com.example/kit":[1]},"com.example/kit":{"a":1}}`
	o := h.call(ctx, h.plainCall(), answering([]byte(sent)))
	result, _ := rawjson.Get(o.answer, "result")
	members := []string{"/resultType", "/content", "/_meta/com.example~1kit", "/com.example~1kit"}
	h.count(passages.result, "tools/call", kept(members, []byte(sent), result))
	calls, problem := h.back.seen(), ""
	if len(calls) == 0 {
		problem = "the call does not reach the server: " + o.tells()
	} else {
		revision, _ := rawjson.Get(calls[0], "params", "_meta", metaRevision)
		able, _ := rawjson.Get(calls[0], "params", "_meta", metaAbility)
		if string(revision) != `"`+modernRevision+`"` || rawjson.Kind(able) != '{' {
			problem = fmt.Sprintf("the server gets %.*s", maxQuote, calls[0])
		}
	}
	h.count(passages.metadata, "tools/call", problem)
}

// questions makes calls during which the server asks its client.
func (h modernHost) questions(ctx context.Context) {
	o := h.call(ctx, h.plainCall(), answering([]byte(kitQuestion)))
	problem := ""
	if _, asked := rawjson.Get(o.answer, "result", "inputRequests"); asked || o.answer == nil {
		problem = o.tells()
	}
	h.count(passages.undeclared, "elicitation/create", problem)

	call := strings.TrimSuffix(string(h.plainCall()), "}") + `,"_meta":` + able
	o = h.call(ctx, []byte(call+"}"), answering([]byte(kitQuestion)))
	result, _ := rawjson.Get(o.answer, "result")
	problem = kept([]string{"/inputRequests/kit/method"}, []byte(kitQuestion), result)
	asked, _ := rawjson.Get(result, "inputRequests", "kit", "params", "message")
	if text, _ := rawjson.String(asked); problem == "" && !strings.Contains(text, kitMessage) { // it may say who asks
		problem = "the host gets " + o.tells()
	}
	h.count(passages.input, "elicitation/create", problem)
	if problem != "" {
		h.absent(passages.retry, "no question reaches the host")
		return
	}
	again := call + `,"inputResponses":` + kitReply
	if state, ok := rawjson.Get(result, "requestState"); ok {
		again += `,"requestState":` + string(state)
	}
	o = h.call(ctx, []byte(again+"}"), answering([]byte(modernResult)))
	if calls := h.back.seen(); len(calls) == 0 {
		problem = "the answers do not reach the server: " + o.tells()
	} else {
		want := `{"inputResponses":` + kitReply + `,"requestState":` + kitState + `}`
		got, _ := rawjson.Get(calls[0], "params")
		problem = kept([]string{"/inputResponses/kit", "/requestState"}, []byte(want), got)
	}
	h.count(passages.retry, "elicitation/create", problem)
}
