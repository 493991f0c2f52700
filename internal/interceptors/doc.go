// Package interceptors decides for invokers of interceptors (SEP-2624): a host, a gateway or a server that sends
// Weir the payloads of its calls in place of having them pass through it.
//
//	d, err := interceptors.New(interceptors.Options{Guard: g, Questions: book, Servers: servers, Logger: log})
//	err = d.Serve(ctx, conn, agentsession.LocalPrincipal)
//
// There are three interceptors, of tools/call, resources/read and prompts/get, and a fourth where findings are
// redacted:
//
//   - weir-call, a validator of requests, is guard.Before. A request that an approver has to accept is invalid
//     until then.
//   - weir-result, a validator of responses, is guard.Observe.
//   - weir-annotate, a mutator of responses, returns the result with its label as hosts behind the gateway get it.
//   - weir-redact, a mutator of requests and responses, replaces values as the gateway does in messages to hosts.
//
// Promises:
//
//   - The invoker carries decisions out, and may ignore them. So the agent session is raised by the contract of a call
//     before the call is called valid, and by each result, valid or not.
//   - An error is a failed invocation (-32603), never a valid payload. If it comes from a result, the agent session
//     counts as one of which nothing is known.
//   - A payload names no server: the invoker's configuration does, and only servers of the operator's configuration
//     exist.
//   - A response names no call. It belongs to the call of the same span, or else to each call that is open: its label
//     is that of all of them. Without any it is the result of a tool that may do anything.
package interceptors
