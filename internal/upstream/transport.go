package upstream

import (
	"context"
	"encoding/json"

	"github.com/weir-mcp/weir/internal/rpc"
)

// A transport carries a connection's messages. It has a receiver from the beginning.
type transport interface {
	// run passes the server's messages to the receiver until the transport ends, and returns why, io.EOF if the server
	// ended it in order. It is called once.
	run() error

	// Write sends a message. An error concerns this message only, unless it wraps ErrClosed.
	Write(ctx context.Context, m *rpc.Message) error

	// Close ends the transport. It may be called more than once.
	Close() error

	// settle says which revision was agreed on. It is called once at most, before requests other than the handshake's.
	settle(protocol string)
}

// A receiver takes a server's messages. A transport with several streams calls it from several goroutines, but never
// from the one that called Write, save for the answer to that message.
type receiver interface {
	// dispatch takes a message.
	dispatch(m *rpc.Message)

	// refuse takes something that is no message.
	refuse(bad *rpc.BadMessage)

	// fail says that the request with that id will get no answer, and why.
	fail(id json.RawMessage, err error)

	// defect takes other mistakes of the server, as [Handler.Defect] has it.
	defect(reason, format string, args ...any)
}
