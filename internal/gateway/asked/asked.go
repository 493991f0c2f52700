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

// An item is a state that a server gave, or the name of a question that it asked, in answer to a call.
type item struct {
	kind, server string
	session      session.Ref
	call, digest [sha256.Size]byte
}

// A Book holds questions of servers. The zero Book is empty. It is safe for concurrent use.
type Book struct {
	mu    sync.Mutex
	items *bounded.Map[item, struct{}]
}

// A Call is a request that a server answered with a question, or that a host makes again with the answer.
type Call struct {
	Session session.Ref
	Server  string
	Method  string
	Params  json.RawMessage
}

// again returns the digest of all that is the same where a host makes the call again (2026-07-28, Multi Round-Trip
// Requests).
func (c *Call) again() [sha256.Size]byte {
	params := c.Params
	for _, name := range []string{"_meta", protocol.RequestState, protocol.InputResponses} {
		params = rawjson.Delete(params, name)
	}
	return sha256.Sum256(append([]byte(c.Method+" "), rawjson.Canonical(params)...))
}

func (c *Call) item() item { return item{server: c.Server, session: c.Session, call: c.again()} }

func (i item) of(kind, text string) item {
	i.kind, i.digest = kind, sha256.Sum256([]byte(text))
	return i
}

// mostAsked bounds the questions of one result that are remembered.
const mostAsked = 256

// Note notes the state and the questions in a result that a call got.
func (b *Book) Note(c *Call, result json.RawMessage) {
	state, gave := stateOf(result)
	requests, _ := rawjson.Get(result, protocol.InputRequests)
	if !gave && requests == nil {
		return
	}
	of := c.item()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.items == nil {
		b.items = bounded.NewMap[item, struct{}](most)
	}
	if gave {
		b.items.Set(of.of("state", state), struct{}{})
	}
	n := 0
	for name := range rawjson.Members(requests) {
		if n++; n > mostAsked {
			return
		}
		b.items.Set(of.of("question", name), struct{}{})
	}
}

// stateOf returns the state in a result or in params, which is a string: an object could carry something in the order
// of its members. Escapes in it are measured.
func stateOf(doc json.RawMessage) (string, bool) {
	raw, _ := rawjson.Get(doc, protocol.RequestState)
	return rawjson.String(raw)
}

// ComesBack returns the error of a call with a state that the server did not give in answer to the same call of the
// agent session, or with answers to questions that it did not ask there. Each counts once.
func (b *Book) ComesBack(c *Call) error {
	if !protocol.Returns(c.Params) {
		return nil
	}
	of := c.item()
	b.mu.Lock()
	defer b.mu.Unlock()
	var used []item
	noted := func(kind, text string) bool {
		i := of.of(kind, text)
		used = append(used, i)
		if b.items == nil {
			return false
		}
		_, ok := b.items.Get(i)
		return ok
	}
	given := func(json.RawMessage) bool {
		state, ok := stateOf(c.Params)
		return ok && noted("state", state)
	}
	err := protocol.ComesBack(c.Params, given, func(name string) bool { return noted("question", name) })
	if err == nil {
		for _, i := range used {
			b.items.Delete(i)
		}
	}
	return err
}
