package rpc

import (
	"context"
	"encoding/json"
)

// A Conn carries messages in both directions. All methods may be called concurrently with each other; Read is meant for
// one goroutine.
type Conn interface {
	// Read returns the next message. A [*BadMessage] is not fatal: the caller answers or reports it, and reads on. Any
	// other error ends the connection, io.EOF if the peer ended it in order.
	Read(ctx context.Context) (*Message, error)

	// Write sends a message. An error may concern this message only.
	Write(ctx context.Context, m *Message) error

	// Close ends the connection and makes Read return. It may be called more than once.
	Close() error
}

// A BadMessage is the error for something received that is not a message.
type BadMessage struct {
	Err     *Error          // the reason, fit to be sent back; its ID is set if a request was meant and its id is known
	Answers json.RawMessage // the id of the request that it was meant to answer; nil if unknown, or no answer was meant
	Raw     []byte          // the beginning of it, at most 256 bytes
}

// rawPrefix is the length of BadMessage.Raw.
const rawPrefix = 256

func (e *BadMessage) Error() string { return e.Err.Error() + ": " + quoted(e.Raw) }

func (e *BadMessage) Unwrap() error { return e.Err }

// NewBadMessage describes data, a whole message that Parse refused for the reason e.
func NewBadMessage(e *Error, data []byte) *BadMessage {
	return glanceAt(data).bad(e, data)
}

// bad describes the message that was looked at.
func (g *glance) bad(e *Error, prefix []byte) *BadMessage {
	b := &BadMessage{Err: e, Raw: append([]byte(nil), prefix[:min(len(prefix), rawPrefix)]...)}
	switch {
	case g.request:
		e.ID = g.id()
	case g.response:
		b.Answers = g.id()
	}
	return b
}

type relatedKey struct{}

// WithRelated marks messages that are written with this context as belonging to the request with that id, which the
// peer made. Transports with a stream for each request (HTTP) put it there; others need not care.
func WithRelated(ctx context.Context, id json.RawMessage) context.Context {
	return context.WithValue(ctx, relatedKey{}, id)
}

// Related returns the id of WithRelated, or nil.
func Related(ctx context.Context) json.RawMessage {
	id, _ := ctx.Value(relatedKey{}).(json.RawMessage)
	return id
}
