// Package tracker keeps the label of one agent session in a host that has rules of its own: the client of SEP-1913
// (Reference Implementation), with the aggregation of package label and the worst case of package contract. It has no
// policy, no store, and it needs no SDK.
//
//	var seen tracker.Tracker
//	tool := tracker.Tool{Declared: declared, Trust: contract.Trusted} // declared by annotation.ReadTool
//	conflicts := seen.Conflicts(tool)                                 // before the call: the host's rules decide
//	params, err := seen.Request(params, false)                        // the call tells its server of untrusted content
//	l, err := seen.Result(tool, result)                               // before the agent reads the result
//
// The label only rises. A server's silence counts as the worst case, and claims of a server that is not trusted only
// raise. A host that wants decisions, approval requests and a record uses package mcpguard.
package tracker

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/store"
)

// A Tool is a tool of a server that the operator trusts so far. The zero Tool declares nothing and is not trusted.
type Tool struct {
	Declared contract.Contract // by the server, or by the host where that knows better
	Trust    contract.Trust
}

// A Tracker is the label of one agent session. The zero Tracker has seen nothing. Its methods may be used concurrently;
// a host that runs calls at the same time checks each of them for conflicts before it starts the first.
type Tracker struct {
	mu   sync.Mutex
	seen label.Label
}

// Label returns the join of all that the session has seen.
func (t *Tracker) Label() label.Label {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.seen
}

// Raise joins the label of data that enters the session in another way: an attached file, an earlier conversation, the
// label that the host kept of this one.
func (t *Tracker) Raise(l label.Label) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seen = store.Limits{}.Join(t.seen, l.Normal())
}

// Result raises the session by a result of the tool, or by a JSON-RPC error object, and returns its label: the join of
// its annotations with the declaration. A trusted server's statement on this result narrows the declaration. Malicious
// is for the user to hear of (SEP-1913, Client Responsibilities).
//
// A document that two parsers could read differently is an error. Such a document is not for the agent; the session is
// raised all the same, by all that it may hold.
func (t *Tracker) Result(tool Tool, result []byte) (label.Label, error) {
	l, err := labelOf(tool, result)
	t.Raise(l)
	return l, err
}

func labelOf(tool Tool, result []byte) (label.Label, error) {
	if err := annotation.Check(result); err != nil {
		return unreadable(tool, result), fmt.Errorf("reading a result: %w", err)
	}
	claim, _ := annotation.ReadResult(result) // a defect claims nothing
	var stated contract.Contract
	if tool.Trust == contract.Trusted {
		stated = contract.Contract{OpenWorld: claim.Stated.OpenWorld, Sources: claim.Stated.Sources, Returns: claim.Stated.Returns}
	}
	_, from := contract.ForCall(contract.Contract{}, tool.Declared, stated, tool.Trust)
	return label.Join(from.Label(), claim.Label).Normal(), nil
}

// unreadable returns the label of a result of which nothing is known: all classes, what the tool declares, and
// malicious if its text may say so.
func unreadable(tool Tool, result []byte) label.Label {
	_, from := contract.ForCall(contract.Contract{}, tool.Declared, contract.Contract{}, tool.Trust)
	return label.Join(from.Label(), label.Label{
		Untrusted: true, Private: true, Sensitivity: label.SetOf(label.Classes()...), Sources: label.SetOf(label.UntrustedPublic),
		Malicious: bytes.Contains(result, []byte("maliciousActivityHint")) || bytes.Contains(result, []byte(`\u`)), // a spelling of a letter
	}).Normal()
}

// Request returns the params of a request with the session's label in their annotations, as far as requests can state
// it: whether untrusted content is in it, and if wanted its attribution, which names origins to the server.
func (t *Tracker) Request(params []byte, withAttribution bool) ([]byte, error) {
	if err := annotation.Check(params); err != nil {
		return nil, fmt.Errorf("annotating a request: %w", err)
	}
	return annotation.WriteRequest(params, t.Label(), withAttribution)
}
