package policy

import (
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/label"
)

// Facts is everything that a policy may look at. The caller fills it and must not change it during [Policy.Decide].
type Facts struct {
	Phase   Phase
	Method  string // "tools/call", "resources/read", "prompts/get", or that of a question that the server asks
	Tool    ToolFacts
	Server  ServerFacts
	Session SessionFacts

	// Arguments is call.arguments: a JSON object, or nil if the call has none. Member names must be unique; the caller
	// has checked that. It is decoded at most once for a decision, and only if a rule reads it.
	Arguments []byte

	// Response is the label of this result. It is nil on a call.
	Response      *label.Label
	ResponseError bool // the result says that the call went wrong
}

// ToolFacts is what is known of the tool, or of the resource or prompt that is read.
type ToolFacts struct {
	Name string // as the server calls it; the URI of a resource

	// Annotations is the contract to decide by, as [contract.Effective] returns it. What it leaves unknown is assumed
	// (see [contract.Contract.Assume]), so the zero contract is the worst.
	Annotations contract.Contract

	Declared contract.Contract // what the server says, whether or not it is trusted
}

// ServerFacts is what is known of the server.
type ServerFacts struct {
	Name  string         // as the operator calls it
	Trust contract.Trust // how far the operator trusts it
}

// SessionFacts is what is known of the agent session.
type SessionFacts struct {
	ID     string
	Parent string      // the id of the parent session; "" if there is none
	Label  label.Label // the join of all that entered the session
	Calls  int         // calls made before this one
}
