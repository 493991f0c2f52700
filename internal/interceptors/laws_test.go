package interceptors_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/interceptor"
	"github.com/weir-mcp/weir/internal/gateway/agentsession"
	"github.com/weir-mcp/weir/overlay"
	"github.com/weir-mcp/weir/session"
)

// TestLabelsCover holds that an agent session behind interceptors has at least the label that it has behind a gateway,
// whatever results the invoker can tell calls by, and also if it ignores refusals.
func TestLabelsCover(t *testing.T) {
	beside, between := inMemory(), inMemory()
	d := open(t, beside)
	gateway, err := guard.New(guard.Options{State: between})
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]*overlay.Overlay{"filesystem": overlays().filesystem, "sqlite": overlays().sqlite}
	trust := map[string]contract.Trust{"filesystem": contract.Known, "sqlite": contract.Known, "trusted": contract.Trusted}
	calls := []struct{ server, params string }{
		{"filesystem", `{"name":"read_file","arguments":{"path":"/workspace/.env"}}`},
		{"filesystem", `{"name":"list_directory","arguments":{"path":"/workspace"}}`},
		{"sqlite", `{"name":"list_tables","arguments":{}}`}, {"sqlite", `{"name":"read_query","arguments":{"query":"SELECT 1"}}`},
		{"strange", `{"name":"fetch","arguments":{}}`}, {"trusted", `{"name":"inbox","arguments":{}}`},
	}
	results := []string{
		`{"content":[]}`, `{"content":[{"type":"text","text":"hello"}],"_meta":{"annotations":{"openWorldHint":false,"attribution":[]}}}`,
		`{"content":[],"_meta":{"annotations":{"source":"system","sensitivity":"none","openWorldHint":false}}}`,
		`{"content":[],"_meta":{"annotations":{"source":"untrustedPublic","sensitivity":"credentials"}}}`,
		`{"content":[],"_meta":{"annotations":{"maliciousActivityHint":true}}}`, `{"content":[],"isError":true}`,
	}
	run := 0
	rapid.Check(t, func(t *rapid.T) {
		run++
		name := fmt.Sprint("s", run)
		ref := session.Ref{Key: agentsession.HostSession("agent", name), Principal: agentsession.LocalPrincipal}
		told := rapid.SampledFrom([]string{"spans", "traces", "nothing"}).Draw(t, "told")
		about := func(id int) interceptor.Context {
			c := interceptor.Context{SessionID: name}
			if told != "nothing" {
				c.TraceID = fmt.Sprint("t", id)
			}
			if told == "spans" {
				c.SpanID = fmt.Sprint("p", id)
			}
			return c
		}
		type waiting struct {
			id, call int
			admitted *guard.Admission
		}
		var open []waiting
		for id := range rapid.IntRange(1, 8).Draw(t, "steps") {
			if len(open) == 0 || len(open) < 4 && rapid.Bool().Draw(t, "call") {
				i := rapid.IntRange(0, len(calls)-1).Draw(t, "which")
				c, err := guard.NewCall(ref, calls[i].server, trust[calls[i].server], "tools/call", json.RawMessage(calls[i].params))
				if err != nil {
					t.Fatal(err)
				}
				c.Describe(c.Declared, known[calls[i].server])
				v := gateway.Before(t.Context(), c)
				d.run(calls[i].server, interceptor.Request, calls[i].params, about(id), "weir-call")
				if v.Allowed() {
					open = append(open, waiting{id, i, v.Admission})
				}
			} else {
				i := rapid.IntRange(0, len(open)-1).Draw(t, "whose")
				w := open[i]
				open = append(open[:i:i], open[i+1:]...)
				result := rapid.SampledFrom(results).Draw(t, "result")
				w.admitted.After(t.Context(), guard.Answer{Result: json.RawMessage(result)})
				d.run(calls[w.call].server, interceptor.Response, result, about(w.id), "weir-result", "weir-annotate")
			}
			got, err := beside.Sessions().Peek(t.Context(), ref)
			if err != nil {
				t.Fatal(err)
			}
			want, err := between.Sessions().Peek(t.Context(), ref)
			if err != nil {
				t.Fatal(err)
			}
			if !got.Label.Covers(want.Label) {
				t.Fatalf("step %d: the label is %v, behind a gateway %v", id, got.Label, want.Label)
			}
		}
	})
}
