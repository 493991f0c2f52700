package trace

import (
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/overlay"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/session"
)

// Operations on the traces of a session, as methods of [Tracer].
const (
	doAddUserMessages = iota + 1
	doDescribe
	doTrace
	doCharge // doTrace, on the accounts of the receivers
	doAddCall
	doExpectUntrusted
	doAwait
	doAddResult
	doAddLabel
	doDischarge
	doAccept // doDischarge, of a call that a person has accepted
	doCovers
	doGrant
)

// version is that of operations between processes, and of their answers.
const version = 1

// An op is an operation on the traces of a session. Texts of JSON are bytes in it, so that they arrive as they were
// written: how much a call tells depends on that.
type op struct {
	V       int         `json:",omitempty"` // between processes
	Do      int         //
	Ref     session.Ref // the session
	Since   string      `json:",omitempty"` // the epoch in which the asker last heard of it; "": it never has
	Trusted string      `json:",omitempty"` // text that counts as the user's own

	Domains []string   `json:",omitempty"` // the operator's own
	Me      []string   `json:",omitempty"` // the user's own addresses
	Readers Readership // of private data

	Call      *Call           `json:",omitempty"`
	Facts     *facts          `json:",omitempty"`
	Finding   *Finding        `json:",omitempty"`
	Texts     []string        `json:",omitempty"`
	Result    []byte          `json:",omitempty"`
	Directory []overlay.Named `json:",omitempty"`
	Label     label.Label     `json:",omitzero"`
	Server    string          `json:",omitempty"`
	Scope     Scope           `json:",omitzero"`
}

// An answer is the outcome of an op.
type answer struct {
	V       int      `json:",omitempty"` // between processes
	Epoch   string   // of the memory
	Yes     bool     `json:",omitempty"`
	Facts   *facts   `json:",omitempty"`
	Finding *Finding `json:",omitempty"`
}

// Facts are those of policy that tracing reads and fills in.
type facts struct {
	Session   policy.SessionFacts
	Roles     policy.Roles
	Resources policy.Resources
	Call      policy.CallFacts
	Server    string

	PlainRead, Egress bool
}

func factsOf(f *policy.Facts) *facts {
	return &facts{f.Session, f.Roles, f.Resources, f.Call, f.Server.Name, f.PlainRead(), f.Egress()}
}

// brief returns the call without its arguments.
func (c *Call) brief() *Call {
	b := *c
	b.Params, b.Arguments, b.Schema, b.UndeclaredNames, b.UndeclaredParams = nil, nil, nil, nil, nil
	return &b
}
