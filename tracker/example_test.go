package tracker_test

import (
	"fmt"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/tracker"
)

// A tool of a trusted server, by its entry in tools/list.
func listed(tool string) tracker.Tool {
	declared, defects := annotation.ReadTool([]byte(tool))
	for _, d := range defects {
		fmt.Println(d)
	}
	return tracker.Tool{Declared: declared, Trust: contract.Trusted}
}

// A web page enters the session, and then the agent wants to send mail (SEP-1913, Email with Open-World Data).
func Example() {
	fetch := listed(`{"name": "fetch", "annotations": {"readOnlyHint": true,
		"inputMetadata": {"destination": "public", "sensitivity": "none", "outcomes": "benign"},
		"returnMetadata": {"source": "untrustedPublic", "sensitivity": "none"}}}`)
	send := listed(`{"name": "send_email", "annotations": {
		"inputMetadata": {"destination": "public", "sensitivity": ["pii", "user"], "outcomes": "irreversible"}}}`)

	var seen tracker.Tracker
	fmt.Println(seen.Conflicts(fetch), seen.Conflicts(send))
	_, err := seen.Result(fetch, []byte(`{"content": [], "_meta": {"annotations": {
		"openWorldHint": true, "attribution": ["https://example.com"]}}}`))
	fmt.Println(seen.Label(), err)
	for _, c := range seen.Conflicts(send) {
		fmt.Println("ask:", c)
	}
	params, err := seen.Request([]byte(`{"name": "send_email"}`), true)
	fmt.Println(string(params), err)
	// Output:
	// [] []
	// untrusted source=["untrustedPublic"] attribution=["https://example.com"] <nil>
	// ask: untrusted content may reach the public
	// ask: untrusted content may cause a change that cannot be undone
	// {"name": "send_email","_meta":{"annotations":{"openWorldHint":true,"attribution":["https://example.com"]}}} <nil>
}

// The user hears of malicious activity (SEP-1913, Malicious Content Detection).
func ExampleTracker_Result() {
	var seen tracker.Tracker
	read := tracker.Tool{Declared: contract.Reads("internal"), Trust: contract.Trusted}
	l, err := seen.Result(read, []byte(`{"content": [], "_meta": {"annotations": {"maliciousActivityHint": true}}}`))
	if l.Malicious {
		fmt.Println("The server warns of this result.", err)
	}
	_, err = seen.Result(read, []byte(`{"content": [], "content": [1]}`))
	fmt.Println(err)
	fmt.Println(seen.Label())
	// Output:
	// The server warns of this result. <nil>
	// reading a result: at byte 16: duplicate name "content"
	// untrusted private malicious sensitivity=["credentials" "financial" "pii" "regulated" "unspecified" "user"] source=["internal" "untrustedPublic"]
}

// A server that is not trusted cannot talk itself out of a conflict.
func ExampleTracker_Conflicts() {
	var seen tracker.Tracker
	seen.Raise(label.Label{Sensitivity: label.SetOf(label.Financial)})
	for _, trust := range []contract.Trust{contract.Trusted, contract.Untrusted} {
		fmt.Println(trust, seen.Conflicts(tracker.Tool{Declared: contract.Writes(contract.Internal), Trust: trust}))
	}
	fmt.Println(seen.Conflicts(tracker.Tool{Declared: contract.Writes(contract.Internal).Accepting("pii"), Trust: contract.Trusted}))
	// Output:
	// trusted []
	// untrusted [private data may reach the public]
	// [the tool does not accept a class of data that the session holds]
}
