package asked_test

import (
	"encoding/json"
	"testing"

	"github.com/weir-mcp/weir/internal/gateway/asked"
	"github.com/weir-mcp/weir/session"
)

// TestComesBack holds that a request comes back to a question only where the server asked it: in answer to the same call
// of the same agent session, once, and with a state that can hold nothing else.
func TestComesBack(t *testing.T) {
	const result = `{"requestState":"s<1>","inputRequests":{"to":{}}}`
	call := func(params string) *asked.Call {
		return &asked.Call{Session: session.Ref{Key: "s", Principal: "p"}, Server: "mail", Method: "tools/call", Params: json.RawMessage(params)}
	}
	first := `{"name":"send","arguments":{"a":1,"b":2}}`
	for params, back := range map[string]bool{
		`{"name":"send","arguments":{"b":2,"a":1},"requestState":"s<1>","inputResponses":{"to":{}},"_meta":{"x":1}}`: true,
		`{"name":"send","arguments":{"a":1,"b":2},"requestState":"s\u003c1>"}`:                                       true,
		first: true,
		`{"name":"send","arguments":{"a":1,"b":2},"requestState":"s<2>"}`:        false,
		`{"name":"send","arguments":{"a":1,"b":2},"requestState":["s<1>"]}`:      false,
		`{"name":"send","arguments":{"a":1,"b":2},"inputResponses":{"cc":{}}}`:   false,
		`{"name":"send","arguments":{"a":1,"b":2},"inputResponses":{"to":"x"}}`:  false,
		`{"name":"send","arguments":{"a":1,"b":3},"requestState":"s<1>"}`:        false,
		`{"name":"look","arguments":{"a":1,"b":2},"inputResponses":{"to":{}}}`:   false,
		`{"name":"send","arguments":{"a":1,"b":2},"x":1,"requestState":"s<1>"}`:  false,
		`{"name":"send","arguments":{"a":1,"b":2},"requestState":{"s":1,"t":2}}`: false,
	} {
		var b asked.Book
		if err := b.ComesBack(call(params)); (err == nil) != (params == first) {
			t.Errorf("before the question: %s: %v", params, err)
		}
		b.Note(call(first), json.RawMessage(result))
		b.Note(call(first), json.RawMessage(`{"requestState":{"t":2,"s":1}}`))
		other := call(params)
		other.Session.Key = "t"
		if err := b.ComesBack(other); (err == nil) != (params == first) {
			t.Errorf("in another session: %s: %v", params, err)
		}
		if err := b.ComesBack(call(params)); (err == nil) != back {
			t.Errorf("%s: %v", params, err)
		}
		if err := b.ComesBack(call(params)); (err == nil) != (params == first) {
			t.Errorf("again: %s: %v", params, err)
		}
	}
}
