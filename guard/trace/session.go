package trace

import (
	"crypto/sha256"
	"slices"
	"strings"
	"time"

	"github.com/weir-mcp/weir/internal/address"
	"github.com/weir-mcp/weir/internal/speech"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/provenance"
	"github.com/weir-mcp/weir/session"
)

// Bounds of the trace of a session.
const (
	maxMessages = 1024 // of the user
	maxWords    = 64 << 10
	maxRecent   = 64 // calls of which the time is kept
	recent      = time.Minute
	maxReached  = 64 // destinations that are counted
)

// A sessionTrace is the memory of one agent session.
type sessionTrace struct {
	key    string
	parent string // its key, "" if there is none; guarded by Memory.mu
	size   int64  // as taken of Memory.room

	*conversation
	within *sessionTrace // has the conversation in common with others; nil: it is this trace's alone
	name   string        // of this trace in heard
	heard  *corpus       // that of the conversation; nil without others

	corpus       corpus
	origins      label.Set[string]          // of data that came in here, as labels attribute it
	messages     map[[sha256.Size]byte]bool // of the user
	words        string                     // the same, as text
	wishes       []string                   // the parts of it that say what to do
	lastMessage  time.Time
	destinations map[string]bool
	named        map[string]bool // places in the wishes
	sites        map[string]bool // hosts in the wishes, and those that requests went to
	wished       map[string]bool // hosts of those alone
	directory    directory
	told         *account
	grants       grants
	entries      int // as counted in texts
	texts        int // bytes in maps
}

// newSessionTrace returns a trace that has its conversation in common with the one within; nil for none.
func newSessionTrace(ref session.Ref, within *sessionTrace) *sessionTrace {
	s := &sessionTrace{
		key: ref.Key, parent: ref.Parent, within: within, told: new(account), conversation: new(conversation),
		corpus:   corpus{index: provenance.New(provenance.Options{})},
		messages: map[[sha256.Size]byte]bool{}, destinations: map[string]bool{},
		named: map[string]bool{}, wished: map[string]bool{}, sites: map[string]bool{},
		grants: grants{}, directory: directory{names: map[thing]Listed{}, ids: map[thing]string{}},
	}
	if within != nil {
		s.conversation = within.conversation
		s.join(s)
	} else {
		s.accounts, s.joined = []*account{s.told}, 1
	}
	return s
}

// distrust has the index trust no text that may be untrusted text come back, if the session was, or may have been,
// given such text and passed it on elsewhere: before this trace began, in another process, in a session below or above
// it.
func (s *sessionTrace) distrust(f *policy.SessionFacts) {
	if f.Label.Untrusted && (!s.traced || !s.untrusted || s.foreign(f.Calls) > 0) {
		s.corpus.read().Doubt()
	}
	s.traced = true
}

// pasted is the source of text that the user passed on.
const pasted = "user?pasted"

// addUserMessage notes a message of the user. The same text again is the same message, sent along with another request.
// It reports whether there was room.
func (s *sessionTrace) addUserMessage(text string, now time.Time) bool {
	sum := sha256.Sum256([]byte(text))
	if s.messages[sum] {
		return true
	}
	if len(s.messages) >= maxMessages || len(s.words)+len(text) > maxWords {
		return false
	}
	said := speech.Read(text)
	for _, own := range said.Own {
		if !s.corpus.read().AddUser(own) {
			return false
		}
	}
	for _, theirs := range said.Pasted {
		s.corpus.read().Add(provenance.Source{URI: pasted, Kinds: provenance.Untrusted}, theirs)
	}
	for _, wish := range said.Wishes {
		s.addNamed(wish)
	}
	s.wishes = append(s.wishes, said.Wishes...)
	s.messages[sum] = true
	if s.words != "" {
		s.words += "\n"
	}
	s.words += text
	s.lastMessage = now
	return true
}

// addNamed notes the places that the user's words name: whole places, and the sites of those that are URLs.
func (s *sessionTrace) addNamed(text string) {
	for _, p := range address.Named(text) {
		if len(s.named) >= maxDestinations {
			return
		}
		if isVersion(text, p) {
			continue
		}
		if p.Name != "" && !isTemplate(text, p.Text) {
			s.named[p.Name] = true
		}
		if p.Kind == address.Web && p.Host != "" {
			s.sites[bare(p.Host)], s.wished[bare(p.Host)] = true, true
		}
	}
}

// isVersion reports whether a host in the user's words is four numbers that nothing says to be one, and may be a
// version.
func isVersion(text string, p address.Place) bool {
	return p.Kind == address.Web && strings.Trim(p.Text, "0123456789.") == "" && !speech.NamesAs([]string{text}, p.Text, "host", "")
}

// isTemplate reports whether an address in a text is the beginning of a pattern, as https://hooks.example/{team}.
func isTemplate(text, place string) bool {
	if place == "" || !strings.ContainsAny(place[len(place)-1:], "/=-_@?&#%+") {
		return false
	}
	for _, after := range strings.Split(text, place)[1:] {
		if after != "" && strings.ContainsAny(after[:1], "{[(<*$") {
			return true
		}
	}
	return false
}

// whole reports whether all data of the session entered it here: no other process made a call of it or brought data, in
// the session or in one below, and none was there before.
func (s *sessionTrace) whole(f *policy.SessionFacts) bool {
	return s.foreign(f.Calls) == 0 && s.origins.Contains(f.Label.Attribution)
}

// describe fills in the facts of the session. Of calls that other processes made nothing is known but their number: each
// may have carried something out, since the last look at this moment.
func (s *sessionTrace) describe(f *policy.SessionFacts, now time.Time) {
	others := s.foreign(f.Calls)
	f.Calls = max(f.Calls, s.seen+others) // calls of this process may be counted in the store a little later
	if n := min(others-s.foreigns, maxRecent); s.looked && n > 0 {
		s.calls = append(s.calls[max(0, len(s.calls)+n-maxRecent):], slices.Repeat(times{now}, n)...)
	}
	s.looked, s.foreigns = true, others
	f.Sent = s.sent + others
	f.UserWords = s.words != ""
	if !s.lastMessage.IsZero() {
		f.SinceUser = max(now.Sub(s.lastMessage), 0)
	}
	f.Reached, f.Recent, f.Burst = s.reached, s.calls.since(now), s.acts.since(now)
}

// addCall notes that a call goes out.
func (s *sessionTrace) addCall(f *policy.Facts, now time.Time) {
	s.calls = append(s.calls[max(0, len(s.calls)+1-maxRecent):], now)
	if f.Session.Label.Untrusted && !f.PlainRead() {
		s.acts = append(s.acts[max(0, len(s.acts)+1-maxRecent):], now)
	}
	if !f.Egress() {
		return
	}
	s.sent++
	before := len(s.destinations) + len(s.sites)
	for d := range f.Call.Destinations.All() {
		if f.PlainRead() { // a place that was looked at is not a place to send something to
			s.addSites(d)
		} else if len(s.destinations) < maxDestinations {
			s.destinations[d] = true
		}
	}
	if f.Session.Label.Untrusted {
		s.reached = min(s.reached+len(s.destinations)+len(s.sites)-before, maxReached)
	}
}

// addSites notes the sites that a request went to as ones that the session knows.
func (s *sessionTrace) addSites(text string) {
	for _, host := range address.Read(text).Hosts() {
		if len(s.sites) < maxDestinations {
			s.sites[bare(host)] = true
		}
	}
}

// bare returns a host without the www that people leave out.
func bare(host string) string { return strings.TrimPrefix(host, "www.") }

// The memory of a trace beside its texts, in bytes: itself, and each entry of its maps and lists.
const (
	ownSize   = 1200
	entrySize = 64
)

// memory returns about how many bytes the trace has. The lock must be held.
func (s *sessionTrace) memory() int64 {
	entries := len(s.wishes) + len(s.messages) + len(s.grants) + s.origins.Len() + len(s.destinations) + len(s.named) +
		len(s.sites) + len(s.wished) + len(s.directory.names) + len(s.directory.ids)
	corpora := [2]*corpus{&s.corpus}
	if s.within == nil { // else that trace counts them
		entries += len(s.arrivals.servers) + len(s.arrivals.awaited)
		for _, a := range s.accounts {
			entries += len(a.spent) + len(a.paid)
		}
		corpora[1] = s.heard
	}
	if entries != s.entries { // else they are the same: none is taken out but with another put in
		s.entries, s.texts = entries, s.textSize()
	}
	n := int64(ownSize + entries*entrySize + s.texts + 2*len(s.words) + len(s.key))
	for _, c := range corpora {
		if c == nil {
			break
		}
		if c.taking.TryLock() { // else who takes in a document has it counted
			c.taken = int64(c.index.Size())
			for _, list := range c.listed {
				c.taken += int64(len(list) * (entrySize + longestPage))
			}
			c.taking.Unlock()
		}
		n += c.taken + c.bytes.Load()
	}
	return n
}

// textSize adds up the texts in maps.
func (s *sessionTrace) textSize() (n int) {
	sets := []map[string]bool{s.destinations, s.named, s.sites, s.wished}
	if s.within == nil {
		sets = append(sets, s.arrivals.awaited, s.arrivals.servers)
		for _, a := range s.accounts {
			for key := range a.spent {
				n += len(key)
			}
			for key := range a.paid {
				n += len(key)
			}
		}
	}
	for _, set := range sets {
		for text := range set {
			n += len(text)
		}
	}
	for of, l := range s.directory.names {
		n += len(of.server) + len(of.text) + len(l.Name) + len(l.Tool)
	}
	for of, id := range s.directory.ids {
		n += len(of.server) + len(of.text) + len(id)
	}
	for uri := range s.origins.All() {
		n += len(uri)
	}
	for scope, g := range s.grants {
		n += len(scope)
		for a := range g.shown {
			n += len(a.Path) + len(a.Text) + entrySize
		}
	}
	return n
}
