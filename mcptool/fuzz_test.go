package mcptool

import (
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// FuzzState checks that only the issued state fits, and no variation of it by a client.
func FuzzState(f *testing.F) {
	a, err := newAsks(Options{Key: make([]byte, KeySize)})
	if err != nil {
		f.Fatal(err)
	}
	f.Add("", "delete", "{}", "Delete it?")
	f.Add("AAAA", "delete", `{"a":1}`, "Delete it?")
	f.Fuzz(func(t *testing.T, state, tool, arguments, text string) {
		req := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: tool, Arguments: []byte(arguments), RequestState: state}}
		if _, _, ok := a.open(req); ok {
			t.Errorf("the state %q fits", state)
		}
		so := progress{Answers: []answer{{Question: "q", Accepted: true}}, Pending: confirmation.digest(text)}
		var err error
		req.Params.RequestState, err = a.seal(req, so)
		if err != nil {
			t.Fatal(err)
		}
		head, got, ok := a.open(req)
		if !ok || got.Pending != so.Pending || len(got.Answers) != 1 || !got.Answers[0].Accepted {
			t.Errorf("its own state is read as %+v", got)
		}
		if confirmation.digest(text+".") == so.Pending {
			t.Error("the state fits another question")
		}
		if !a.use(head) || a.use(head) {
			t.Error("a state is not good for exactly one use")
		}
		cut := *req.Params
		cut.RequestState = cut.RequestState[:len(cut.RequestState)-1]
		if _, _, ok := a.open(&mcp.CallToolRequest{Params: &cut}); ok {
			t.Error("a shorter state fits")
		}
	})
}
