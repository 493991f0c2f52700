// Package interceptor implements interceptors for the Model Context Protocol (SEP-2624, extension
// io.modelcontextprotocol/interceptors): a [Host] offers them, a [Plan] runs them.
//
// An interceptor is a validator, which accepts or refuses a payload, or a mutator, which replaces it. A host
// answers the two methods of the extension; who reads its messages hands it their params:
//
//	host, err := interceptor.NewHost(interceptor.Interceptor{
//		Descriptor: interceptor.Descriptor{Name: "no-secrets", Hooks: interceptor.On("tools/call")},
//		Validate:   validate,
//	})
//	result, err := host.Invoke(ctx, params) // of interceptor/invoke
//
// An invoker collects the descriptors of its hosts and runs those of one event:
//
//	plan := interceptor.NewPlan(entries, "tools/call", interceptor.Request)
//	outcome := plan.Run(ctx, interceptor.Sending, payload)
//
// The text is the draft of September 2026 (docs/sep.md of the working group's repository); sections are cited by their
// titles. The package promises:
//
//   - A failure blocks: an error, a panic, a timeout, a result that is malformed or of another interceptor. Only
//     failOpen or the mode audit, which the invoker sees, lets the payload go on.
//   - Whoever sent them, params, results and payloads that two JSON parsers could read differently are refused.
//   - A plan depends on descriptors and the invoker's overrides alone, not on payloads or timing.
//   - The zero Outcome blocks, and a blocked outcome has no payload.
package interceptor
