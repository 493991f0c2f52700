package guard

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard/trace"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/overlay"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/session"
)

// A request is a call, parsed once for its decision and that on its answer. Its Effective is the contract for its
// arguments.
type request struct {
	Call
	tool      contract.Contract // that counts for all arguments
	uri       string
	canonical canonical // of the params; only of a request that is decided
	reading   reading   // of its paths

	roles     overlay.Roles     // of the arguments, by the operator
	resources overlay.Resources // that they name
	texts     []Text            // of the call, as it may touch files; nil before a look at that
	said      contract.Contract // by operator and server, for the arguments
	step      bool              // it is decided on as a step of a plan that nobody has approved
	revealing *Call             // the agent's request to see the answer, which was hidden; nil if there is none
	notes     []overlay.Note    // why the operator says that for the arguments
	decided   session.State     // the agent session, by which the call is decided
	entered   bool              // the user's messages with it, and its defects, were noted
	counted   bool              // it was counted with its decision
}

// A reading is how the server may read the paths of a call at one moment.
type reading struct {
	forms  []json.RawMessage // further readings of the arguments: with each path as it leads for the server
	unsure bool              // a path may lead elsewhere too
	runs   string            // untrusted content on this machine that the call may run; "" if none
}

func (r *reading) equal(other *reading) bool {
	same := func(a, b json.RawMessage) bool { return string(a) == string(b) }
	return r.unsure == other.unsure && r.runs == other.runs && slices.EqualFunc(r.forms, other.forms, same)
}

// newRequest returns the call with the parts that its overlay gives its arguments. Its contract has to be refined.
func newRequest(c *Call) *request {
	return &request{
		Call: *c, tool: c.Effective, uri: c.URI(), said: c.Declared,
		roles: c.Overlay.Roles(c.Arguments), resources: c.Overlay.Resources(c.Arguments),
	}
}

// refine finds the contract that counts for the arguments, by a reading of their paths.
func (r *request) refine(at reading) {
	r.reading = at
	anything := r.anything()
	if r.Overlay == nil && r.Resolved == nil && anything == "" {
		return
	}
	said, notes := r.refinement()
	if r.listed() {
		said = said.Over(contract.Reading())
	}
	var resolved contract.Contract
	if r.Resolved != nil {
		resolved = *r.Resolved
	}
	said, effective := contract.ForCall(said, r.Declared, resolved, r.Trust)
	said, effective = said.Raise(r.Overlay.Drafted()), effective.Raise(r.Overlay.Drafted())
	if anything != "" {
		// Nobody speaks of such a call, so descriptions of others can only raise.
		said, effective = said.Raise(contract.Pessimistic()), contract.Join(effective, r.tool).Raise(contract.Pessimistic())
		notes = append(slices.Clone(notes), overlay.Note{Entry: "input schema", Why: anything})
	}
	r.said, r.Effective, r.notes = said, effective, notes
}

// anything says why a call may do anything, against the descriptions of its tool; "" if it may not.
func (r *request) anything() string {
	switch {
	case r.Violates != "":
		return r.Violates + ", so it may do anything with them"
	case r.reading.runs != "":
		return "it may run " + r.reading.runs + ", which a stranger may have put there"
	}
	if name, ok := r.Overlay.Option(r.Arguments); ok {
		return fmt.Sprintf("its argument %+.80q holds an option for the program that it starts", name)
	}
	return ""
}

// refinement returns the operator's contract for the arguments: for each reading of the paths, the worst of them all.
func (r *request) refinement() (contract.Contract, []overlay.Note) {
	said, notes := r.Overlay.Refine(r.Arguments)
	if r.reading.unsure && r.Overlay.Refines() {
		return r.Overlay.Static(), append(notes, overlay.Note{Why: "a path of the call may lead elsewhere"})
	}
	if name, ok := r.unnamed(); ok && r.Overlay.Refines() {
		return r.Overlay.Static(), append(notes, overlay.Note{
			Entry: "input schema", Why: fmt.Sprintf("nothing is said of the argument %+.80q", name),
		})
	}
	for _, form := range r.reading.forms {
		more, why := r.Overlay.Refine(form)
		said = contract.Join(said, more)
		for _, note := range why {
			if !slices.Contains(notes, note) {
				notes = append(notes, note)
			}
		}
	}
	return said, notes
}

// unnamed returns a member of the arguments that may change the meaning of others and that the overlay does not name:
// one that the schema does not name either, or one that acts (see [overlay.Tool.Unspoken]).
func (r *request) unnamed() (path string, ok bool) {
	i := slices.IndexFunc(r.Undeclared.Beside, func(path string) bool { return !r.Overlay.Names(path) })
	if i < 0 {
		return r.Overlay.Unspoken(r.Arguments)
	}
	return r.Undeclared.Beside[i], true
}

// listed reports whether the call is about a resource that its server lists, in which the agent chooses nothing.
func (r *request) listed() bool {
	return strings.HasPrefix(r.Method, "resources/") && r.Arguments == nil && r.Undeclared.Params == nil
}

// actor returns the label of content that acts in the call beside the agent: a call that runs untrusted content is decided as one of its
// authors, and one with hidden values in its arguments as one of an agent that has read them.
func (r *request) actor() (l label.Label) {
	for i := range r.Uses {
		l = label.Join(l, r.Uses[i].Label)
	}
	if r.Computed {
		l = asComputed(l)
	}
	if r.reading.runs == "" {
		return l
	}
	return label.Join(l, untrusted())
}

// untrusted returns the label of a file with an unknown author.
func untrusted() label.Label {
	return label.Label{Untrusted: true, Sources: label.SetOf(label.UntrustedPublic)}.Normal()
}

// facts gathers the facts of policy about the call.
func (r *request) facts(phase policy.Phase, s session.State) *policy.Facts {
	args := r.Arguments
	if args == nil {
		args = json.RawMessage("{}")
	}
	roles := r.roles
	if _, ok := r.unnamed(); ok || r.anything() != "" {
		roles = overlay.Roles{} // an argument that nobody names may be a destination too
	}
	return &policy.Facts{
		Phase:     phase,
		Method:    r.Method,
		Tool:      policy.ToolFacts{Name: r.Name, Annotations: r.Effective, Declared: r.said},
		Server:    policy.ServerFacts{Name: r.Server, Trust: r.Trust},
		Session:   policy.SessionFacts{ID: s.Key, Parent: s.Parent, Label: withoutAlerts(s.Label), Calls: int(s.Calls)},
		Arguments: args,
		Roles: policy.Roles{
			Known: roles.Known, Cut: roles.Cut, Plain: roles.Plain,
			Destinations: arguments(roles.Destinations), Contents: arguments(roles.Contents),
		},
		Resources: policy.Resources{Known: r.resources.Known, Reads: r.resources.Reads, Writes: r.resources.Writes},
	}
}

func arguments(all []overlay.Argument) []policy.Argument {
	out := make([]policy.Argument, len(all))
	for i, a := range all {
		out[i] = policy.Argument(a)
	}
	return out
}

// traced returns the call as it is traced.
func (r *request) traced() *trace.Call {
	c := &trace.Call{
		ID: r.ID, Session: r.Session, Server: r.Server, Vouched: r.Trust != contract.Untrusted, Name: r.Name, URI: r.uri,
		Params: r.Params, Arguments: r.Arguments, Schema: r.Schema,
		UndeclaredNames: r.Undeclared.Names, UndeclaredParams: r.Undeclared.Params,
		Host: r.Host, Keeps: r.Effective.Keeps(), Inquiry: r.asked, Shown: r.shown, Counted: r.counted,
	}
	if len(r.Confirmed.Destinations) > 0 && r.Method == "tools/call" && r.anything() == "" && len(r.Undeclared.Beside) == 0 {
		c.Confirmed = r.Confirmed
	}
	return c
}

// place returns where findings in a part of the call are; false if there are no exceptions of such findings.
func (r *request) place(phase policy.Phase) (FindingPlace, bool) {
	at := FindingPlace{r.Server, r.Reached, r.Method, r.Name, phase.String()}
	return at, at.Reached != "" && !r.asked
}

// display returns the server's description of calls of the tool. That of a server that is not trusted may describe
// anything, and that of a trusted one is of calls that fit its schema.
func (r *request) display(phase policy.Phase) string {
	if r.Trust != contract.Trusted || r.Violates != "" || r.asked || phase != policy.OnCall {
		return ""
	}
	return r.Display
}

// spoken returns the text of the call's server that an alert is about.
func (r *request) spoken() string {
	if r.asked {
		return "the question of " + r.uri
	}
	return "the result of " + r.uri
}

// reads reports whether the call is known, by its contract, to change nothing and to send nothing to the public.
func (r *request) reads() bool {
	if r.asked {
		return false
	}
	_, known := r.Effective.Destinations.Known()
	return r.Effective.ReadOnly == contract.Yes && known && !r.Effective.Discloses()
}

// assumed reports whether neither operator nor server says how the call acts.
func (r *request) assumed() bool {
	_, outcomes := r.said.Outcomes.Known()
	_, destinations := r.said.Destinations.Known()
	return !outcomes && !destinations && r.said.ReadOnly == contract.Unknown && r.said.Destructive == contract.Unknown &&
		r.said.OpenWorld == contract.Unknown
}

// A decisionInput is everything that a decision is made on.
type decisionInput struct {
	request *request
	facts   *policy.Facts
	found   *trace.Finding
	answer  json.RawMessage // nil before there is one
	owned   bool            // nobody changes it any more

	evidence  []annotation.Evidence // that the answer refers to
	detection *record.Detection     // in the answer; before there is one, in the arguments
	hideable  func() bool           // reports whether the answer can be hidden; nil before there is one
	reported  func() *Reported      // returns why the answer was reported as malicious; nil before there is one
	seen      bool                  // the agent has the answer already, so no rule hides it
	unshown   string                // why no host may get the answer; "" if one may
	alerts    []alert               // of the session, that nobody has answered; none after the call
	raised    string                // all alerts that the session has had, answered or not
	harmless  policy.Findings       // findings in the arguments that are no signs of an attack
}
