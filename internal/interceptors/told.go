package interceptors

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/weir-mcp/weir/internal/bounded"
	"github.com/weir-mcp/weir/internal/gateway/protocol"
	"github.com/weir-mcp/weir/internal/rawjson"
)

// introductions are the members of _meta that tell of the client, the same in every request (2026-07-28, Request
// Metadata).
var introductions = map[string]bool{protocol.MetaClientInfo: true, protocol.MetaCapabilities: true}

// maxToken is the length of a progress token that tells next to nothing: the gateway puts its own number, the invoker
// does not.
const maxToken = 10

// maxTold bounds the introductions that are remembered. One that is forgotten is refused once an agent has seen
// something private.
const maxTold = 1 << 10

// An intro is an introduction that went to servers while an agent had seen nothing private: it can hide nothing in it.
type intro struct {
	name, principal string
	digest          [sha256.Size]byte
}

// A toldBook holds introductions. It is safe for concurrent use.
type toldBook struct {
	mu   sync.Mutex
	told *bounded.Map[intro, struct{}]
}

// untold returns why a server may not be told the _meta of a request that the guard lets go with that of sends; "" if
// it may. No validator can take a member out, so the request stays where the gateway would have sent it without.
func (b *toldBook) untold(principal string, sent, sends json.RawMessage) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	meta, _ := rawjson.Get(sent, "_meta")
	if meta != nil && rawjson.Kind(meta) != '{' {
		return "params._meta is not an object"
	}
	for name, value := range rawjson.Members(meta) {
		kept, _ := rawjson.Get(sends, "_meta", name)
		goes := bytes.Equal(kept, value)
		if name == "progressToken" {
			goes = rawjson.Kind(value) == '0' && len(value) <= maxToken && strings.Trim(string(value), "0123456789") == ""
		}
		if introductions[name] {
			key := intro{name, principal, sha256.Sum256(value)}
			if goes {
				b.told.Set(key, struct{}{})
			}
			_, before := b.told.Get(key)
			goes = goes || before
		}
		if !goes {
			return fmt.Sprintf("no server may be told params._meta[%+.80q] of this request; send it without", name)
		}
	}
	return ""
}
