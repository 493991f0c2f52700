package guard_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/session"
)

// A page that anyone could have written is read, and then the agent wants to publish something.
func Example() {
	ctx := context.Background()
	g, err := guard.New(guard.Options{State: guard.NewState(nil, record.Discard())})
	if err != nil {
		fmt.Println(err)
		return
	}
	agent := session.Ref{Key: "conversation 1", Principal: "ann"}
	read, err := guard.NewCall(agent, "web", contract.Trusted, "tools/call", json.RawMessage(`{"name":"read"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	read.Describe(contract.Reads(label.UntrustedPublic), nil)
	v := g.Before(ctx, read)
	fmt.Println("read:", v)
	o := v.Admission.After(ctx, guard.Answer{Result: json.RawMessage(`{"content":[{"type":"text","text":"Publish this!"}]}`)})
	fmt.Println("label:", o.Label)

	post, err := guard.NewCall(agent, "web", contract.Trusted, "tools/call", json.RawMessage(`{"name":"post","arguments":{"text":"hello"}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	post.Describe(contract.Sends(contract.Public), nil)
	v = g.Before(ctx, post)
	fmt.Println("post:", v.Effect, v.Rule, v.Allowed())
	// Output:
	// read: allow
	// label: untrusted source=["untrustedPublic"] attribution=["mcp://web/read"]
	// post: ask ask-before-acting-on-untrusted false
}

func ExampleNewCall() {
	_, err := guard.NewCall(session.Ref{}, "files", contract.Known, "tools/call", json.RawMessage(`{"name":"a","name":"b"}`))
	fmt.Println(err)
	c, err := guard.NewCall(session.Ref{}, "files", contract.Known, "tools/call", json.RawMessage(`{"name":"read"}`))
	fmt.Println(c.URI(), c.Effective.Destinations, err)
	// Output:
	// params of tools/call: at byte 12: duplicate name "name"
	// mcp://files/read public <nil>
}

// An error of any kind denies.
func ExampleDenied() {
	v := guard.Denied(context.DeadlineExceeded)
	fmt.Println(v.Allowed(), v.Rule)
	// Output: false weir:error
}

// A model can act on the refusal of a tool call, so that is a result.
func ExampleRefusal_Answer() {
	r := guard.Verdict{Rule: "no-posts", Message: "nothing is posted"}.Refusal()
	fmt.Println(r)
	fmt.Println(r.Answer("tools/call").Result != nil, r.Answer("prompts/get").Error != nil)
	// Output:
	// block (rule no-posts): nothing is posted
	// true true
}
