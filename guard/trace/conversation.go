package trace

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/provenance"
)

// A conversation is all that the traces of one session in several memories have in common: see [Memory.Beside]. Nothing
// that one of them adds makes a decision by another one less strict than without it. Whatever may lower anything is in
// the trace that it came to:
//
//	the user's words, wishes and places in them     sessionTrace
//	approvals for later calls                       sessionTrace.grants
//	approvals that clear an account                 sessionTrace.told: of its own amounts
//	known destinations and sites                    sessionTrace
//	names that results list for ids                 sessionTrace.directory
//	pages that results list                         sessionTrace.corpus
//	trusted sources, bits that copies save          sessionTrace.corpus
//	origins, for recipients who may read all        sessionTrace.origins
//
// Texts of all traces are in heard, where each counts as untrusted for another trace, and raises alone.
type conversation struct {
	mu sync.Mutex // of all traces that have it

	// counting is held from when a call is noted here until the store has it: by one alone that goes only if nothing
	// went out since it was approved. It is taken before mu.
	counting sync.RWMutex

	pace
	accounts []*account // of all traces, whose amounts count together
	arrivals arrivals
	heard    *corpus // of the texts of all traces; nil while there is one trace
	doubted  bool    // untrusted text went on that is not in heard

	traced    bool // a call of it was traced
	untrusted bool // untrusted data entered the session here
	seen      int  // calls that the session is known to have counted
	others    int  // the most calls of the session that were counted and not seen here
	unseen    int  // 1 if there may have been others that are counted nowhere
	joined    int  // traces so far

	changes int // calls that went out, may have changed something, and were no person's approval
}

// A pace is how many calls went out.
type pace struct {
	sent        int
	calls, acts times // of the last minute; the acts changed or sent something with untrusted content about
	reached     int   // new destinations since the session has held untrusted content

	looked   bool // foreigns is known
	foreigns int  // calls of other processes, as of the last look
}

// times are those of the last calls, up to maxRecent.
type times []time.Time

// since returns how many there were in the time called recent.
func (m times) since(now time.Time) (n int) {
	for _, at := range m {
		if now.Sub(at) < recent {
			n++
		}
	}
	return n
}

// join adds a trace to its conversation. Texts that came before the second trace are not in heard.
func (c *conversation) join(s *sessionTrace) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.accounts = append(c.accounts, s.told)
	c.joined++
	if c.heard == nil { // the first one beside the trace that all are within
		c.heard = &corpus{index: provenance.New(provenance.Options{})}
		c.doubted, c.arrivals.missed = c.doubted || c.traced || c.seen > 0, c.arrivals.missed || c.arrivals.private
	}
	s.heard, s.name = c.heard, strconv.Itoa(c.joined)+" "
	s.within.heard, s.within.name = c.heard, "1 "
}

// follow takes over the amounts and the pace of a trace that lost its conversation: others must not end these.
func (s *sessionTrace) follow(before *sessionTrace) {
	before.mu.Lock()
	spent, had := maps.Clone(before.told.spent), before.pace
	before.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told.spent = spent
	s.sent, s.reached = max(s.sent, had.sent), max(s.reached, had.reached)
	if len(had.calls) > len(s.calls) {
		s.calls = slices.Clone(had.calls)
	}
	if len(had.acts) > len(s.acts) {
		s.acts = slices.Clone(had.acts)
	}
}

// takeOne takes in the oldest text that waits, as a corpus does.
func (s *sessionTrace) takeOne() bool {
	s.mu.Lock()
	heard := s.heard
	s.mu.Unlock()
	return s.corpus.takeOne() || heard != nil && heard.takeOne()
}

// foreign returns how many calls of the session, of so many, another process made, or this one before the conversation
// began here. The number never falls: calls are counted a little late, so those of this process may hide others for a
// moment.
func (c *conversation) foreign(calls int) int {
	c.others = max(c.others, calls-c.seen)
	return c.others
}

// since returns a text that stands for the changes so far that no person was asked about. Of calls of other processes,
// or before this conversation began here, each may be one.
func (c *conversation) since(calls int) string {
	return strconv.Itoa(c.changes) + " " + strconv.Itoa(c.foreign(calls))
}

// Count notes a call that is about to be counted with its decision, and returns the function to call with the number
// of calls of the session then, or with the error. That reports whether the call is fixed and something was changed
// since it was approved, by any process: then it must not go.
func (t *Tracer) Count(c *Call, found *Finding) (counted func(calls int, err error) (stale bool)) {
	s := t.sessions.of(c.Session)
	done := s.counting.RUnlock
	if found.Fixed { // no other call of this process is counted meanwhile, which would hide one of another process
		s.counting.Lock()
		done = s.counting.Unlock
	} else {
		s.counting.RLock()
	}
	n := 0
	if !c.Inquiry && c.Shown == nil {
		n = 1
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen += n
	return func(calls int, err error) bool {
		defer done()
		s.mu.Lock()
		defer s.mu.Unlock()
		if err != nil {
			s.seen -= n
			return false
		}
		return found.Fixed && found.Since != s.since(calls)
	}
}

// Uncount notes that a call could not be counted which [Tracer.AddCall] has noted as one that is.
func (t *Tracer) Uncount(c *Call) {
	s := t.sessions.of(c.Session)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen--
}

// missed returns how many calls of the session went out that are in no account.
func (c *conversation) missed(calls int) int { return c.foreign(calls) + c.unseen }

// bring notes the data of a label that raises the session. The server is that of a result; "" is a source that is not
// known.
func (s *sessionTrace) bring(l label.Label, server string, indexed bool) {
	if s.origins.Len()+l.Attribution.Len() <= maxDestinations {
		s.origins = s.origins.Union(l.Attribution)
	}
	a := &s.arrivals
	a.private = a.private || l.Private && indexed
	a.missed = a.missed || l.Private && !indexed
	switch {
	case !l.Sensitivity.Has(label.Credentials):
	case server == "":
		a.elsewhere = true
	default:
		if a.servers == nil {
			a.servers = map[string]bool{}
		}
		a.servers[server] = true
	}
}

// doubt notes that untrusted text was passed on that no index knows.
func (s *sessionTrace) doubt() {
	s.doubted = true
	s.corpus.read().Doubt()
}

// tell has the other traces know of a text: a JSON value. There must be others.
func (s *sessionTrace) tell(source provenance.Source, text json.RawMessage) {
	kinds := provenance.Untrusted | source.Kinds&provenance.Private
	s.heard.add(provenance.Source{URI: s.name + source.URI, Kinds: kinds}, text, false)
}

// raise adds the origins that a text has in other traces. The user's words are the user's wherever they stand, and a
// value that the agent made up and sent there is still nobody's. There must be others.
func (s *sessionTrace) raise(text string, got *provenance.Trace) {
	if got.Whole && got.From == provenance.User {
		return
	}
	trusted := got.From&provenance.Trusted != 0
	other := s.heard.read().Trace(text)
	if len(other.Matches) >= provenance.MaxMatches { // there may be more
		got.From |= other.From & (provenance.Private | provenance.Untrusted)
	}
	for _, m := range other.Matches {
		if strings.HasPrefix(m.Source.URI, s.name) {
			continue
		}
		_, m.Source.URI, _ = strings.Cut(m.Source.URI, " ")
		if strings.HasSuffix(m.Source.URI, sentAlong) && !trusted {
			m.Source.Kinds &^= provenance.Untrusted
		}
		got.From |= m.Source.Kinds
		if m.Source.Kinds != 0 && len(got.Matches) < provenance.MaxMatches {
			got.Matches = append(got.Matches, m)
		}
	}
}
