package trace

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/weir-mcp/weir/policy"
)

// addChange notes a call that goes out and may change something, if no person was asked about just this one. The next
// digest stands for all of them, in their order.
func (c *conversation) addChange(call *Call, f *policy.Facts, found *Finding) {
	if f.PlainRead() || found.Approved {
		return
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q", c.changes, call.URI, call.Params, call.Arguments))
	c.changes = hex.EncodeToString(sum[:])
}

// since returns a text that stands for the changes of a conversation so far that no person was asked about. Of calls of
// another process each may be one.
func (c *conversation) since(calls int) string {
	return fmt.Sprintf("%s %d", c.changes, c.foreign(calls))
}
