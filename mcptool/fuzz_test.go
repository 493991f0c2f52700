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
		if a.fits(req, text) {
			t.Errorf("the state %q fits", state)
		}
		req.Params.RequestState = a.seal(req, text)
		if !a.fits(req, text) {
			t.Error("its own state does not fit")
		}
		if a.fits(req, text+".") {
			t.Error("the state fits another question")
		}
		if !a.use(req.Params.RequestState) || a.use(req.Params.RequestState) {
			t.Error("a state is not good for exactly one use")
		}
	})
}
