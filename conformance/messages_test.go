package conformance_test

import (
	"testing"

	"github.com/weir-mcp/weir/conformance"
	"github.com/weir-mcp/weir/internal/rpc"
)

// Weir takes the messages that everybody reads in one way, and no others.
func TestMessages(t *testing.T) {
	all, err := conformance.Messages()
	if err != nil || len(all) == 0 {
		t.Fatal(err)
	}
	for _, v := range all {
		if _, err := rpc.Parse([]byte(v.Message)); (err == nil) != v.Valid {
			t.Errorf("%s: error %v, want valid: %v\n%s", v.Name, err, v.Valid, v.Message)
		}
	}
}
