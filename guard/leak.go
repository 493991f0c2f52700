package guard

import (
	"fmt"
	"slices"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/address"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/provenance"
	"github.com/weir-mcp/weir/session"
)

// A receiver is somebody who learns of a call.
type receiver struct {
	key     string
	vouched bool // by the user or the operator
	base    int  // bits that being called tells, beside the arguments
}

// Bits that a call tells its receiver whatever its arguments are: that it comes now, and which of the things is called that the receiver could tell apart.
const (
	callBits   = 2  // somebody who is written to, or a site
	toolBits   = 8  // a server: one of 128 tools
	choiceBits = 16 // one of the 32,768 resources or tools without arguments
)

// crossingBits is how much a server may learn, by calls of which each tells it next to nothing, in a session that holds another one's credentials.
const crossingBits = 64

// elsewhere is the key of all places that neither the user nor the operator vouches for: whoever controls one may control them all.
const elsewhere = "elsewhere"

// receivers returns who learns of the call. Where nobody states the destinations, it is the server, and every place that the arguments may lead to.
func (t *tracer) receivers(c *Call, roles policy.Roles) []receiver {
	server := t.server(c)
	var all []receiver
	if !server.vouched || !roles.Known || len(roles.Destinations) == 0 {
		all = append(all, server)
	}
	for _, a := range roles.Destinations {
		if !roles.Known && !leadsSomewhere(a.Text) {
			continue
		}
		all = append(all, t.places(c, a)...)
	}
	if roles.Cut {
		all = append(all, receiver{elsewhere, false, mostBits})
	}
	if !t.facts.Egress() { // so nobody outside learns of it
		all = slices.DeleteFunc(all, func(r receiver) bool { return r.key == elsewhere })
	}
	return all
}

// server returns the call's server as one who learns of the call.
func (t *tracer) server(c *Call) receiver {
	r := receiver{"server " + c.Server, c.Trust != contract.Untrusted || !t.facts.Session.Label.Private, toolBits}
	if !hasMembers(c.Arguments) {
		r.base = choiceBits
	}
	return r
}

// keeps reports whether the call may keep what it is given: all but reads that use it for the call alone.
func (c *Call) keeps() bool {
	return c.Effective.ReadOnly != contract.Yes || !label.SetOf(contract.Ephemeral).Contains(c.Effective.Destinations.Set())
}

// places returns who is at a destination: the places that the user's wishes name, sites among them, those in the operator's own domains, or
// anybody.
func (t *tracer) places(c *Call, a policy.Argument) (all []receiver) {
	v, read := t.place(a), address.Read(a.Text)
	named := v.Whole && v.From.Only(provenance.User)
	if !read.Sure {
		if named {
			return []receiver{{"place " + c.Server + " " + clip(a.Text), true, callBits}}
		}
		return []receiver{{elsewhere, false, callBits}}
	}
	for _, p := range read.Places {
		switch {
		case p.Kind == address.Web && (named || t.memory.wished[bare(p.Host)]), address.Within(p.Host, t.domains):
			all = append(all, receiver{"host " + bare(p.Host), true, callBits})
		case named:
			all = append(all, receiver{"place " + p.Name, true, callBits})
		default:
			all = append(all, receiver{elsewhere, false, callBits})
		}
	}
	return all
}

// A ledgerKey tells what was told with private data in the session from what was told before.
func ledgerKey(r receiver, private bool) string {
	if private {
		return "private " + r.key
	}
	return r.key
}

// An account is what a session has told.
type account struct {
	spent map[string]int // bits, by receiver
	paid  map[string]int // calls that this memory did not see, when a person last accepted one to the receiver
	went  int            // calls that the session is known to have counted

	others int // the most calls of the session that were counted and not by this memory
	unseen int // 1 if there may have been others that are counted nowhere
}

// foreign returns how many calls of the session, of so many, another process made, or this one before the memory began. The number never falls:
// calls are counted a little late, so those of this process may hide others for a moment.
func (a *account) foreign(calls int) int {
	a.others = max(a.others, calls-a.went)
	return a.others
}

// missed returns how many calls of the session went out that are not in the account.
func (a *account) missed(calls int) int { return a.foreign(calls) + a.unseen }

// most is the largest amount for the receivers, of what counts.
func (a *account) most(all []receiver, f *policy.SessionFacts) (total int) {
	for _, r := range all {
		if !f.Label.Private && r.vouched {
			continue // there is nothing that it could learn
		}
		key := ledgerKey(r, f.Label.Private)
		if f.Label.Private && a.missed(f.Calls) > a.paid[key] {
			return mostBits
		}
		total = max(total, a.spent[key])
	}
	return total
}

// add changes the amounts of the receivers by a call's bits.
func (a *account) add(all []receiver, private bool, bits, sign int) {
	if a.spent == nil {
		a.spent = map[string]int{}
	}
	for _, r := range all {
		key := ledgerKey(r, private)
		if _, ok := a.spent[key]; !ok && len(a.spent) >= maxDestinations {
			key = ledgerKey(receiver{key: elsewhere}, private)
		}
		a.spent[key] = max(0, a.spent[key]+sign*min(bits+r.base, mostBits))
	}
}

// clear begins anew for the receivers: a person has seen what they were told.
func (a *account) clear(all []receiver, private bool, calls int) {
	if a.paid == nil {
		a.paid = map[string]int{}
	}
	for _, r := range all {
		key := ledgerKey(r, private)
		delete(a.spent, key)
		if len(a.paid) < maxDestinations {
			a.paid[key] = max(a.paid[key], a.missed(calls))
		}
	}
}

// measure finds out how much the call can tell. The amount goes to the account at once, so that calls at the same time do not share
// what is left; Before takes it back if the call does not go. What is only asked about is not charged.
func (t *tracer) measure(c *Call, found *finding, roles policy.Roles) {
	f := t.facts
	params := c.Params
	if _, ok := rawjson.Get(params, "_meta"); ok { // which goes up as bare leaves it
		params, _ = rawjson.Set(params, []byte("{}"), "_meta")
	}
	written := max(spaceBits(params)+escapeBits(params), spaceBits(c.Arguments)+escapeBits(c.Arguments))
	m := meter{t: t, place: setOf(roles.Destinations), open: !f.Session.Label.Private, spent: written}
	if c.Arguments != nil {
		m.value("", c.Arguments, c.Schema)
	}
	if c.Undeclared.Params != nil {
		m.value("", c.Undeclared.Params, nil)
	}
	if task, ok := rawjson.Get(c.Params, "task"); ok {
		m.value("", task, nil)
	}
	if found.cut || roles.Cut {
		m.spent = mostBits
	}
	found.bits, found.to = min(m.spent, mostBits), t.receivers(c, roles)
	found.beside, found.undeclared = written+emptyBits(c.Arguments, map[string]bool{}), c.Undeclared.Names
	for name := range rawjson.Members(c.Undeclared.Params) {
		found.undeclared = append(slices.Clip(found.undeclared), name)
	}
	for _, r := range found.to {
		if f.Session.Label.Private || !r.vouched {
			f.Call.Leak = max(f.Call.Leak, min(found.bits+r.base, mostBits))
		}
	}
}

// charge puts the call on the account of its session and of those above, if the session has read what strangers wrote: before that
// nobody has told the agent what to tell. It says what they have been told with it, or would be.
func (g *Guard) charge(c *Call, f *policy.Facts, found *finding, keep bool) {
	private := f.Session.Label.Private
	total, over := 0, 0
	count := func(m *memory, calls int) {
		facts := f.Session
		facts.Calls = calls
		now := f.Call.Leak
		if keep && f.Session.Label.Untrusted {
			m.told.add(slices.Concat(found.to, found.over), private, found.bits, 1)
			now = 0
		}
		total = max(total, min(m.told.most(found.to, &facts)+now, mostBits))
		over = max(over, m.told.most(found.over, &facts))
	}
	m := g.memory(c)
	g.memories.begin(session.Ref{Key: c.Session.Parent, Principal: c.Session.Principal}, private && f.Session.Label.Untrusted, g.opts.TrustText, g.opts.Now())
	m.mu.Lock()
	count(m, f.Session.Calls)
	m.mu.Unlock()
	g.memories.above(c.Session, func(m *memory) { count(m, m.told.went) }) // what went there unseen was seen here, or not at all
	if f.Call.Total = min(total, mostBits); !f.Session.Label.Untrusted {
		f.Call.Total = f.Call.Leak
	} else if over > crossingBits {
		f.Call.Crosses = true
	}
}

// discharge takes a call off the account that did not go, and begins anew where a person has accepted exactly this call.
func (g *Guard) discharge(c *Call, f *policy.Facts, found *finding, accepted bool) {
	private := f.Session.Label.Private
	settle := func(m *memory, calls int) {
		if accepted {
			m.told.clear(slices.Concat(found.to, found.over), private, calls)
		} else if f.Session.Label.Untrusted {
			m.told.add(slices.Concat(found.to, found.over), private, found.bits, -1)
		}
	}
	m := g.memory(c)
	m.mu.Lock()
	settle(m, f.Session.Calls)
	m.mu.Unlock()
	g.memories.above(c.Session, func(m *memory) { settle(m, m.told.went) })
}

// leakText says for people how much a call can tell.
func leakText(f *policy.Facts) string {
	if !f.Session.Label.Untrusted || f.Call.Leak == 0 {
		return ""
	}
	const letter = 8
	told := fmt.Sprintf("its arguments can tell whoever gets them up to %d bits that the user has not written, about %d letters", f.Call.Leak, f.Call.Leak/letter)
	switch {
	case f.Call.Leak >= mostBits:
		told = "its arguments can tell whoever gets them more than can be counted"
	case f.Call.Total >= mostBits:
		told += "; what was told before is not known"
	case f.Call.Total > f.Call.Leak:
		told += fmt.Sprintf("; with the calls before it that nobody accepted, %d bits", f.Call.Total)
	}
	return told
}
