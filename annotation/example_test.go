package annotation_test

import (
	"fmt"

	"github.com/weir-mcp/weir/annotation"
)

func ExampleReadTool() {
	c, defects := annotation.ReadTool([]byte(`{"name": "send_email", "annotations": {
		"readOnlyHint": "no",
		"inputMetadata": {"destination": "public", "sensitivity": ["pii", "user"], "outcomes": "irreversible"}}}`))
	fmt.Println("may go to:", c.Destinations.Set())
	fmt.Println("read-only:", c.ReadOnly)
	fmt.Println("defects:  ", defects)
	// Output:
	// may go to: public
	// read-only: unknown
	// defects:   [annotations.readOnlyHint is a string, not a boolean]
}

func ExampleWriteResult() {
	result := []byte(`{"content": [], "_meta": {"vendor/x": 1.0, "annotations": {"openWorldHint": false}}}`)
	claim, _ := annotation.ReadResult(result)
	claim.Label.Untrusted = true
	result, err := annotation.WriteResult(result, claim.Label)
	fmt.Println(string(result), err)
	// Output:
	// {"content": [], "_meta": {"vendor/x": 1.0, "annotations": {"openWorldHint": true},"io.modelcontextprotocol/trust-annotations":{"untrusted":true}}} <nil>
}
