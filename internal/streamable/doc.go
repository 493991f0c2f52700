// Package streamable is the server side of MCP's Streamable HTTP binding, on raw JSON-RPC messages.
//
// A [Handler] is an http.Handler for one endpoint. It turns requests of clients into connections ([rpc.Conn]) and
// gives each to the function in [Options.Serve]; it knows no method but initialize, and looks at no member of a
// message that the binding does not name. Both eras of the protocol are spoken at the same endpoint, chosen by
// each request:
//
//	h := streamable.New(streamable.Options{Serve: serve})
//	srv := streamable.NewServer(h)
//	go srv.Serve(listener)
//	…
//	h.Close()
//
// # Revisions 2025-03-26 to 2025-11-25
//
// A connection is a session. An initialize request without Mcp-Session-Id opens one; its answer carries the id, 130
// random bits, which every later request must name (400 without, 404 if there is no such session, or none of this
// principal). GET opens the standing stream, for messages that belong to no request; a second GET takes its place.
// DELETE ends the session, and so do an initialize that was answered with an error, and Serve by returning. After
// [Options.IdleTimeout] without a request or stream, or when the budget has no room for others, it sleeps: the call of
// Serve ends, and the next request of the client, within a day, begins another one with the same SessionID and the same
// initialize. What goes to a request that the client waits for goes onto that request's response; a request or
// notification that Serve writes with [rpc.WithRelated] goes there too, or, once that response is over, to the standing
// stream like all others. A client that hangs up does not cancel its request (that takes notifications/cancelled); the
// answer is then dropped, since streams are not resumable here.
//
// # Revision 2026-07-28 and later
//
// A connection is one POST. Read gives its message, then blocks until the response was written or the client is
// gone, and then reports io.EOF; a client that hangs up also cancels the context of Serve, which is how
// requests are cancelled in this era. Everything written goes to that response. Requests cannot be written
// ([ErrUndelivered]): questions of the server to the client travel in results. A notification is
// answered with 202 when Serve returns. A request that carries both an older revision's session id and the
// headers of this era belongs to this era.
//
// Headers must repeat the body, in every request: MCP-Protocol-Version is _meta's
// io.modelcontextprotocol/protocolVersion, Mcp-Method the method, Mcp-Name the name (tools/call, prompts/get)
// or uri (resources/read), the last perhaps as =?base64?…?=. Mcp-Param-* headers are not looked at: they are
// for whoever knows the tools. A header that is missing, different or sent twice is refused with 400 and code
// -32020.
//
// # Responses
//
// A response that comes before anything else is sent as application/json; in the era of 2026-07-28 its HTTP
// status is then 404 for error -32601, and 400 for -32602, -32020, -32021 and -32022. Everything else is sent
// as text/event-stream, one event a message, one line an event, and so is every result if the client's Accept
// names that type first:
//
//	data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":1}}
//
// After [Options.KeepAlive] of silence comes a comment line, and a response that has not begun begins as a
// stream, so that nothing between client and gateway takes a long approval for a dead connection.
//
// Write never waits for the client. What it hands over lies in a queue for each response, of at most 256
// messages and [Options.MaxBody] bytes; when that is full the oldest notifications give way, and a request is
// refused with [ErrUndelivered]. A response is always taken. So a slow reader costs others nothing, and one
// that reads nothing for 30 seconds loses its response.
//
// # Refusals
//
// Before Serve hears of a request:
//
//	403  Host is not that of a loopback address, on a loopback connection (DNS rebinding; see Options.AllowedHosts)
//	403  Origin is given, and neither the host that was asked nor in Options.AllowedOrigins
//	405  another method; GET and DELETE from 2026-07-28 on
//	406  Accept does not admit application/json and text/event-stream (GET: the latter)
//	408  the body took longer than two minutes
//	413  the body is longer than Options.MaxBody
//	415  Content-Type is not application/json, or there is a Content-Encoding
//	400  bad JSON, duplicate member names, bad UTF-8 (-32700), no JSON-RPC message, a batch (-32600)
//	400  a revision that is not in Options.Versions (-32022), headers against body (-32020), no revision in _meta (-32602)
//	400  no Mcp-Session-Id, an id that another request of the session still uses, a response from 2026-07-28 on (-32600)
//	503  the budget has no room; the handler is closed
//
// Those with a code carry a JSON-RPC error, the others plain text: clients take a 404 with a JSON-RPC error for
// the answer to one request, and one without for the end of the session.
package streamable
