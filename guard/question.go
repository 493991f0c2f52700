package guard

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard/trace"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/overlay"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/provenance"
	"github.com/weir-mcp/weir/session"
)

// A Question is an approval request. Everything in it that a server or an agent wrote (Server excepted, which
// is the operator's name for it) is hostile to whoever shows it.
type Question struct {
	Binding   string      // stands for exactly this call, asked about for these reasons, in this state of the session
	Grant     string      // stands for calls like it, that go to the same place; "" if nobody has said where that is
	Session   session.Ref // whose call it is
	Phase     policy.Phase
	Server    string
	Method    string
	Name      string
	Contract  contract.Contract  // of the call
	Assumed   bool               // neither operator nor server says so: the worst is assumed
	Arguments json.RawMessage    // the call's params in canonical form
	To        []overlay.Argument // where it goes, as the operator says; set with Grant
	Refined   []overlay.Note     // why the operator gives these arguments this contract
	Rule      string             // that decided
	Message   string
	Also      []policy.Match // further rules that ask, in the order of the policy
	Label     label.Label    // of the session; for a result, of the result
	Origins   []Origin       // where that came from, oldest first
	Values    []trace.Value  // the arguments one by one, and where each came from
	Cut       bool           // there are more values than these
	Leak      string         // how much the call, and those before it, could tell; "" if that is nothing or nobody could be meant to
	UserWords string         // the user's messages in this session, as far as the host tells
	Later     Later          // later calls that a yes covers too

	About // the agent session, the tool and its server
	// The request of the host in the middle of which it comes up, if that is another: a server's question, or a call
	// that goes out without values.
	outer struct {
		method    string
		arguments []byte
	}
}

// About tells approvers more of the agent session than its label does, and of the tool and its server.
type About struct {
	Via     string // the program or the address of the server, as [Way] has it
	Display string // how a trusted server describes calls of the tool, with names of arguments in braces; "" if it does not

	Alerts   []string  // results that speak to the agent as attacks do; a yes answers these
	Unshown  bool      // the arguments name a thing, such as a draft, and do not hold it
	Burst    string    // tells of many calls after untrusted content; "" if there were few
	Reported *Reported // why the result was reported as malicious; nil if it was not

	Hint string // says that reviews of definitions of servers would make the approval unnecessary; "" if they would not

	suspicion string // as in a Refusal
}

// Later are calls of the same tool that an approval covers for some time, or the calls of a plan.
type Later struct {
	Place bool     // to the same destinations, with arguments from nothing worse
	Pages []string // with Place, to these pages too, which the same result lists

	Goal     string        // of a plan, in the agent's words
	Template string        // of which the plan is; then Goal is the words of the operator
	Plan     []PlannedStep // the calls of a plan that the request is about; nil if it is about one call
	Amends   *Amendment    // of the plan that was approved before; nil if nothing is left of one
	Strict   bool          // calls outside of the plan are blocked
}

// newQuestion gathers everything that an approver needs, and binds it: to principal, agent session, server and the way
// to reach it, method, name, canonical arguments, effective contract, session label and alerts, policy and the rules
// that ask; for a result, to its exact bytes too.
func newQuestion(in decisionInput, d decision, from []Origin) *Question {
	r, f := in.request, in.facts
	canonical := r.canonical.text
	q := &Question{
		Session: r.Session, Phase: f.Phase, Server: r.Server, Method: r.Method, Name: r.Name,
		Contract: r.Effective, Assumed: r.assumed(), Arguments: canonical, Refined: r.notes, Rule: d.Rule, Message: d.Message,
		Label: f.Session.Label, Origins: from, Leak: leakText(f), Later: Later{Place: d.asksOnce(f)},
		About:  About{Alerts: shownAlerts(in.alerts), Burst: burstText(&f.Session), Display: r.display(f.Phase), Via: r.Via},
		Values: in.found.Values, Cut: in.found.Cut, UserWords: in.found.UserWords,
	}
	for _, m := range d.Matched {
		if m.Effect == policy.Ask && m.Rule != d.Rule {
			q.Also = append(q.Also, m)
		}
	}
	if q.Later.Place {
		q.Later.Pages = in.found.Listed
	}
	if f.Response != nil {
		q.Label = *f.Response
		q.Origins = nil
		if f.Response.Malicious {
			q.Reported = in.reported()
		}
	}
	of := &r.Call
	if r.within != nil {
		of = r.within
	}
	if r.revealing != nil {
		of = r.revealing
	}
	if of != &r.Call || r.before != nil {
		q.outer.method, q.outer.arguments = of.Method, canonicalArguments(of.written(), true)
	}
	if f.Response == nil {
		q.Origins = append(q.Origins, r.used()...)
	}
	since := ""
	if leansOnState(&in) {
		since, q.Unshown = in.found.Since, unshown(&in)
	}
	q.Binding = bind(
		r.Session.Principal, r.Session.Key, r.Server, r.Reached, r.Method, r.Name, string(canonical),
		r.Effective.String(), seen(r, f.Session.Label), q.reasons(), d.by, f.Phase.String(), string(in.answer),
		string(must(json.Marshal(q.Later.Pages))), alertIDs(in.alerts), since,
	)
	if f.Phase == policy.OnCall && !r.asked {
		q.To, q.Grant = grant(in, d.by)
	}
	return q
}

// Refusal returns the text about a call or an answer that nobody has accepted.
func (q *Question) Refusal(message string) Refusal {
	return Refusal{policy.Ask, q.Phase, q.Rule, message, q.suspicion}
}

// seen returns the part of the session's label that a question is bound to: all but that servers have sent text outside
// of their results, and that the call itself is under way. Lines that a server logs while a person reads undo nothing,
// as long as they bring no other kind of data.
func seen(r *request, l label.Label) string {
	beside := map[string]bool{r.uri: true}
	if r.within != nil {
		beside[r.within.URI()] = true
	}
	var from []string
	for uri := range l.Attribution.All() {
		if !beside[uri] && !strings.HasSuffix(uri, messages) {
			from = append(from, uri)
		}
	}
	l.Attribution = label.SetOf(from...)
	return string(must(json.Marshal(l)))
}

// reasons returns the rules that ask.
func (q *Question) reasons() string {
	rules := []string{q.Rule}
	for _, m := range q.Also {
		rules = append(rules, m.Rule)
	}
	return bind(rules...)
}

// grant returns where the call goes, and the binding of all calls of the agent session, as long as it has seen nothing
// more, to this tool under this contract and policy that go there too. Only the operator's word tells which arguments
// say where; without it, with no such argument, or with more of them than are looked at, there is none. The calls have
// arguments of the same names, and no private or untrusted content unless this one has.
func grant(in decisionInput, by string) (to []overlay.Argument, binding string) {
	r := in.request
	roles := r.roles
	if !roles.Known || roles.Cut || len(roles.Destinations) == 0 {
		return nil, ""
	}
	where, names := must(json.Marshal(roles.Destinations)), []string{}
	for name := range rawjson.Members(r.Arguments) {
		names = append(names, name)
	}
	slices.Sort(names)
	carried := (in.found.Kinds() & (provenance.Private | provenance.Untrusted)).Names()
	session := must(json.Marshal(in.facts.Session.Label))
	if namesThing(&in) || unshown(&in) {
		by += " " + in.found.Since
	}
	return roles.Destinations, bind("grant", string(must(json.Marshal(names))), strings.Join(carried, " "),
		r.Session.Principal, r.Session.Key, r.Server, r.Reached, r.Method, r.Name, string(where), r.Effective.String(), string(session), by,
		alertIDs(in.alerts))
}

// bind returns a digest of parts that no other list of parts has.
func bind(parts ...string) string {
	var all []byte
	for _, part := range parts {
		all = strconv.AppendInt(all, int64(len(part)), 10)
		all = append(append(all, ':'), part...)
	}
	const name = "sha256:"
	sum := sha256.Sum256(all)
	return name + hex.EncodeToString(sum[:])
}

// Asks reports whether the question is about a request with this method and, but for metadata, these params, or about a
// question that its server asks in the middle of it.
func (q *Question) Asks(method string, params json.RawMessage) bool {
	if q.outer.method != "" {
		return q.outer.method == method && bytes.Equal(q.outer.arguments, canonicalArguments(params, true))
	}
	return q.Method == method && bytes.Equal(q.Arguments, canonicalArguments(params, true))
}

// Numbers from which approvers are told of calls and destinations after untrusted content.
const (
	manyCalls   = 10
	manyReached = 5
)

// burstText tells approvers of many calls and new destinations after untrusted content.
func burstText(f *policy.SessionFacts) string {
	var told []string
	if f.Burst >= manyCalls {
		told = append(told, fmt.Sprintf("it made %d calls in the last minute that are no plain reads", f.Burst))
	}
	if f.Reached >= manyReached {
		told = append(told, fmt.Sprintf("%d destinations were new to it", f.Reached))
	}
	if told == nil {
		return ""
	}
	return "since the session has read untrusted content, " + strings.Join(told, ", and ")
}

// leakText says how much a call can tell, for approvers.
func leakText(f *policy.Facts) string {
	if !f.Session.Label.Untrusted || f.Call.Leak == 0 {
		return ""
	}
	const letter = 8
	told := fmt.Sprintf("its arguments can tell whoever gets them up to %d bits that the user has not written, about %d letters",
		f.Call.Leak, f.Call.Leak/letter)
	switch {
	case f.Call.Leak >= policy.MostBits:
		told = "its arguments can tell whoever gets them more than can be counted"
	case f.Call.Total >= policy.MostBits:
		told += "; what was told before is not known"
	case f.Call.Total > f.Call.Leak:
		told += fmt.Sprintf("; with the calls before it that nobody accepted, %d bits", f.Call.Total)
	}
	return told
}
