// Package asked remembers the questions of servers, so that a request which claims to answer can be told from one that
// brings something new (2026-07-28, Multi Round-Trip Requests).
package asked

import (
	"crypto/sha256"
	"encoding/json"
	"sync"

	"github.com/weir-mcp/weir/internal/bounded"
	"github.com/weir-mcp/weir/internal/gateway/protocol"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/session"
)

// most bounds the states and questions that are remembered. An answer to one that is forgotten counts as unasked.
const most = 1 << 14

// An item is a state that a server gave, or the name of a question that it asked.
type item struct {
	kind, server string
	session      session.Ref
	digest       [sha256.Size]byte
}

// A Book holds questions of servers. The zero Book is empty. It is safe for concurrent use.
type Book struct {
	mu    sync.Mutex
	items *bounded.Map[item, struct{}]
}

// Note notes the state and the questions in a result that an agent session got from a server.
func (b *Book) Note(ref session.Ref, server string, result json.RawMessage) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.items == nil {
		b.items = bounded.NewMap[item, struct{}](most)
	}
	if state, ok := rawjson.Get(result, protocol.RequestState); ok {
		b.items.Set(item{"state", server, ref, sha256.Sum256(rawjson.Canonical(state))}, struct{}{})
	}
	requests, _ := rawjson.Get(result, protocol.InputRequests)
	for name := range rawjson.Members(requests) {
		b.items.Set(item{"question", server, ref, sha256.Sum256([]byte(name))}, struct{}{})
	}
}

// ComesBack returns the error of params with a state that the server did not give to the agent session, or with answers
// to questions that it did not ask there.
func (b *Book) ComesBack(ref session.Ref, server string, params json.RawMessage) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	noted := func(kind string, text []byte) bool {
		if b.items == nil {
			return false
		}
		_, ok := b.items.Get(item{kind, server, ref, sha256.Sum256(text)})
		return ok
	}
	return protocol.ComesBack(params,
		func(state json.RawMessage) bool { return noted("state", rawjson.Canonical(state)) },
		func(name string) bool { return noted("question", []byte(name)) })
}
