package guard

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/overlay"
	"github.com/weir-mcp/weir/policy"
)

// forArguments returns the call with the contract that counts for its arguments, if anything is said beyond Effective.
func (c *Call) forArguments() *Call {
	anything := c.anything()
	if c.Overlay == nil && c.Resolved == nil && anything == "" {
		return c
	}
	narrow := *c
	said, notes := c.refine()
	if c.listed() {
		said = said.Over(contract.Reading())
	}
	narrow.notes = notes
	var resolved contract.Contract
	if c.Resolved != nil {
		resolved = *c.Resolved
	}
	said, effective := contract.ForCall(said, c.Declared, resolved, c.Trust)
	said, narrow.Effective = said.Raise(c.Overlay.Drafted()), effective.Raise(c.Overlay.Drafted())
	if anything != "" {
		// Nobody speaks of such a call, so what is said of others can only raise.
		said, narrow.Effective = said.Raise(contract.Pessimistic()), contract.Join(narrow.Effective, c.Effective).Raise(contract.Pessimistic())
		narrow.notes = append(slices.Clone(notes), overlay.Note{Entry: "input schema", Why: anything})
	}
	narrow.said = &said
	return &narrow
}

// anything says why a call may do anything, whatever is said of its tool; "" if it may not.
func (c *Call) anything() string {
	switch {
	case c.Violates != "":
		return c.Violates + ", so it may do anything with them"
	case c.read.runs != "":
		return "it may run " + c.read.runs + ", which a stranger may have put there"
	}
	return ""
}

// strangersRun returns the label of what acts in a call that runs what a stranger has put there: it is decided as one of the stranger's.
func (c *Call) strangersRun() label.Label {
	if c.read.runs == "" {
		return label.Label{}
	}
	return strangers()
}

// listed reports whether the call is about a resource that its server lists, in which the agent chooses nothing.
func (c *Call) listed() bool {
	return strings.HasPrefix(c.Method, "resources/") && c.Arguments == nil && c.Undeclared.Params == nil
}

// Resolved takes what the server says of this very call: the contract that its tools/resolve gave for the arguments. What is
// outside of the tool's declaration is recorded as a defect, and raises only.
func (g *Guard) Resolved(ctx context.Context, c *Call, resolution contract.Contract) error {
	for _, member := range c.Declared.Narrows(resolution) {
		d := annotation.Defect{Where: "tools/resolve annotations." + member, Reason: "the resolution is outside of what the tool declares"}
		if err := g.Defect(ctx, c, d); err != nil {
			return err
		}
	}
	c.Resolved = &resolution
	return nil
}

// MayAsk reports whether the call's server may be shown the call's arguments before the call is decided, so that it can
// resolve the contract. To show them is egress like the call itself, so the server is asked about a call that would go out without
// its word, which can then only make the decision stricter. Only a trusted server is shown them where policy would let the agent
// read from within with them: what the call itself would do with them is what is asked. Nothing is counted, raised or recorded.
func (g *Guard) MayAsk(ctx context.Context, c *Call) (bool, error) {
	static := *c
	static.Resolved = nil
	question := *g.located(&static).forArguments()
	if c.Trust == contract.Trusted {
		said := asking.Over(question.whatIsSaid())
		question.said, question.Effective = &said, asking.Over(question.Effective)
	}
	v, err := g.peek(ctx, &question)
	return v.Allowed(), err
}

// asking is what it is to resolve a call: its arguments go to the server, and nothing happens.
var asking = contract.Contract{
	ReadOnly: contract.Yes, Destructive: contract.No, OpenWorld: contract.No,
	Destinations: contract.Possible(contract.Internal), Outcomes: contract.Possible(contract.Benign),
}

// MethodResolve is the request that narrows a tool's contract to arguments (SEP-1862).
const MethodResolve = "tools/resolve"

// A Resolution is what a call would be.
type Resolution struct {
	Contract contract.Contract // what counts for its arguments
	Verdict  Verdict           // what would be decided, without question and params
}

// Resolve is Before without effects: it says what the call would be and what would be decided of it at the moment. Nothing is
// counted, raised, recorded or redeemed.
func (g *Guard) Resolve(ctx context.Context, c *Call) (Resolution, error) {
	narrow := g.located(c).forArguments()
	v, err := g.peek(ctx, narrow)
	if err != nil {
		return Resolution{}, err
	}
	return Resolution{narrow.Effective, v}, nil
}

// peek returns what would be decided of a call whose contract is settled.
func (g *Guard) peek(ctx context.Context, c *Call) (Verdict, error) {
	if v, barred := g.barrier(c); barred {
		return v, nil
	}
	state, err := g.opts.Sessions.Peek(ctx, c.Session)
	if err != nil {
		return Verdict{}, fmt.Errorf("reading the agent session: %w", err)
	}
	claimed, _ := g.opts.Words.Reader.ReadRequest(c.Params)
	told := label.Join(claimed, c.Context)
	state.Label = label.Join(label.Join(state.Label, told), c.strangersRun())
	by := g.rules.Load()
	facts := c.facts(policy.OnCall, state)
	found := g.tracer.Trace(c.traced(), facts, false)
	if told.Sensitivity.Has(label.Credentials) { // which come from nobody knows where
		facts.Call.Crosses = found.Tells()
	}
	d := by.decide(facts, c.read.forms)
	return Verdict{Effect: by.mode.Apply(d.Effect), Rule: d.Rule, Message: d.Message}, nil
}

// whatIsSaid returns what operator and server say of the call.
func (c *Call) whatIsSaid() contract.Contract {
	if c.said != nil {
		return *c.said
	}
	return c.Declared
}

// ruled returns what the operator's rules for results make of one. They cannot read a question of the server, so there they
// count as matched.
func (c *Call) ruled(result json.RawMessage) label.Label {
	if c.within != nil {
		return c.within.Overlay.Label(nil)
	}
	return c.Overlay.Label(result)
}

// parts returns what the operator says that the arguments are for.
func (c *Call) parts() (policy.Roles, policy.Resources) {
	roles, resources := c.Overlay.Roles(c.Arguments), c.Overlay.Resources(c.Arguments)
	if _, ok := c.unnamed(); ok || c.anything() != "" {
		roles = overlay.Roles{} // an argument that nobody names may be a destination too
	}
	return policy.Roles{
		Known: roles.Known, Cut: roles.Cut, Destinations: arguments(roles.Destinations), Contents: arguments(roles.Contents),
	}, policy.Resources{Known: resources.Known, Reads: resources.Reads, Writes: resources.Writes}
}

func arguments(all []overlay.Argument) []policy.Argument {
	out := make([]policy.Argument, len(all))
	for i, a := range all {
		out[i] = policy.Argument(a)
	}
	return out
}
