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
	"github.com/weir-mcp/weir/session"
)

// maxGiven bounds the texts that are remembered to have been given. One that is forgotten is refused.
const maxGiven = 1 << 14

// A given is a text that goes to a server without a decision on it, since an agent can hide nothing in it: the server
// gave it itself, or it was told while the agent had seen nothing private.
type given struct {
	kind, server string
	session      session.Ref
	digest       [sha256.Size]byte
}

// A givenBook holds texts that were given. It is safe for concurrent use.
type givenBook struct {
	mu    sync.Mutex
	given *bounded.Map[given, struct{}]
}

func newGivenBook() *givenBook { return &givenBook{given: bounded.NewMap[given, struct{}](maxGiven)} }

// asks notes the state and the questions in a result of a server.
func (b *givenBook) asks(ref session.Ref, server string, result json.RawMessage) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if state, ok := rawjson.Get(result, protocol.RequestState); ok {
		b.given.Set(given{"state", server, ref, sha256.Sum256(rawjson.Canonical(state))}, struct{}{})
	}
	requests, _ := rawjson.Get(result, protocol.InputRequests)
	for name := range rawjson.Members(requests) {
		b.given.Set(given{"question", server, ref, sha256.Sum256([]byte(name))}, struct{}{})
	}
}

// comesBack returns the error of params with a state or with answers for which the server did not ask in the agent
// session.
func (b *givenBook) comesBack(ref session.Ref, server string, params json.RawMessage) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	gave := func(kind string, text []byte) bool {
		_, ok := b.given.Get(given{kind, server, ref, sha256.Sum256(text)})
		return ok
	}
	return protocol.ComesBack(params,
		func(state json.RawMessage) bool { return gave("state", rawjson.Canonical(state)) },
		func(name string) bool { return gave("question", []byte(name)) })
}

// introductions are the members of _meta that tell of the client, the same in every request (2026-07-28, Request
// Metadata).
var introductions = map[string]bool{protocol.MetaClientInfo: true, protocol.MetaCapabilities: true}

// maxToken is the length of a progress token that tells next to nothing: the gateway puts its own number, the invoker
// does not.
const maxToken = 10

// untold returns why a server may not be told the _meta of a request that the guard lets go with that of sends; "" if
// it may. No validator can take a member out, so the request stays where the gateway would have sent it without.
func (b *givenBook) untold(principal string, sent, sends json.RawMessage) string {
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
			key := given{"_meta " + name, "", session.Ref{Principal: principal}, sha256.Sum256(value)}
			if goes {
				b.given.Set(key, struct{}{})
			}
			_, told := b.given.Get(key)
			goes = goes || told
		}
		if !goes {
			return fmt.Sprintf("no server may be told params._meta[%+.80q] of this request; send it without", name)
		}
	}
	return ""
}
