package gateway_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weir-mcp/weir/internal/gateway"
	"github.com/weir-mcp/weir/internal/gateway/protocol"
	"github.com/weir-mcp/weir/internal/rawjson"
)

// A retry is a host of 2026-07-28 that answers questions by hand.
type retry struct {
	*wire
	n int
}

// call calls a tool, with more members in its params, and returns the answer.
func (r *retry) call(tool, more string) string {
	r.t.Helper()
	r.n++
	if more != "" {
		more = "," + more
	}
	return r.ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{}%s,"_meta":{`+
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}`, r.n, tool, more))
}

// state returns the requestState of an answer that requires input, as a member, and the name of its only question.
func (r *retry) state(answer string) (member, question string) {
	r.t.Helper()
	raw, ok := rawjson.Get([]byte(answer), "result", "requestState")
	asked, _ := rawjson.Get([]byte(answer), "result", "inputRequests")
	for name := range rawjson.Members(asked) {
		question = name
	}
	if !ok || question == "" {
		r.t.Fatalf("requires no input: %s", answer)
	}
	return `"requestState":` + string(raw), question
}

// accept returns the answer to a question as a member.
func accept(question string) string {
	return fmt.Sprintf(`"inputResponses":{%q:{"action":"accept","content":{"name":"ann"}}}`, question)
}

func eachServer(t *testing.T, run func(t *testing.T, p *pairing), changes ...func(*gateway.Options)) {
	for _, era := range []string{oldEra, newEra} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			run(t, newPairing(t, newEra, era, "stdio", changes...))
		})
	}
}

func TestRequestStateBelongsToItsRequest(t *testing.T) {
	eachServer(t, func(t *testing.T, p *pairing) {
		r := &retry{wire: p.wire(t)}
		state, question := r.state(r.call("form", ""))
		for name, answer := range map[string]string{
			"another tool":      r.call("twice", state+","+accept(question)),
			"other params":      r.call("form", state+`,"extra":1,`+accept(question)),
			"changed":           r.call("form", strings.TrimSuffix(state, `"`)+`A",`+accept(question)),
			"cut":               r.call("form", state[:len(state)-9]+`",`+accept(question)),
			"the server's own":  r.call("form", `"requestState":"s1",`+accept(question)),
			"not even a string": r.call("form", `"requestState":{},`+accept(question)),
		} {
			if !strings.Contains(answer, `"code":-32602`) {
				t.Errorf("%s: %s", name, answer)
			}
		}
		other := &retry{wire: p.wire(t)} // the same principal
		if answer := other.call("form", state+","+accept(question)); p.server.era == newEra && !strings.Contains(answer, "accept ann") {
			t.Errorf("on another connection: %s", answer)
		}
	})
}

func TestHeldCallGoesOnOnce(t *testing.T) {
	p := newPairing(t, newEra, oldEra, "stdio")
	r := &retry{wire: p.wire(t)}
	state, question := r.state(r.call("form", ""))
	again, _ := r.state(r.call("form", state)) // without the answer the host is asked again
	if answer := r.call("form", again+","+accept(question)); !strings.Contains(answer, "accept ann") {
		t.Errorf("answered: %s", answer)
	}
	for _, used := range []string{state, again} {
		if answer := r.call("form", used+","+accept(question)); !strings.Contains(answer, `"code":-32602`) {
			t.Errorf("a second time: %s", answer)
		}
	}
}

func TestHeldCallIsGivenUp(t *testing.T) {
	p := newPairing(t, newEra, oldEra, "stdio", func(o *gateway.Options) { o.Approval = 50 * time.Millisecond })
	r := &retry{wire: p.wire(t)}
	state, question := r.state(r.call("form", ""))
	time.Sleep(200 * time.Millisecond)
	if answer := r.call("form", state+","+accept(question)); !strings.Contains(answer, `"code":-32602`) {
		t.Errorf("came back too late: %s", answer)
	}
}

func TestHeldCallsAreBounded(t *testing.T) {
	p := newPairing(t, newEra, oldEra, "stdio")
	r := &retry{wire: p.wire(t)}
	for range 32 {
		r.state(r.call("form", ""))
	}
	if answer := r.call("form", ""); !strings.Contains(answer, "too many calls") {
		t.Errorf("one more: %s", answer)
	}
}

// TestApprovalComesInBetween has a policy ask about the call, and its server ask too: the person is asked once for the call
// with all its rounds, and again for the next call, which is the same but for that it is another.
func TestApprovalComesInBetween(t *testing.T) {
	rules := mustLoad(t, `version: 1
rules:
  - {name: always-ask, when: call, if: "call.name == 'form'", effect: ask, message: sure?}
`)
	eachServer(t, func(t *testing.T, p *pairing) {
		r := &retry{wire: p.wire(t)}
		const yes = `"inputResponses":{"dev.weir/approval":{"action":"accept","content":{"approve":true}}}`
		for range 2 {
			state, approval := r.state(r.call("form", ""))
			if approval != "dev.weir/approval" {
				t.Fatalf("the call was not asked about, but %q", approval)
			}
			state, question := r.state(r.call("form", state+","+yes))
			if question == "dev.weir/approval" {
				t.Fatal("asked again before the server was")
			}
			if answer := r.call("form", state+","+accept(question)); !strings.Contains(answer, "accept ann") {
				t.Errorf("the second round: %s", answer)
			}
		}
	}, func(o *gateway.Options) { o.Policy = rules })
}

// TestRoundsAreLetThroughOnce has a host use up the round that its server asked for, and then try another.
func TestRoundsAreLetThroughOnce(t *testing.T) {
	rules := mustLoad(t, `version: 1
rules:
  - {name: always-ask, when: call, if: "call.name == 'form'", effect: ask, message: sure?}
`)
	p := newPairing(t, newEra, newEra, "stdio", func(o *gateway.Options) { o.Policy = rules })
	r := &retry{wire: p.wire(t)}
	state, _ := r.state(r.call("form", ""))
	state, question := r.state(r.call("form", state+`,"inputResponses":{"dev.weir/approval":{"action":"accept","content":{"approve":true}}}`))
	if answer := r.call("form", state+","+accept(question)); !strings.Contains(answer, "accept ann") {
		t.Fatalf("the second round: %s", answer)
	}
	if _, again := r.state(r.call("form", state+","+accept(question))); again != "dev.weir/approval" {
		t.Errorf("a third round went out unasked: %s", again)
	}
}

// TestNothingComesBackUnasked holds that requestState and inputResponses go to a server as an answer to its
// questions, and in no other way: nobody decides on their bytes otherwise, and no approval covers them.
func TestNothingComesBackUnasked(t *testing.T) {
	const secret = `"s3kr1t"`
	eachServer(t, func(t *testing.T, p *pairing) {
		r := &retry{wire: p.wire(t)}
		state, question := r.state(r.call("form", ""))
		q := fmt.Sprintf("%q", question)
		for _, more := range []string{
			`"requestState":` + secret,
			`"inputResponses":{}` + `,"requestState":null`,
			state + `,"inputResponses":` + secret,
			state + `,"inputResponses":[` + secret + `]`,
			state + `,"inputResponses":{` + q + `:` + secret + `}`,
		} {
			if answer := r.call("form", more); !strings.Contains(answer, `"code":-32602`) {
				t.Errorf("%s: %s", more, answer)
			}
		}
		other := secret + `:{"action":"accept","content":{"name":` + secret + `}}`
		answer := r.call("form", state+`,"inputResponses":{`+other+`,`+q+`:{"action":"decline"}}`)
		if strings.Contains(answer, "-32602") || strings.Contains(answer, "s3kr1t") {
			t.Errorf("an answer to another question: %s", answer)
		}
	})
	for _, server := range []string{oldEra, newEra} {
		w := newPairing(t, oldEra, server, "stdio").wire(t)
		w.ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"h","version":"1"}}}`)
		for i, more := range []string{`"requestState":` + secret, `"inputResponses":[` + secret + `]`} {
			answer := w.ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"form","arguments":{},%s}}`, i+2, more))
			if !strings.Contains(answer, `"code":-32602`) {
				t.Errorf("an older host of a server of %s: %s: %s", server, more, answer)
			}
		}
	}
}

// Answers to questions that nobody asked do not go on.
func TestAnswering(t *testing.T) {
	params := json.RawMessage(`{"inputResponses":{"a":{},"b":{"x":1},"c":{}},"name":"n"}`)
	const want = `{"inputResponses":{"b":{"x":1}},"name":"n"}`
	if got := protocol.Answering(params, func(name string) bool { return name == "b" }); string(got) != want {
		t.Errorf("%s, want %s", got, want)
	}
}
