package trace

import (
	"context"
	"crypto/rand"
	"fmt"
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

// A Memory keeps the traces of agent sessions: [Here], or [There] in another process.
type Memory interface {
	do(ctx context.Context, o *op) (*answer, error)
}

// Here keeps traces in this process. Make one with [NewHere]. It is safe for concurrent use.
type Here struct {
	epoch    string // its own: another Here does not know its sessions
	sessions sessionTraces
}

// NewHere returns a memory without any session. A nil room is 32 MiB of its own, a nil now is time.Now.
func NewHere(room Room, now func() time.Time) *Here {
	if room == nil {
		room = &ownRoom{left: defaultRoom}
	}
	if now == nil {
		now = time.Now
	}
	return &Here{epoch: rand.Text(), sessions: sessionTraces{room: room, now: now}}
}

// do carries out an operation.
func (h *Here) do(_ context.Context, o *op) (*answer, error) {
	ref, a := o.Ref, &answer{Epoch: h.epoch}
	if o.Since != "" && o.Since != h.epoch {
		s := h.sessions.of(ref)
		h.sessions.change(s, s.lose)
	}
	if o.Trusted != "" {
		h.addUserMessages(ref, []string{o.Trusted})
	}
	switch o.Do {
	case doAddUserMessages:
		a.Yes = h.addUserMessages(ref, o.Texts)
	case doDescribe:
		h.describe(ref, &o.Facts.Session)
		a.Facts = o.Facts
	case doTrace, doCharge:
		a.Finding = h.trace(o, o.Do == doCharge)
		a.Facts = o.Facts
	case doAddCall:
		a.Yes = h.addCall(o.Call, o.Facts, o.Finding)
	case doExpectUntrusted:
		h.expectUntrusted(ref)
	case doAwait:
		h.await(ref, o.Call.ID)
	case doAddResult:
		h.addResult(o.Call, o.Result, o.Label, o.Directory)
	case doAddLabel:
		h.addLabel(ref, o.Label, o.Server)
	case doDischarge, doAccept:
		h.discharge(o.Call, o.Facts, o.Finding, o.Do == doAccept)
	case doCovers:
		a.Yes = h.covers(ref, o.Scope, o.Finding)
	case doGrant:
		h.grant(ref, o.Scope, o.Finding)
	default:
		return nil, fmt.Errorf("the operation %d on traces is not known", o.Do)
	}
	return a, nil
}

// In returns the sessions of a place in a memory, such as a store, which counts their calls. Other places have others.
func In(place string, m Memory) Memory { return inPlace{place, m} }

type inPlace struct {
	place string
	Memory
}

func (p inPlace) do(ctx context.Context, o *op) (*answer, error) {
	out := *o
	out.Ref.Key, out.Ref.Parent = p.key(o.Ref.Key), p.key(o.Ref.Parent)
	if o.Call != nil {
		c := *o.Call
		c.Session, out.Call = out.Ref, &c
	}
	return p.Memory.do(ctx, &out)
}

// key returns the key of a session of the place.
func (p inPlace) key(key string) string {
	if key == "" {
		return ""
	}
	return p.place + "\x00" + key
}

// addUserMessages notes messages that the user wrote. It reports whether there was room for all of them.
func (h *Here) addUserMessages(ref session.Ref, texts []string) bool {
	kept, s := true, h.sessions.of(ref)
	h.sessions.change(s, func() {
		for _, text := range texts {
			kept = s.addUserMessage(text, h.sessions.now()) && kept
		}
	})
	return kept
}

// describe fills in the facts of the session that do not depend on the call.
func (h *Here) describe(ref session.Ref, f *policy.SessionFacts) {
	s := h.sessions.of(ref)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.describe(f, h.sessions.now())
}

// trace traces the arguments of a call, see [Tracer.Trace].
func (h *Here) trace(o *op, charge bool) *Finding {
	found := h.find(o)
	h.charge(o.Call, o.Facts, found, charge)
	return found
}

// find traces the arguments of a call.
func (h *Here) find(o *op) *Finding {
	c, f := o.Call, o.Facts
	s := h.sessions.of(c.Session)
	others := !c.Host && h.holdsOtherSecrets(c, s, &f.Session)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.describe(&f.Session, h.sessions.now())
	s.distrust(&f.Session)
	all, cut := scalars(c.Arguments, c.UndeclaredNames)
	if c.UndeclaredParams != nil {
		beyond, more := scalars(c.UndeclaredParams, nil)
		all, cut = append(all, beyond...), cut || more
	}
	found := &Finding{UserWords: s.words, Cut: cut}
	ct := callTracer{session: s, facts: f, known: map[string]Value{}, stated: f.Roles.Known, vouched: c.Vouched, domains: o.Domains, me: o.Me, readership: o.Readers}
	ct.missed = f.Session.Label.Private && (s.arrivals.missed || len(s.arrivals.awaited) > 0 ||
		!s.index.Complete() || s.told.foreign(f.Session.Calls) > 0)
	for _, a := range all {
		found.Values = append(found.Values, ct.value(a))
	}
	roles := f.Roles
	if !roles.Known {
		roles = draft(all)
	}
	roles.Cut = roles.Cut || cut
	f.Call = policy.CallFacts{Traced: true, Stated: roles.Known, Named: speech.Asks(s.wishes, c.Name, c.Server)}
	ct.parts(found, roles)
	f.Call.Self, f.Call.Readable = ct.toSelf(found, roles), s.whole(&f.Session) && ct.toReaders(found, roles)
	ct.measure(c, found, roles)
	if others && c.Keeps {
		found.Told.Over = []receiver{{Key: "secrets " + c.Server, Base: ct.server(c).Base}}
	}
	f.Call.Verbatim, f.Call.Crosses = found.verbatim(), others && found.Tells()
	destinations(s, &f.Call, roles, o.Domains)
	if f.PlainRead && roles.Known {
		found.Listed = s.pages.beside(found.target().Text)
	}
	f.Call.Strange = roles.Cut || slices.ContainsFunc(roles.Destinations, func(a policy.Argument) bool {
		place := ct.place(a)
		return ct.strange(&place)
	})
	return found
}

// unsureHost stands among the hosts for a destination that programs could take to different places.
const unsureHost = "?"

// destinations fills in where the call goes, and whether those places are known.
func destinations(s *sessionTrace, call *policy.CallFacts, roles policy.Roles, domains []string) {
	var values, hosts []string
	known, own := true, true
	for _, d := range roles.Destinations {
		values = append(values, clip(d.Text))
		known = known && s.destinations[clip(d.Text)]
		r := address.Read(d.Text)
		own = own && r.Sure
		if !r.Sure && len(r.Places) > 0 {
			hosts = append(hosts, unsureHost)
		}
		for _, host := range r.Hosts() {
			hosts = append(hosts, host)
			own = own && address.Within(host, domains)
		}
	}
	call.Destinations, call.Hosts = label.SetOf(values...), label.SetOf(hosts...)
	call.Own = roles.Known && own && len(values) > 0 && !roles.Cut
	call.First = len(values) > 0 && !known
}

// addCall notes an allowed call, see [Tracer.AddCall].
func (h *Here) addCall(c *Call, f *facts, found *Finding) (first bool) {
	s := h.sessions.of(c.Session)
	h.sessions.change(s, func() {
		s.addCall(f, h.sessions.now())
		if !c.Inquiry {
			first = s.told.seen == 0
			s.told.seen++
		}
		if !f.Session.Label.Untrusted {
			return
		}
		if found.Cut { // values that were not looked at cannot be told again
			s.index.Doubt()
		}
		source := provenance.Source{URI: c.URI + sentAlong, Kinds: provenance.Untrusted}
		for _, v := range found.Values {
			known := v.Whole && v.From&(provenance.Novel|provenance.User|provenance.Trusted) == 0
			if v.From&(provenance.Untrusted|provenance.Novel) != 0 && !known && !isScalar(v.Text) {
				s.index.Add(source, v.Text)
			}
		}
	})
	if f.Session.Label.Untrusted {
		h.sessions.above(c.Session, func(s *sessionTrace) { s.index.Doubt() })
	}
	return first
}

// expectUntrusted notes that untrusted data is about to raise the session, see [Tracer.ExpectUntrusted].
func (h *Here) expectUntrusted(ref session.Ref) {
	s := h.sessions.of(ref)
	s.mu.Lock()
	s.untrusted = true
	s.mu.Unlock()
}

// await notes that the agent may see the answer to a call before it is noted here, see [Tracer.Await].
func (h *Here) await(ref session.Ref, id string) {
	s := h.sessions.of(ref)
	h.sessions.change(s, func() { s.arrivals.await(id) })
}

// addResult notes an answer that the agent gets to see, see [Tracer.AddResult].
func (h *Here) addResult(c *Call, answer []byte, l label.Label, directory []overlay.Named) {
	source := provenance.Source{URI: c.URI, Kinds: provenance.Trusted}
	if l.Untrusted || l.Malicious || c.Host {
		source.Kinds = provenance.Untrusted
	}
	if l.Private {
		source.Kinds |= provenance.Private
	}
	s := h.sessions.of(c.Session)
	h.sessions.change(s, func() {
		delete(s.arrivals.awaited, c.ID)
		s.directory.add(c.Server, directory)
		if !l.Private {
			s.pages.add(answer)
		}
		s.index.AddJSON(source, answer)
	})
}

// addLabel notes the data of a label that raises a session, see [Tracer.AddLabel].
func (h *Here) addLabel(ref session.Ref, l label.Label, server string) {
	s := h.sessions.of(ref)
	s.mu.Lock()
	s.arrivals.add(l, server, server != "")
	s.mu.Unlock()
	h.sessions.above(ref, func(s *sessionTrace) { s.arrivals.add(l, server, false) })
}

// holdsOtherSecrets reports whether the session may hold credentials of another server than the call's. Those of the
// sessions above it count, as their labels do.
func (h *Here) holdsOtherSecrets(c *Call, s *sessionTrace, f *policy.SessionFacts) (others bool) {
	held := f.Label.Sensitivity.Has(label.Credentials)
	if held {
		h.sessions.above(c.Session, func(above *sessionTrace) {
			for server := range above.arrivals.servers {
				others = others || server != c.Server
			}
		})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.arrivals.begin(f.Label, s.traced)
	return held && (others || !s.arrivals.only(c.Server) || s.told.foreign(f.Calls) > 0)
}

// charge puts the call on the accounts of its session and of those above, if the session has read untrusted content:
// before that nobody has told the agent to tell anything. It fills in the amount that the receivers have been told with
// the call.
func (h *Here) charge(c *Call, f *facts, found *Finding, keep bool) {
	private := f.Session.Label.Private
	total, over := 0, 0
	count := func(s *sessionTrace, calls int) {
		state := f.Session
		state.Calls = calls
		now := f.Call.Leak
		if keep && f.Session.Label.Untrusted {
			s.told.add(found.receivers(), private, found.Told.Bits, 1)
			now = 0
		}
		total = max(total, min(s.told.most(found.Told.To, &state)+now, policy.MostBits))
		over = max(over, s.told.most(found.Told.Over, &state))
	}
	s := h.sessions.of(c.Session)
	h.sessions.begin(session.Ref{Key: c.Session.Parent, Principal: c.Session.Principal}, private && f.Session.Label.Untrusted)
	s.mu.Lock()
	count(s, f.Session.Calls)
	s.mu.Unlock()
	// Calls that nobody saw there were seen here, or not at all.
	h.sessions.above(c.Session, func(s *sessionTrace) { count(s, s.told.seen) })
	if f.Call.Total = min(total, policy.MostBits); !f.Session.Label.Untrusted {
		f.Call.Total = f.Call.Leak
	} else if over > crossingBits {
		f.Call.Crosses = true
	}
}

// discharge takes a call off the accounts, see [Tracer.Discharge].
func (h *Here) discharge(c *Call, f *facts, found *Finding, accepted bool) {
	private := f.Session.Label.Private
	settle := func(s *sessionTrace, calls int) {
		if accepted {
			s.told.clear(found.receivers(), private, calls)
		} else if f.Session.Label.Untrusted {
			s.told.add(found.receivers(), private, found.Told.Bits, -1)
		}
	}
	s := h.sessions.of(c.Session)
	s.mu.Lock()
	settle(s, f.Session.Calls)
	s.mu.Unlock()
	h.sessions.above(c.Session, func(s *sessionTrace) { settle(s, s.told.seen) })
}

// covers reports whether an earlier approval covers the call, see [Tracer.Covers].
func (h *Here) covers(ref session.Ref, scope Scope, found *Finding) bool {
	s := h.sessions.of(ref)
	s.mu.Lock()
	defer s.mu.Unlock()
	now := h.sessions.now()
	return s.grants.cover(scope.Place, found, now) || s.grants.cover(scope.Any, found, now)
}

// grant keeps an approval of the call, see [Tracer.Grant].
func (h *Here) grant(ref session.Ref, scope Scope, found *Finding) {
	s := h.sessions.of(ref)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.grants.add(scope, found, h.sessions.now())
}
