package attacks

import "testing"

// TestArgumentsBeside adds members to calls that an overlay takes for harmless. The schemas allow any member, and no one names these.
func TestArgumentsBeside(t *testing.T) {
	const overlay = `
version: 1
overlays:
  - name: jobs
    match: [{server: jobs}]
    tools:
      run:
        contract: {readOnly: false, destructive: true, openWorld: false, outcomes: [irreversible], destinations: [system], sources: [system], returns: []}
        when:
          - {if: call.arguments.dryRun == true, contract: {readOnly: true, destructive: false, outcomes: [benign]}, why: nothing is done}
`
	jobs := server{name: "jobs", trust: "trusted", script: script{Tools: tools(
		`{"name":"run","inputSchema":{"type":"object","properties":{"job":{"type":"string"},"dryRun":{"type":"boolean"},"more":{"type":"object"},
			"opts":{"type":"object","properties":{"a":{}},"additionalProperties":true}},"additionalProperties":true}}`)}}
	h := start(t, setup{overlay: overlay, servers: []server{page(), jobs}})
	for i, c := range []struct {
		arguments args
		goes      bool
	}{
		{args{"job": "case-a", "dryRun": true}, true},
		{args{"job": "case-b", "dryRun": true, "more": args{"note": 1, "another": "x"}}, true},
		{args{"job": "case-c", "dryRun": true, "force": true}, false},
		{args{"job": "case-d", "dryRun": true, "dry_run": false}, false},
		{args{"job": "case-e", "dryRun": true, "opts": args{"a": 1, "execute": true}}, false},
		{args{"job": "case-f", "dryRun": true, "call.arguments.dryRun": false}, false},
		{args{"job": "case-g", "dryRun": true, "true": 1}, false},
	} {
		session := string(rune('a' + i))
		h.callIn(session, "", "fetch", args{})
		h.callIn(session, "", "run", c.arguments)
		if job := c.arguments["job"].(string); c.goes {
			h.went("jobs", job)
		} else {
			h.held("jobs", job)
		}
	}
}
