package e2e

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The server of examples asks, labels and refuses with clients of the TypeScript SDKs as with those of the Go SDK.
func TestExampleServer(t *testing.T) {
	needEnabled(t)
	t.Parallel()
	server := filepath.Join(t.TempDir(), "server")
	if out, err := exec.Command("go", "build", "-o", server, "../examples/server").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	tainted := func(arguments object) step {
		return step{Method: "tools/call", Params: object{
			"name": "publish", "arguments": arguments, "_meta": object{"annotations": object{"openWorldHint": true}},
		}}
	}
	for _, c := range []struct{ sdk, era string }{{"v1", ""}, {"v2", "legacy"}, {"v2", "2026-07-28"}} {
		t.Run(strings.TrimSuffix(c.sdk+"-"+c.era, "-"), func(t *testing.T) {
			t.Parallel()
			r := drive(t, job{
				SDK: c.sdk, Era: c.era, Transport: target{Command: server}, Capabilities: object{"elicitation": object{}},
				Answers: []reply{{Action: "accept", Content: object{}}, {Action: "decline"}},
				Steps: []step{
					call("read", object{"name": "minutes"}),
					tainted(object{"name": "minutes", "to": "everyone"}),
					tainted(object{"name": "minutes", "to": "team"}),
					tainted(object{"name": "minutes", "to": "team"}),
				},
			})
			meta, _ := r.answer(t, 0).Result["_meta"].(object)
			if labelled, _ := meta["annotations"].(object); labelled["openWorldHint"] != true || labelled["attribution"] == nil {
				t.Errorf("the note's _meta is %v", meta)
			}
			if early := r.answer(t, 1); !early.refused() || !strings.Contains(early.text(), "the team only") {
				t.Errorf("untrusted content goes to everyone: %+v", early)
			}
			if r.answer(t, 2).text() != `published "minutes" to "team"` || !r.answer(t, 3).refused() || len(r.Asked) != 2 {
				t.Errorf("asked %v: %+v, %+v", r.Asked, r.answer(t, 2), r.answer(t, 3))
			}
		})
	}
}
