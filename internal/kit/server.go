package kit

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/conformance"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/label"
)

// A Server is how to reach a server, and which of its tools may be called.
type Server struct {
	Program // its Command is empty for a server that runs
	URL     string
	Calls   []Call
	Asks    []Call        // of tools that ask their client first; they are called in 2026-07-28 only
	Timeout time.Duration // for each answer
	Start   time.Duration // for the start
}

// A Call is a call of a tool of a server.
type Call struct {
	Tool      string
	Arguments []byte // a JSON object
}

// A client is the kit's client of a server that runs.
type client struct {
	peer
	server Server
	tally  *tally
}

// Check runs all checks of servers. The error is that of starting it.
func (s Server) Check(ctx context.Context) (Report, error) {
	probes, err := conformance.Probes()
	if err != nil {
		return Report{}, err
	}
	c := &client{server: s, tally: newTally()}
	c.probe = func() string {
		if c.modern {
			return `"method":"tools/list","params":{"_meta":{` + introduction + `}}`
		}
		return `"method":"ping"`
	}
	unshaken := c.restart(ctx)
	if unshaken != nil { // it may have no revision with a handshake
		c.modern = true
		if c.restart(ctx) != nil {
			return Report{}, unshaken
		}
	}
	defer func() { c.wire.close() }()
	c.definitions()
	for _, call := range s.Calls {
		if err := c.call(ctx, call); err != nil {
			return Report{}, err
		}
	}
	c.withoutCalls()
	c.resolutions(ctx)
	for _, p := range probes {
		if c.modern {
			c.tally.absent(checkOf(p), "the server speaks no revision with a handshake")
			continue
		}
		c.tally.count(checkOf(p), p.ID, c.play(ctx, p))
	}
	if err := c.stateless(ctx); err != nil {
		return Report{}, err
	}
	return c.tally.report("server"), ctx.Err()
}

// restart starts the server, agrees on a revision and lists its tools.
func (c *client) restart(ctx context.Context) error {
	return c.reopen(ctx, func(ctx context.Context) error {
		if err := c.agree(ctx); err != nil {
			return err
		}
		return c.list(ctx)
	})
}

// reopen starts the server anew and begins with a function.
func (c *client) reopen(ctx context.Context, begin func(context.Context) error) error {
	if c.wire != nil {
		c.wire.close()
	}
	c.timeout = 0
	defer func() { c.timeout = c.server.Timeout }()
	ctx, cancel := context.WithTimeout(ctx, c.server.Start)
	defer cancel()
	w, err := connect(ctx, c.server.Program, c.server.URL)
	if err != nil {
		return err // the wire is the one before, which is closed
	}
	c.wire = w
	if err = begin(ctx); err != nil {
		c.wire.close()
	}
	return err
}

// definitions checks what the tools say of themselves.
func (c *client) definitions() {
	all := append(annotation.Dialects(), "organization")
	used := map[string]int{}
	hints := Check{"definition.hints", Should, "MCP 2025-11-25, Schema, ToolAnnotations",
		"tools say whether they only read, and whether their world is open"}
	values := Check{"definition.values", Must, "SEP-1913, Schema Definitions; conformance/vectors",
		"annotations of tools have values that their schemas allow"}
	for _, name := range slices.Sorted(maps.Keys(c.tools)) {
		declared, defects := annotation.ReadTool(c.tools[name])
		problem := ""
		if declared.ReadOnly == contract.Unknown || declared.OpenWorld == contract.Unknown {
			problem = "readOnlyHint or openWorldHint is missing"
		}
		c.tally.count(hints, name, problem)
		if problem = ""; len(defects) > 0 {
			problem = fmt.Sprint(defects)
		}
		c.tally.count(values, name, problem)
		for _, s := range (annotation.Reader{}).Statements(c.tools[name]) {
			used[s.Dialect]++
		}
	}
	for _, dialect := range all {
		spoken := Check{"speaks." + dialect, Should, "docs/annotations.md", "tools describe themselves in the words of " + dialect}
		c.tally.of(spoken).Vectors = used[dialect]
		c.tally.absent(spoken, "no tool does")
	}
}

// plain is what a request says of the agent's data: nothing, something, and something that the schema refuses.
const (
	saysNothing = `{}`
	saysOpen    = `{"annotations":{"openWorldHint":true,"attribution":["https://kit.example/"]},"com.example/kit":[1]}`
	saysWrong   = `{"annotations":{"openWorldHint":"yes","attribution":7}}`
)

// The checks of results.
var resultChecks = struct{ values, bounds, aggregate, requests, wrong Check }{
	Check{"result.values", Must, "SEP-1913, Schema Definitions; conformance/vectors", "annotations of results have values that their schemas allow"},
	Check{"result.bounds", Must, "SEP-1913, Extended Tool Annotations: arrays are the possible values",
		"results stay inside of the declarations of their tools"},
	Check{"result.aggregate", Must, "SEP-1913, Response Annotations Scope", "the annotations of a result cover those of its content"},
	Check{"request.annotations", Must, "SEP-1913, Tool Call Request Extension", "calls with annotations are answered"},
	Check{"request.wrong", Should, "SEP-1913, Schema Definitions",
		"annotations of a request that their schema refuses are refused with -32602, or have no meaning"},
}

// call makes a call, and the same call with annotations.
func (c *client) call(ctx context.Context, call Call) error {
	definition, ok := c.tools[call.Tool]
	if !ok {
		return fmt.Errorf("the server has no tool %q", call.Tool)
	}
	o := c.request(ctx, call, saysNothing)
	result, ok := rawjson.Get(o.answer, "result")
	if !ok {
		return fmt.Errorf("the call of %s has no result: %s", call.Tool, o.tells())
	}
	claim, defects := annotation.ReadResult(result)
	checks, says := resultChecks, !claim.Label.IsZero() || len(said(claim.Stated)) > 0
	if says || len(defects) > 0 {
		c.tally.count(checks.values, call.Tool, list(defects))
	} else {
		c.tally.absent(checks.values, "no result has annotations")
	}
	if declared, _ := annotation.ReadTool(definition); says && len(defects) == 0 && len(said(declared)) > 0 {
		c.tally.count(checks.bounds, call.Tool, list(declared.Bounds(claim.Stated)))
	} else {
		c.tally.absent(checks.bounds, "no tool that was called declares something, or no result says something that has a meaning")
	}
	c.aggregate(call.Tool, result, claim.Label)
	answered := c.request(ctx, call, saysOpen)
	problem := ""
	if answered.answer == nil {
		problem = answered.tells()
	}
	c.tally.count(checks.requests, call.Tool, problem)
	answered = c.request(ctx, call, saysWrong)
	code, _ := rawjson.Get(answered.answer, "error", "code")
	if _, ok := rawjson.Get(answered.answer, "result"); ok || string(code) == "-32602" {
		problem = ""
	} else {
		problem = answered.tells()
	}
	c.tally.count(checks.wrong, call.Tool, problem)
	return nil
}

// aggregate checks that a result says of itself what its blocks say.
func (c *client) aggregate(tool string, result []byte, whole label.Label) {
	content, _ := rawjson.Get(result, "content")
	claims := false
	for block := range rawjson.Elements(content) {
		_, has := rawjson.Get(block, "_meta", "io.modelcontextprotocol/trust-annotations")
		claims = claims || has
	}
	if !claims {
		c.tally.absent(resultChecks.aggregate, "no content block has annotations")
		return
	}
	own, _ := annotation.ReadResult(rawjson.Pick(result, "_meta"))
	if own.Label.Sensitivity.Len() > 0 { // a block that is sensitive in some way is covered by any class
		whole.Sensitivity = whole.Sensitivity.Without(label.SetOf(label.Unspecified))
	}
	problem := ""
	if !own.Label.Covers(whole) {
		problem = fmt.Sprintf("the result says %s, its content %s", own.Label, whole)
	}
	c.tally.count(resultChecks.aggregate, tool, problem)
}

// withoutCalls makes the checks of results not applicable if nothing was called.
func (c *client) withoutCalls() {
	for _, one := range []Check{resultChecks.values, resultChecks.bounds, resultChecks.aggregate, resultChecks.requests, resultChecks.wrong} {
		if len(c.server.Calls) == 0 {
			c.tally.absent(one, "no tool may be called")
		}
	}
}

func (c *client) request(ctx context.Context, call Call, meta string) observation {
	id := c.newID()
	return c.exchange(ctx, id, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":%s}`,
		id, c.dress(fmt.Appendf(nil, `{"name":%s,"arguments":%s,"_meta":%s}`, rawjson.Quote(call.Tool), call.Arguments, meta))), false)
}

func list[T any](problems []T) string {
	if len(problems) == 0 {
		return ""
	}
	return fmt.Sprint(problems)
}

// resolutions checks tools/resolve of the tools that may be called. It runs none.
func (c *client) resolutions(ctx context.Context) {
	const section = "SEP-1913, Integration with Tool Resolution; SEP-1862"
	bounds := Check{"resolve.bounds", Must, section, "a resolution names the tool, and stays inside of its declaration"}
	unknown := Check{"resolve.unknown", Must, section, "the resolution of an unknown tool is refused with -32602"}
	c.tally.absent(bounds, "no tool may be called, or the server does not resolve it")
	c.tally.absent(unknown, "the server does not resolve tools")
	resolves := false
	for _, call := range c.server.Calls {
		o := c.resolve(ctx, call)
		result, ok := rawjson.Get(o.answer, "result")
		if !ok {
			continue
		}
		resolves = true
		name, ok := rawjson.Get(result, "tool", "name")
		if !ok {
			name, _ = rawjson.Get(result, "name")
		}
		declared, _ := annotation.ReadTool(c.tools[call.Tool])
		resolved, defects := annotation.ReadResolved(result)
		problem := list(declared.Narrows(resolved)) + list(defects)
		if got, _ := rawjson.String(name); got != call.Tool {
			problem = fmt.Sprintf("it names %.*s", maxQuote, name)
		}
		c.tally.count(bounds, call.Tool, problem)
	}
	if resolves {
		o := c.resolve(ctx, Call{"kit-nowhere", []byte("{}")})
		c.tally.count(unknown, "kit-nowhere", unlessCode(&o, -32602))
	}
}

func (c *client) resolve(ctx context.Context, call Call) observation {
	id := c.newID()
	return c.exchange(ctx, id, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":"tools/resolve","params":%s}`,
		id, c.dress(fmt.Appendf(nil, `{"name":%s,"arguments":%s}`, rawjson.Quote(call.Tool), call.Arguments))), false)
}

// play sends a probe, and returns what is wrong with the answer. A server that does not go on after it is started
// anew.
func (c *client) play(ctx context.Context, p conformance.Probe) string {
	problem, ends := c.holds(ctx, p)
	if ends == nil {
		return problem
	}
	if err := c.restart(ctx); err != nil {
		return "the server does not start again: " + err.Error()
	}
	return "the server does not answer pings after it: " + ends.Error()
}
