package gateway_test

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/record"
)

// The tools of the exchange, as a server that vouches for its data by _meta.ifc lists them.
const githubTools = `{"tools":[
	{"name":"get_me","annotations":{"readOnlyHint":true}},
	{"name":"get_file_contents","annotations":{"readOnlyHint":true}},
	{"name":"list_issues","annotations":{"readOnlyHint":true}},
	{"name":"search_issues","annotations":{"readOnlyHint":true,
		"inputMetadata":{"destination":"ephemeral","sensitivity":"user","outcomes":"benign"}}},
	{"name":"add_issue_comment","annotations":{"readOnlyHint":false}}]}`

// Exchanges in the form of GitHub's server drive a session: integrity and confidentiality of each result rise into its
// label, sets of readers intersect, and the label of the session decides the call that would publish.
func TestGitHubLabelsDriveASession(t *testing.T) {
	raw, err := os.ReadFile("testdata/github-ifc.json")
	if err != nil {
		t.Fatal(err)
	}
	var recorded struct {
		Exchanges []struct {
			Name  string
			Calls []struct {
				Tool      string
				Arguments json.RawMessage
				Effect    string
				Result    json.RawMessage
				Session   label.Label
			}
		}
	}
	if err := json.Unmarshal(raw, &recorded); err != nil {
		t.Fatal(err)
	}
	for _, exchange := range recorded.Exchanges {
		t.Run(exchange.Name, func(t *testing.T) {
			answers := map[string]string{"tools/list": githubTools}
			for _, call := range exchange.Calls {
				answers["tools/call "+call.Tool] = string(rawjson.Canonical(call.Result))
			}
			r, _ := script(t, answers, nil)
			w := r.wire(t)
			w.ask(hello)
			var seen label.Label // before the call
			for i, call := range exchange.Calls {
				answer := w.ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`,
					i+1, call.Tool, rawjson.Canonical(call.Arguments)))
				decisions := r.recorded(t, record.Decision)
				var onCall record.Event
				for _, e := range decisions {
					if e.Name == call.Tool && e.Phase == "call" {
						onCall = e
					}
				}
				if onCall.Effect != call.Effect || onCall.Label == nil {
					t.Fatalf("%s was decided %+v, want %s; answered %s", call.Tool, onCall, call.Effect, answer)
				}
				if diff := cmp.Diff(seen, taintOf(*onCall.Label)); diff != "" {
					t.Errorf("before %s: %s", call.Tool, diff)
				}
				seen = call.Session
				before, _ := rawjson.Get(call.Result, "_meta", "ifc")
				if after, _ := rawjson.Get([]byte(answer), "result", "_meta", "ifc"); call.Effect == "allow" &&
					string(rawjson.Canonical(before)) != string(after) {
					t.Errorf("%s: the host gets %s, not %s", call.Tool, after, before)
				}
			}
		})
	}
}

// taintOf returns the label that the exchanges speak of.
func taintOf(l label.Label) label.Label {
	return label.Label{Untrusted: l.Untrusted, Private: l.Private, Readers: l.Readers}
}
