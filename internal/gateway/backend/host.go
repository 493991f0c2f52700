// Package backend holds a gateway's connections to its servers.
//
// A [Registry] knows the servers as they are configured. A [Set] is the connections that one host connection, or
// several hosts that may share, have to all of them; a [Conn] is the connection to one server, dialled when it is
// needed and again after the server has died. Messages that servers send on their own go to the [Audience] of the set.
// The package decides nothing: hosts implement [Host], and ask the guard before they pass on a server's question.
package backend

import (
	"context"

	"github.com/weir-mcp/weir/internal/rpc"
)

// A Host is one host connection.
type Host interface {
	// Write sends the host a message, on the stream of the request that ctx belongs to.
	Write(ctx context.Context, m *rpc.Message)

	// TakesRequests reports whether servers can send the host requests.
	TakesRequests() bool

	// Inquire puts a request of a server to the host, and returns the host's answer under the server's id.
	Inquire(ctx context.Context, c *Conn, m *rpc.Message) *rpc.Message
}
