// Package trace finds out where the arguments of a call came from, where the call goes, and how much it can tell.
//
// A [Tracer] remembers, for each agent session, the user's words, the results that the agent was shown, the places that
// calls went to and the bits that their receivers were told. [Tracer.Trace] traces each value of a call by that and
// fills in the facts of policy. It decides nothing.
//
// All of it is in a [Memory] and bounded: that of this process ([Here]), or of another one that several processes
// share ([There]). A session that was evicted begins anew without any knowledge: every value is novel, every destination is the
// first, and private data counts as having come from anywhere. So does one that a memory has lost.
package trace

import (
	"context"
	"fmt"

	"github.com/weir-mcp/weir/internal/address"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/overlay"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/session"
)

// Options configures a Tracer.
type Options struct {
	TrustText string     // text that counts as the user's own in every session
	Domains   []string   // the operator's own domains, in lower case; subdomains count
	Me        []string   // the user's own mail addresses
	Readers   Readership // who may read the private data of servers
	Memory    Memory     // of agent sessions; nil: one of the tracer's own, of 32 MiB
}

// A Tracer traces the calls of agent sessions. Make one with [New]. It is safe for concurrent use. An error of its
// methods says that the memory could not be asked: whatever depends on it must not happen.
type Tracer struct {
	memory  Memory
	trusted string
	domains []string
	me      []string // names of address.BareMail
	readers Readership
}

// New returns a tracer.
func New(opts Options) *Tracer {
	if opts.Memory == nil {
		opts.Memory = NewHere(nil, nil)
	}
	t := &Tracer{memory: opts.Memory, trusted: opts.TrustText, domains: opts.Domains, readers: opts.Readers}
	for _, own := range opts.Me {
		t.me = append(t.me, address.BareMail(own))
	}
	return t
}

// A Call is a call as it is traced.
type Call struct {
	ID      string // for [Tracer.Await]
	Session session.Ref
	Server  string
	Vouched bool   // the operator trusts or knows the server
	Name    string // of the tool, the prompt or the resource
	URI     string // of the tool, as a source

	Params    []byte // of the request, as the host sent them
	Arguments []byte // the agent's choice: a JSON object, or nil
	Schema    []byte // of the arguments; nil if none is known

	UndeclaredNames  []string // of members of the arguments that the schema does not name
	UndeclaredParams []byte   // members of the params that MCP does not have for the method

	Host    bool // it is a tool of the host itself, to which nothing crosses that the agent knows
	Keeps   bool // the server may keep the arguments
	Inquiry bool // it is the answer to a server's question
}

// AddUserMessages notes messages that the user wrote. It reports whether there was room for all of them.
func (t *Tracer) AddUserMessages(ctx context.Context, ref session.Ref, texts []string) (bool, error) {
	a, err := t.do(ctx, &op{Do: doAddUserMessages, Ref: ref, Texts: texts})
	return a.Yes, err
}

// Describe fills in the facts of the session that do not depend on the call.
func (t *Tracer) Describe(ctx context.Context, ref session.Ref, f *policy.SessionFacts) error {
	a, err := t.do(ctx, &op{Do: doDescribe, Ref: ref, Facts: &facts{Session: *f}})
	if err == nil {
		*f = a.Facts.Session
	}
	return err
}

// Trace traces the arguments of a call, and adds to the facts the origins, the destinations and the amount that it can
// tell. If charge is set the amount is put on the accounts of its receivers: [Tracer.Discharge] takes it back.
func (t *Tracer) Trace(ctx context.Context, c *Call, f *policy.Facts, charge bool) (*Finding, error) {
	o := &op{Do: doTrace, Ref: c.Session, Call: c, Facts: factsOf(f), Domains: t.domains, Me: t.me, Readers: t.readers}
	if charge {
		o.Do = doCharge
	}
	a, err := t.do(ctx, o)
	if err != nil {
		return nil, err
	}
	f.Session, f.Call = a.Facts.Session, a.Facts.Call
	return a.Finding, nil
}

// AddCall notes an allowed call. In a session with untrusted content, values that the agent makes up or passes on count
// as untrusted from then on, so that they do not come back as a trusted server's own. It reports whether the call is
// the first that the tracer knows of the session.
func (t *Tracer) AddCall(ctx context.Context, c *Call, f *policy.Facts, found *Finding) (first bool, err error) {
	a, err := t.do(ctx, &op{Do: doAddCall, Ref: c.Session, Call: c.brief(), Facts: factsOf(f), Finding: found})
	return a.Yes, err
}

// ExpectUntrusted notes that untrusted data is about to raise the session: a call that sees the label then knows its
// source.
func (t *Tracer) ExpectUntrusted(ctx context.Context, ref session.Ref) error {
	_, err := t.do(ctx, &op{Do: doExpectUntrusted, Ref: ref})
	return err
}

// Await notes that the agent may see the answer to a call before it is noted here: until it is, any value may be private data.
func (t *Tracer) Await(ctx context.Context, ref session.Ref, id string) error {
	_, err := t.do(ctx, &op{Do: doAwait, Ref: ref, Call: &Call{ID: id}})
	return err
}

// AddResult notes an answer that the agent gets to see, with its label. The directory lists names of things in it. Nothing
// that came from a tool of the host counts as a trusted source's: whoever can run commands on this machine can tell of
// such answers.
func (t *Tracer) AddResult(ctx context.Context, c *Call, answer []byte, l label.Label, directory []overlay.Named) error {
	_, err := t.do(ctx, &op{Do: doAddResult, Ref: c.Session, Call: c.brief(), Result: answer, Label: l, Directory: directory})
	return err
}

// AddLabel notes the data of a label that raises a session, and with it those above, which do not see the data itself.
// The server is that of the result that brings it; "" if the source is not known.
func (t *Tracer) AddLabel(ctx context.Context, ref session.Ref, l label.Label, server string) error {
	if l.IsZero() {
		return nil // which no trace tells from none
	}
	_, err := t.do(ctx, &op{Do: doAddLabel, Ref: ref, Label: l, Server: server})
	return err
}

// Discharge takes a call off the accounts that did not go, and clears them if a person has accepted exactly this call.
func (t *Tracer) Discharge(ctx context.Context, c *Call, f *policy.Facts, found *Finding, accepted bool) error {
	o := &op{Do: doDischarge, Ref: c.Session, Call: c.brief(), Facts: factsOf(f), Finding: found}
	if accepted {
		o.Do = doAccept
	}
	_, err := t.do(ctx, o)
	return err
}

// A Scope names the circumstances that have to be the same for an approval to cover a call: Place with its destinations,
// Any without.
type Scope struct{ Place, Any string }

// Covers reports whether an earlier approval covers the call: every value is one that its request showed. The user's
// own words, but for the destination, and numbers of a few digits may differ, and calls may come again, until they have
// carried grantBits.
func (t *Tracer) Covers(ctx context.Context, ref session.Ref, scope Scope, found *Finding) (bool, error) {
	a, err := t.do(ctx, &op{Do: doCovers, Ref: ref, Scope: scope, Finding: found})
	return a.Yes, err
}

// Grant keeps an approval of the call for later calls in the same scope, and for calls to the pages that its request
// showed beside.
func (t *Tracer) Grant(ctx context.Context, ref session.Ref, scope Scope, found *Finding) error {
	_, err := t.do(ctx, &op{Do: doGrant, Ref: ref, Scope: scope, Finding: found})
	return err
}

// do carries out an operation. Its answer is never nil.
func (t *Tracer) do(ctx context.Context, o *op) (*answer, error) {
	o.Trusted = t.trusted
	a, err := t.memory.do(ctx, o)
	if err != nil {
		return &answer{}, fmt.Errorf("asking the memory of the agent session: %w", err)
	}
	return a, nil
}
