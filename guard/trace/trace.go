// Package trace finds out where the arguments of a call came from, where the call goes, and how much it can tell.
//
// A [Tracer] remembers, for each agent session, the user's words, the results that the agent was shown, the places that
// calls went to and the bits that their receivers were told. [Tracer.Trace] traces each value of a call by that and
// fills in the facts of policy. It decides nothing.
//
// All of it is in memory and bounded. A session that was evicted begins anew without any knowledge: every value is
// novel, every destination is the first, and private data counts as having come from anywhere.
package trace

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/weir-mcp/weir/internal/address"
	"github.com/weir-mcp/weir/internal/speech"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/overlay"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/provenance"
	"github.com/weir-mcp/weir/session"
)

// Options configures a Tracer.
type Options struct {
	Domains []string   // the operator's own domains, in lower case; subdomains count
	Me      []string   // the user's own mail addresses
	Readers Readership // who may read the private data of servers
	Memory  *Memory    // nil: one of the tracer's own
}

// A Tracer traces the calls of agent sessions. Make one with [New]. It is safe for concurrent use.
type Tracer struct {
	domains  []string
	me       []string // names of address.BareMail
	readers  Readership
	sessions *Memory
}

// New returns a tracer.
func New(opts Options) *Tracer {
	if opts.Memory == nil {
		opts.Memory = NewMemory(MemoryOptions{})
	}
	t := &Tracer{domains: opts.Domains, readers: opts.Readers, sessions: opts.Memory}
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

	Params    json.RawMessage // of the request, as the host sent them
	Arguments json.RawMessage // the agent's choice: a JSON object, or nil
	Schema    json.RawMessage // of the arguments; nil if none is known
	Confirmed Confirmed       // the parts of the arguments, where the operator's word does not state them

	UndeclaredNames  []string        // of members of the arguments that the schema does not name
	UndeclaredParams json.RawMessage // members of the params that MCP does not have for the method

	Host    bool // it is a tool of the host itself, to which nothing crosses that the agent knows
	Keeps   bool // the server may keep the arguments
	Inquiry bool // it is the answer to a server's question

	Counted bool     // it is counted already, with its decision: see [Tracer.Count]
	Showing bool     // its server is shown it to say what it would do: nothing goes anywhere else
	Shown   *Finding // of the call as its server was shown it before; nil if it was not
}

// AddUserMessages notes messages that the user wrote. It reports whether there was room for all of them.
func (t *Tracer) AddUserMessages(ref session.Ref, texts []string) bool {
	kept, s := true, t.sessions.of(ref)
	t.sessions.change(s, func() {
		for _, text := range texts {
			kept = s.addUserMessage(text, t.sessions.now()) && kept
		}
	})
	return kept
}

// Work indexes texts of results until ctx ends, so that calls need not. Without it, calls that are traced index them. A
// large text it leaves alone for a moment, in which its answer gets to the agent: to index it takes far longer, and all
// of a processor.
func (t *Tracer) Work(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case s := <-t.sessions.behind:
			if s.corpus.bytes.Load() >= largeText && len(t.sessions.behind) == 0 {
				select {
				case <-ctx.Done():
				case <-time.After(untilAnswered):
				}
			}
			for ctx.Err() == nil && s.takeOne() {
				t.sessions.change(s, func() {}) // counts its memory
			}
		}
	}
}

const (
	largeText     = 16 << 10 // bytes
	untilAnswered = 2 * time.Millisecond
)

// Describe fills in the facts of the session that do not depend on the call.
func (t *Tracer) Describe(ref session.Ref, f *policy.SessionFacts) {
	s := t.sessions.of(ref)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.describe(f, t.sessions.now())
}

// Trace traces the arguments of a call, and adds to the facts the origins, the destinations and the amount that it can
// tell. If charge is set the amount is put on the accounts of its receivers: [Tracer.Discharge] takes it back.
func (t *Tracer) Trace(c *Call, f *policy.Facts, charge bool) *Finding {
	found := new(Finding)
	others := t.begin(c, f, found)
	t.find(c, f, found, others)
	t.charge(c, f, found, charge)
	return found
}

// Expect is Trace for a call that charges nobody: to trace it is left to the first rule that reads where its arguments
// come from. The Finding is empty until then.
func (t *Tracer) Expect(c *Call, f *policy.Facts) *Finding {
	found := new(Finding)
	others := t.begin(c, f, found)
	found.later = func() {
		found.later = nil
		t.find(c, f, found, others)
		t.charge(c, f, found, false)
		call := f.Call
		found.call = &call
	}
	found.Await(f)
	return found
}

// begin notes a call that is about to be decided, and fills in the facts of the session. It reports whether the session
// may hold credentials of other servers.
func (t *Tracer) begin(c *Call, f *policy.Facts, found *Finding) (others bool) {
	s := t.sessions.of(c.Session)
	others = !c.Host && t.holdsOtherSecrets(c, s, &f.Session)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.describe(&f.Session, t.sessions.now())
	s.distrust(&f.Session)
	s.foreign(f.Session.Calls) // noted now: the excess may be gone when a later call asks
	if !f.PlainRead() {
		found.Since = s.since(f.Session.Calls)
	}
	return others
}

// find traces the arguments of a call.
func (t *Tracer) find(c *Call, f *policy.Facts, found *Finding, others bool) {
	s := t.sessions.of(c.Session)
	s.mu.Lock()
	defer s.mu.Unlock()
	index, complete := s.corpus.read(), s.heard == nil || s.heard.read().Complete() // of all traces
	if s.doubted || !complete {
		index.Doubt()
	}
	all, cut := scalars(c.Arguments, c.UndeclaredNames)
	if c.UndeclaredParams != nil {
		beyond, more := scalars(c.UndeclaredParams, nil)
		all, cut = append(all, beyond...), cut || more
	}
	found.UserWords, found.Cut = s.words, cut
	ct := callTracer{
		session: s, facts: f, known: map[string]Value{}, stated: f.Roles.Known, vouched: c.Vouched, beyond: c.UndeclaredParams != nil,
		domains: t.domains, me: t.me, readership: t.readers,
	}
	ct.missed = f.Session.Label.Private && (s.arrivals.missed || len(s.arrivals.awaited) > 0 ||
		!index.Complete() || !complete || s.foreign(f.Session.Calls) > 0)
	for _, a := range all {
		found.Values = append(found.Values, ct.value(a))
	}
	if len(c.Confirmed.Destinations) > 0 && !cut && !ct.stated {
		ct.stated = confirm(&ct, c, all)
	}
	roles := f.Roles
	if !roles.Known {
		roles = draft(&ct.texts, all)
	}
	roles.Cut = roles.Cut || cut
	f.Call = policy.CallFacts{
		Traced: true, Stated: roles.Known, Named: speech.Asks(s.wishes, c.Name, c.Server), Found: f.Call.Found,
	}
	ct.parts(found, roles)
	f.Call.Self, f.Call.Readable = ct.toSelf(found, roles), s.whole(&f.Session) && ct.toReaders(found, roles)
	ct.measure(c, found, roles)
	if others && c.Keeps {
		found.over = []receiver{{key: "secrets " + c.Server, base: ct.server(c).base}}
	}
	f.Call.Verbatim, f.Call.Crosses = found.verbatim(), others && found.Tells()
	destinations(&ct, &f.Call, roles)
	if f.PlainRead() && roles.Known {
		found.Listed = s.corpus.pages().beside(found.target().Text)
	}
	f.Call.Strange = roles.Cut || slices.ContainsFunc(roles.Destinations, func(a policy.Argument) bool {
		place := ct.place(a)
		return ct.strange(&place)
	})
}

// unsureHost stands among the hosts for a destination that programs could take to different places.
const unsureHost = "?"

// destinations fills in where the call goes, and whether those places are known.
func destinations(t *callTracer, call *policy.CallFacts, roles policy.Roles) {
	var values, hosts []string
	known, own, local := true, true, true
	for _, d := range roles.Destinations {
		values = append(values, clip(d.Text))
		known = known && t.session.destinations[clip(d.Text)]
		r := t.texts.Read(d.Text)
		own, local = own && r.Sure, local && r.Sure && len(r.Hosts()) > 0
		if !r.Sure && len(r.Places) > 0 {
			hosts = append(hosts, unsureHost)
		}
		for _, host := range r.Hosts() {
			hosts = append(hosts, host)
			own, local = own && address.Within(host, t.domains), local && address.Loopback(host)
		}
	}
	call.Destinations, call.Hosts = label.SetOf(values...), label.SetOf(hosts...)
	all := roles.Known && len(values) > 0 && !roles.Cut
	call.Own, call.Local = all && own, all && local
	call.First = len(values) > 0 && !known
}

// AddCall notes an allowed call. In a session with untrusted content, values that the agent makes up or passes on count
// as untrusted from then on, so that they do not come back as a trusted server's own. It reports whether the call is
// the first that the tracer knows of the session; and that it must not go out after all, and is not noted, if it is
// fixed and something was changed since. If it has to be counted, found.Counting is set, and held.
func (t *Tracer) AddCall(c *Call, f *policy.Facts, found *Finding) (first, stale bool) {
	s := t.sessions.of(c.Session)
	if found.Counting = nil; !c.Inquiry && c.Shown == nil && !c.Counted {
		found.Counting = &s.counting
		found.Counting.RLock()
	}
	t.sessions.change(s, func() {
		if stale = found.Fixed && found.Since != s.since(f.Session.Calls); stale {
			return
		}
		if !c.Showing {
			s.addCall(f, t.sessions.now())
			if !f.PlainRead() && !found.Approved {
				s.changes++
			}
		}
		if found.Counting != nil {
			first = s.seen == 0
			s.seen++
		}
		if !f.Session.Label.Untrusted {
			return
		}
		if found.Cut { // values that were not looked at cannot be told again
			s.doubt()
		}
		for _, v := range found.Values {
			known := v.Whole && v.From&(provenance.Novel|provenance.User|provenance.Trusted) == 0
			if v.From&(provenance.Untrusted|provenance.Novel) != 0 && !known && !isScalar(v.Text) {
				kinds := provenance.Untrusted | v.From&provenance.Private // which passing it on does not end
				source := provenance.Source{URI: c.URI + sentAlong, Kinds: kinds}
				s.corpus.read().Add(source, v.Text)
				if s.heard != nil {
					text, _ := json.Marshal(v.Text) // of a text, which has no error
					s.tell(source, text)
				}
			}
		}
	})
	if stale && found.Counting != nil {
		found.Counting.RUnlock()
		found.Counting = nil
	}
	if f.Session.Label.Untrusted && !stale {
		t.sessions.above(c.Session, (*sessionTrace).doubt)
	}
	return first, stale
}

// ExpectUntrusted notes that untrusted data is about to raise the session: a call that sees the label then knows its
// source.
func (t *Tracer) ExpectUntrusted(ref session.Ref) {
	s := t.sessions.of(ref)
	s.mu.Lock()
	s.untrusted = true
	s.mu.Unlock()
}

// Await notes that the agent may see the answer to a call before it is noted here: until it is, any value may be private data.
func (t *Tracer) Await(ref session.Ref, id string) {
	s := t.sessions.of(ref)
	t.sessions.change(s, func() { s.arrivals.await(id) })
}

// AddResult notes an answer that the agent gets to see, with its label. Its text is indexed by [Tracer.Work], and at
// the latest when something is traced by it. The directory lists names of things in it. Nothing that came from a tool
// of the host counts as a trusted source's: whoever can run commands on this machine can tell of such answers.
func (t *Tracer) AddResult(c *Call, answer json.RawMessage, l label.Label, directory []overlay.Named) {
	source := provenance.Source{URI: c.URI, Kinds: provenance.Trusted}
	if l.Untrusted || l.Malicious || c.Host {
		source.Kinds = provenance.Untrusted
	}
	if l.Private {
		source.Kinds |= provenance.Private
	}
	s := t.sessions.of(c.Session)
	t.sessions.change(s, func() {
		delete(s.arrivals.awaited, c.ID)
		s.directory.add(c.Server, Listed{Tool: c.Name, Untrusted: source.Kinds&provenance.Untrusted != 0}, directory)
		s.corpus.add(source, answer, !l.Private)
		if s.heard != nil { // else every call would pass one function more
			s.tell(source, answer)
		}
	})
	select {
	case t.sessions.behind <- s:
	default: // Work knows of many such sessions
	}
}

// AddLabel notes the data of a label that raises a session, and with it those above, which do not see the data itself.
// The server is that of the result that brings it; "" if the source is not known.
func (t *Tracer) AddLabel(ref session.Ref, l label.Label, server string) {
	s := t.sessions.of(ref)
	s.mu.Lock()
	s.bring(l, server, server != "")
	s.mu.Unlock()
	t.sessions.above(ref, func(s *sessionTrace) { s.bring(l, server, false) })
}

// holdsOtherSecrets reports whether the session may hold credentials of another server than the call's. Those of the
// sessions above it count, as their labels do.
func (t *Tracer) holdsOtherSecrets(c *Call, s *sessionTrace, f *policy.SessionFacts) (others bool) {
	held := f.Label.Sensitivity.Has(label.Credentials)
	if held {
		t.sessions.above(c.Session, func(above *sessionTrace) {
			for server := range above.arrivals.servers {
				others = others || server != c.Server
			}
		})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.arrivals.begin(f.Label, s.traced)
	return held && (others || !s.arrivals.only(c.Server) || s.foreign(f.Calls) > 0)
}

// charge puts the call on the accounts of its session and of those above, if the session has read untrusted content:
// before that nobody has told the agent to tell anything. It fills in the amount that the receivers have been told with
// the call.
func (t *Tracer) charge(c *Call, f *policy.Facts, found *Finding, keep bool) {
	private := f.Session.Label.Private
	if keep && f.Session.Label.Untrusted {
		found.charged = map[string]int{}
		for _, r := range found.receivers() {
			found.charged[ledgerKey(r, private)] += min(found.bits+r.base, policy.MostBits)
		}
		if c.Shown != nil {
			for key, bits := range c.Shown.charged {
				found.charged[key] = max(0, found.charged[key]-bits) // they know as much
			}
		}
	}
	total, over := 0, 0
	count := func(s *sessionTrace, calls int) {
		facts := f.Session
		facts.Calls = calls
		now := f.Call.Leak
		if keep && f.Session.Label.Untrusted {
			s.told.add(found.charged, private)
			now = 0
		}
		total = max(total, min(s.most(found.to, &facts)+now, policy.MostBits))
		over = max(over, s.most(found.over, &facts))
	}
	s := t.sessions.of(c.Session)
	t.sessions.begin(session.Ref{Key: c.Session.Parent, Principal: c.Session.Principal}, private && f.Session.Label.Untrusted)
	s.mu.Lock()
	count(s, f.Session.Calls)
	s.mu.Unlock()
	// Calls that nobody saw there were seen here, or not at all.
	t.sessions.above(c.Session, func(s *sessionTrace) { count(s, s.seen) })
	if f.Call.Total = min(total, policy.MostBits); !f.Session.Label.Untrusted {
		f.Call.Total = f.Call.Leak
	} else if over > crossingBits {
		f.Call.Crosses = true
	}
}

// Discharge takes a call off the accounts that did not go, and clears them if a person has accepted exactly this call.
func (t *Tracer) Discharge(c *Call, f *policy.Facts, found *Finding, accepted bool) {
	private := f.Session.Label.Private
	settle := func(s *sessionTrace, calls int) {
		if accepted {
			s.told.clear(found.receivers(), private, s.missed(calls))
		} else {
			s.told.sub(found.charged)
		}
	}
	s := t.sessions.of(c.Session)
	s.mu.Lock()
	settle(s, f.Session.Calls)
	s.mu.Unlock()
	t.sessions.above(c.Session, func(s *sessionTrace) { settle(s, s.seen) })
}

// A Scope names the circumstances that have to be the same for an approval to cover a call: Place with its destinations,
// Any without.
type Scope struct{ Place, Any string }

// Covers reports whether an earlier approval covers the call: every value is one that its request showed. The user's
// own words, but for the destination, and numbers of a few digits may differ, and calls may come again, until they have
// carried grantBits.
func (t *Tracer) Covers(ref session.Ref, scope Scope, found *Finding) bool {
	s := t.sessions.of(ref)
	s.mu.Lock()
	defer s.mu.Unlock()
	now := t.sessions.now()
	return s.grants.cover(scope.Place, found, now) || s.grants.cover(scope.Any, found, now)
}

// Grant keeps an approval of the call for later calls in the same scope, and for calls to the pages that its request
// showed beside.
func (t *Tracer) Grant(ref session.Ref, scope Scope, found *Finding) {
	s := t.sessions.of(ref)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.grants.add(scope, found, t.sessions.now())
}
