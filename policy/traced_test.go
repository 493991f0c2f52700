package policy_test

import (
	"slices"
	"testing"
	"time"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
)

const (
	destroyAsk = "ask-before-destroying-unasked"
	changeAsk  = "ask-before-changing-what-strangers-name"
	tellAsk    = "ask-before-telling-more-than-a-little"
	siteAsk    = "ask-before-telling-strangers-sites-much"
)

// A tracedCase is a call of which the operator has stated the roles of the arguments, and their origins.
type tracedCase struct {
	name    string
	session label.Label
	tool    contract.Contract // by the operator
	call    policy.CallFacts  // Traced and Stated are added
	effect  policy.Effect
	rules   []string
}

func (c *tracedCase) facts() *policy.Facts {
	f := &policy.Facts{
		Method: "tools/call", Tool: policy.ToolFacts{Name: "t", Declared: c.tool, Annotations: c.tool.Assume()},
		Server: policy.ServerFacts{Name: "s"}, Session: policy.SessionFacts{Label: c.session},
		Call: c.call, Arguments: []byte(some),
	}
	f.Call.Traced, f.Call.Stated = true, true
	return f
}

// from is a set of kinds of provenance, or of anything.
func from(kinds ...string) label.Set[string] { return label.SetOf(kinds...) }

// to is a call to a destination of the given kinds, with content of the given kinds.
func to(destination, content label.Set[string]) policy.CallFacts {
	c := policy.CallFacts{ContentFrom: content, DestinationFrom: destination, From: content.Union(destination)}
	if destination.Len() > 0 {
		c.Destinations = from("somewhere")
	}
	return c
}

// with changes a call.
func with(c policy.CallFacts, changes ...func(*policy.CallFacts)) policy.CallFacts {
	for _, change := range changes {
		change(&c)
	}
	return c
}

func made(c *policy.CallFacts)   { c.MadeLinks = true }
func orders(c *policy.CallFacts) { c.Orders = true }
func who(c *policy.CallFacts)    { c.Identifies = true }
func links(c *policy.CallFacts)  { c.Links = true }
func named(c *policy.CallFacts)  { c.Named = true }
func own(c *policy.CallFacts)    { c.Own = true }
func self(c *policy.CallFacts)   { c.Self = true }
func shown(c *policy.CallFacts)  { c.Readable = true }
func hosted(c *policy.CallFacts) { c.Hosts = from("somewhere.example") }
func afar(c *policy.CallFacts)   { c.Strange = true }

func much(c *policy.CallFacts) { c.Leak, c.Total = 65, 65 }
func lots(c *policy.CallFacts) { c.Leak, c.Total, c.Hosts = 257, 257, from("somewhere.example") }

func verbatim(c *policy.CallFacts)     { c.Verbatim = true }
func crosses(c *policy.CallFacts)      { c.Crosses = true }
func smallPrivate(c *policy.CallFacts) { c.SmallFrom = from("private") }

var (
	user, nothing      = from("user"), from()
	secret             = label.Label{Sensitivity: label.SetOf(label.Credentials)} // and not private, so that one rule decides
	secretAndUntrusted = label.Join(secret, untrusted)
	remover            = contract.Contract{Destructive: contract.Yes, OpenWorld: contract.No, Destinations: contract.Possible(contract.Internal), Outcomes: contract.Possible(contract.Irreversible)}
	mover              = contract.Contract{Destructive: contract.No, OpenWorld: contract.No, Destinations: contract.Possible(contract.Internal), Outcomes: contract.Possible(contract.Consequential)}
	scratch            = contract.Contract{Destructive: contract.No, OpenWorld: contract.No, Destinations: contract.Possible(contract.Ephemeral), Outcomes: contract.Possible(contract.Benign)}
	setter             = contract.Contract{Destructive: contract.No, OpenWorld: contract.No, Destinations: contract.Possible(contract.Internal), Outcomes: contract.Possible(contract.Benign)}
	openPoster         = contract.Contract{Destructive: contract.No, OpenWorld: contract.Yes, Destinations: contract.Possible(contract.Public)}
	searcher           = contract.Contract{ReadOnly: contract.Yes, OpenWorld: contract.Yes, Destinations: contract.Possible(contract.System), Sources: contract.Possible(label.UntrustedPublic)}
	closedSearcher     = contract.Contract{ReadOnly: contract.Yes, OpenWorld: contract.No, Destinations: contract.Possible(contract.System), Sources: contract.Possible(label.UntrustedPublic)}
	ownSearcher        = contract.Contract{ReadOnly: contract.Yes, OpenWorld: contract.Yes, Destinations: contract.Possible(contract.System), Sources: contract.Possible(label.UntrustedPublic, label.Internal)}
	webReader          = contract.Contract{ReadOnly: contract.Yes, OpenWorld: contract.Yes, Destinations: contract.Possible(contract.Public), Sources: contract.Possible(label.UntrustedPublic)}
	booker             = contract.Contract{Destructive: contract.No, OpenWorld: contract.Yes, Destinations: contract.Possible(contract.System), Sources: contract.Possible(label.UntrustedPublic), Outcomes: contract.Possible(contract.Benign)}
	overwriter         = contract.Contract{Destructive: contract.Yes, OpenWorld: contract.Yes, Destinations: contract.Possible(contract.User), Outcomes: contract.Possible(contract.Consequential)}
)

// tracedCases are the calls that the built-in policy decides by where their arguments come from, one line a case.
var tracedCases = []tracedCase{
	{"mail to whom the user named", untrusted, mailer, with(to(user, user), named), policy.Allow, nil},
	{"mail to whom the user named, of a stranger's words", untrusted, poster, to(user, from("untrusted", "novel")), policy.Allow, nil},
	{"mail to whom a stranger named", untrusted, poster, to(from("untrusted"), user), policy.Ask, rules(actAsk)},
	{"both, private words to the user", both, poster, with(to(user, from("private", "novel")), self), policy.Allow, nil},
	{"both, private words to readers", both, poster, with(to(user, from("private", "novel")), shown), policy.Allow, nil},
	{"both, private words to readers, with a link", both, poster, with(to(user, from("private", "novel")), shown, links), policy.Ask, rules(linksAsk)},
	{"both, private words to the user, with a link", both, poster, with(to(user, from("private", "novel")), self, links), policy.Ask, rules(linksAsk)},
	{"mail to whom a trusted source named", untrusted, poster, to(from("trusted"), user), policy.Ask, rules(actAsk)},
	{"mail to one whom the user named and to another", untrusted, poster, to(from("novel", "user"), user), policy.Ask, rules(actAsk)},
	{"mail to whom the user named, with a link", untrusted, poster, with(to(user, from("untrusted")), links), policy.Ask, rules(linksAsk)},
	{"an open draft with a link", untrusted, openDrafts, with(to(user, from("untrusted")), links), policy.Allow, nil},
	{"a closed draft with a link", untrusted, drafts, with(to(user, from("untrusted")), links), policy.Allow, nil},
	{"a link that nobody else could have planted", clean, poster, with(to(user, from("novel")), links), policy.Allow, nil},
	{"both, an open draft with a link that was made up", both, openDrafts, with(to(user, user), made), policy.Ask, rules(madeAsk)},
	{"both, an open draft with a link that somebody wrote", both, openDrafts, with(to(user, from("untrusted")), links), policy.Allow, nil},
	{"both, a closed draft with a link that was made up", both, drafts, with(to(user, user), made), policy.Allow, nil},
	{"both, a read that keeps nothing, with a link that was made up", both, inbox, with(to(user, user), made), policy.Allow, nil},
	{"both, mail with a link that was made up", both, openPoster, with(to(user, user), made), policy.Allow, nil},
	{"private, an open draft with a link that was made up", private, openDrafts, with(to(user, user), made), policy.Allow, nil},
	{"an open draft with a link that was made up", untrusted, openDrafts, with(to(user, user), made), policy.Allow, nil},
	{"a request with a link", untrusted, openReader, with(to(user, from("untrusted")), links), policy.Allow, nil},

	{"an order in notes", untrusted, drafts, with(to(user, from("untrusted")), links, orders), policy.Ask, rules(orderAsk)},
	{"an order in notes that no outsider gave", clean, drafts, with(to(user, from("untrusted")), links, orders), policy.Allow, nil},
	{"a search for an order", untrusted, inbox, with(to(nothing, from("untrusted")), orders), policy.Allow, nil},
	{"an order in a mail", untrusted, poster, with(to(user, user), orders), policy.Allow, nil},
	{"both, a search for somebody", both, searcher, with(to(nothing, from("private")), who), policy.Ask, rules(searchAsk)},
	{"both, a search", both, searcher, to(nothing, from("private")), policy.Allow, nil},
	{"a search for somebody, with nothing private", untrusted, searcher, with(to(nothing, user), who), policy.Allow, nil},
	{"private, a search for somebody", private, searcher, with(to(nothing, from("private")), who), policy.Allow, nil},
	{"both, a search for somebody in a closed world", both, closedSearcher, with(to(nothing, from("private")), who), policy.Allow, nil},
	{"both, a search for somebody in own data", both, ownSearcher, with(to(nothing, from("private")), who), policy.Allow, nil},
	{"both, a request with somebody's name that the user wrote", both, webReader, with(to(user, user), who), policy.Allow, nil},
	{"both, a change at a service with somebody's name", both, booker, with(to(user, user), who), policy.Allow, nil},

	{"both, mail to whom the user named, of the user's words", both, poster, to(user, user), policy.Allow, nil},
	{"both, mail to whom the user named, of small values", both, poster, to(user, nothing), policy.Allow, nil},
	{"both, mail to whom the user named, of trusted words", both, poster, to(user, from("trusted", "user")), policy.Allow, nil},
	{"both, mail to whom the user named, of private words", both, poster, to(user, from("private", "trusted")), policy.Ask, rules(leaveAsk)},
	{"both, mail to whom the user named, of nobody's words", both, poster, with(to(user, from("novel")), much), policy.Ask, rules(leaveAsk, tellAsk)},
	{"both, mail to whom the user named, of few words of nobody's", both, poster, to(user, from("novel")), policy.Allow, nil},
	{"both, mail to colleagues, of nobody's words", both, poster, with(to(user, from("novel")), own, much), policy.Ask, rules(leaveAsk, tellAsk)},
	{"both, mail of the user's words, and many of them", both, poster, with(to(user, user), much), policy.Ask, rules(tellAsk)},
	{"mail of the user's words, and many of them", untrusted, poster, with(to(user, user), much), policy.Allow, nil},
	{"private, mail of the user's words, and many of them", private, poster, with(to(user, user), much), policy.Allow, nil},
	{"private, mail to anyone, of few words of nobody's", private, poster, to(from("novel"), from("novel")), policy.Ask, rules(leaveAsk)},
	{"both, a draft of the user's words, and many of them", both, drafts, with(to(user, user), much), policy.Allow, nil},
	{"private, mail to whom the user named, of private words", private, poster, to(user, from("private")), policy.Allow, nil},
	{"private, mail to colleagues, of private words", private, poster, with(to(from("novel"), from("private")), own), policy.Allow, nil},
	{"private, mail to anyone, of private words", private, poster, to(from("novel"), from("private")), policy.Ask, rules(leaveAsk)},
	{"private, mail to anyone, of the user's words", private, poster, to(from("novel"), user), policy.Allow, nil},

	{"both, mail to whom nobody named, of the user's words as they are", both, poster, with(to(from("novel"), user), verbatim), policy.Ask, rules(actAsk)},
	{"private, a request of private words", private, openReader, to(user, from("private")), policy.Ask, rules(requestAsk)},
	{"private, a request to a place of private words", private, openReader, to(from("private", "novel"), nothing), policy.Ask, rules(requestAsk)},
	{"private, a request to a place that a private list names", private, openReader, to(from("private", "trusted"), nothing), policy.Allow, nil},
	{"private, a request of nobody's words", private, openReader, to(from("novel"), from("novel")), policy.Allow, nil},
	{"private, a request of private words to colleagues", private, openReader, with(to(user, from("private")), own), policy.Allow, nil},
	{"both, a request of private words to colleagues", both, openReader, with(to(user, from("private")), own), policy.Ask, rules(requestAsk)},
	{"both, many requests of private words to colleagues", both, openReader, with(to(user, from("private")), own, much), policy.Ask, rules(requestAsk, tellAsk)},
	{"both, a request to an own place that a private list names", both, openReader, with(to(from("private", "trusted"), nothing), own, much), policy.Allow, nil},
	{"both, a request to a place that a private list names", both, openReader, with(to(from("private", "trusted"), nothing), much), policy.Ask, rules(requestAsk, tellAsk)},
	{"both, a request to an own place that a page names", both, openReader, with(to(from("untrusted"), nothing), own, much), policy.Ask, rules(requestAsk, tellAsk)},
	{"both, a post to an own place that a private list names", both, poster, with(to(from("private", "trusted"), nothing), own, much), policy.Ask, rules(actAsk, tellAsk)},

	{"credentials, a post of the user's words as they are", secret, poster, with(to(user, user), verbatim), policy.Allow, nil},
	{"credentials, a post of the user's words", secret, poster, to(user, user), policy.Ask, rules(credAsk)},
	{"credentials, a request of the user's words as they are", secret, openReader, with(to(user, user), verbatim), policy.Allow, nil},
	{"credentials, a request of the user's words", secret, openReader, to(user, user), policy.Ask, rules(credAsk)},
	{"credentials, a draft elsewhere", secret, drafts, with(to(user, from("novel")), crosses), policy.Allow, nil},
	{"credentials, a draft elsewhere of private words", secret, drafts, with(to(user, from("private")), crosses), policy.Ask, rules(crossAsk)},
	{"credentials, a draft elsewhere of small private words", secret, drafts, with(to(user, nothing), crosses, smallPrivate), policy.Ask, rules(crossAsk)},
	{"credentials, a draft of private words at the same server", secret, drafts, to(user, from("private")), policy.Allow, nil},
	{"credentials beside strangers' text, a draft elsewhere", secretAndUntrusted, drafts, with(to(user, from("novel")), crosses), policy.Ask, rules(crossAsk)},
	{"credentials beside strangers' text, a read elsewhere", secretAndUntrusted, shutReader, with(to(user, from("novel")), crosses), policy.Ask, rules(crossAsk)},
	{"credentials beside strangers' text, a read elsewhere that keeps nothing", secretAndUntrusted, inbox, with(to(user, from("private")), crosses), policy.Allow, nil},
	{"credentials beside strangers' text, a change that keeps nothing", secretAndUntrusted, scratch, with(to(user, from("private")), crosses), policy.Ask, rules(crossAsk)},
	{"credentials beside strangers' text, a draft at the same server", secretAndUntrusted, drafts, to(user, from("novel")), policy.Allow, nil},
	{"private data, a draft elsewhere", private, drafts, with(to(user, from("private")), crosses), policy.Allow, nil},

	{"a change without a destination, of the user's words", untrusted, poster, to(nothing, user), policy.Allow, nil},
	{"a change without a destination, of user's and trusted words", untrusted, poster, to(nothing, from("trusted", "user")), policy.Allow, nil},
	{"a change without a destination, of trusted words", untrusted, poster, to(nothing, from("trusted")), policy.Ask, rules(actAsk)},
	{"a change without a destination, of nobody's words", untrusted, poster, to(nothing, from("novel", "user")), policy.Ask, rules(actAsk)},
	{"a change without a destination, of small values", untrusted, poster, to(nothing, nothing), policy.Ask, rules(actAsk)},

	{"destroying things that the user named, unasked", untrusted, remover, to(user, nothing), policy.Ask, rules(destroyAsk)},
	{"destroying things that the user named, as asked", untrusted, remover, with(to(user, nothing), named), policy.Allow, nil},
	{"destroying in a clean session", clean, remover, to(user, nothing), policy.Allow, nil},
	{"overwriting a file that can be restored", untrusted, overwriter, to(user, nothing), policy.Allow, nil},
	{"undestructive, and not to be undone", untrusted, contract.Contract{Destructive: contract.No, OpenWorld: contract.No, Destinations: contract.Possible(contract.Internal), Outcomes: contract.Possible(contract.Irreversible)}, to(user, nothing), policy.Allow, nil},
	{"a read that calls itself destructive", untrusted, contract.Contract{ReadOnly: contract.Yes, Destructive: contract.Yes, OpenWorld: contract.No, Outcomes: contract.Possible(contract.Irreversible)}, to(user, nothing), policy.Allow, nil},

	{"a change of a thing that an outsider named", untrusted, mover, to(from("untrusted", "user"), nothing), policy.Ask, rules(changeAsk)},
	{"a change of a thing that the agent named", untrusted, mover, to(from("novel", "user"), from("untrusted")), policy.Allow, nil},
	{"a change of a thing that the user named", untrusted, mover, to(user, from("untrusted")), policy.Allow, nil},
	{"a change of a thing that a trusted source named", untrusted, mover, to(from("trusted"), from("untrusted")), policy.Allow, nil},
	{"a change in a clean session", clean, mover, to(from("untrusted"), nothing), policy.Allow, nil},
	{"a change of no consequence", untrusted, setter, to(from("untrusted"), nothing), policy.Allow, nil},
	{"a read that calls itself a change", untrusted, contract.Contract{ReadOnly: contract.Yes, OpenWorld: contract.No, Outcomes: contract.Possible(contract.Consequential)}, to(from("untrusted"), nothing), policy.Allow, nil},
	{"a change that may be final, of a thing that an outsider named", untrusted, contract.Contract{Destructive: contract.No, OpenWorld: contract.No, Destinations: contract.Possible(contract.Internal), Outcomes: contract.Possible(contract.Consequential, contract.Irreversible)}, to(from("untrusted"), nothing), policy.Ask, rules(actAsk)},
	{"a change for nobody else, of a thing that an outsider named", untrusted, overwriter, to(from("untrusted"), nothing), policy.Allow, nil},
	{"a public change of a thing that an outsider named", untrusted, contract.Contract{Destructive: contract.No, OpenWorld: contract.No, Destinations: contract.Possible(contract.Internal, contract.Public), Outcomes: contract.Possible(contract.Consequential)}, to(from("untrusted"), nothing), policy.Ask, rules(actAsk)},

	{"both, a request of the user's words", both, openReader, to(user, nothing), policy.Allow, nil},
	{"both, a request of trusted words", both, openReader, to(from("trusted"), user), policy.Allow, nil},
	{"both, a request of small values", both, openReader, to(nothing, nothing), policy.Allow, nil},
	{"both, a request of a stranger's words", both, openReader, to(from("untrusted"), nothing), policy.Ask, rules(requestAsk)},
	{"both, a request of small values to where a stranger points", both, openReader, with(to(nothing, nothing), afar), policy.Ask, rules(requestAsk)},
	{"both, a request of nobody's words", both, openReader, to(user, from("novel")), policy.Ask, rules(requestAsk)},

	{"a request to where a stranger points", untrusted, openReader, with(to(from("untrusted"), nothing), afar), policy.Ask, rules(placeAsk)},
	{"a request to where no stranger has pointed", clean, openReader, with(to(from("novel"), nothing), afar), policy.Allow, nil},
	{"a request of a stranger's words to a known place", untrusted, openReader, to(from("untrusted"), nothing), policy.Allow, nil},
	{"both, a request to where a stranger points", both, openReader, with(to(from("untrusted"), nothing), afar), policy.Ask, rules(requestAsk)},
	{"a request that tells a stranger's site much", untrusted, openReader, with(to(user, user), lots), policy.Ask, rules(siteAsk)},
	{"a request that tells it little", untrusted, openReader, with(to(user, user), lots, func(c *policy.CallFacts) { c.Total = 256 }), policy.Allow, nil},
	{"a request that tells no site much", untrusted, openReader, with(to(user, user), lots, func(c *policy.CallFacts) { c.Hosts = nothing }), policy.Allow, nil},
	{"a request that tells a site much, and no stranger's text", clean, openReader, with(to(user, user), lots), policy.Allow, nil},
	{"both, a request that tells a site much", both, openReader, with(to(user, user), lots), policy.Ask, rules(tellAsk)},
	{"mail that tells a site much", untrusted, poster, with(to(user, user), lots), policy.Allow, nil},
	{"a read in a closed world that tells a site much", untrusted, shutReader, with(to(user, user), lots), policy.Allow, nil},
	{"a read in a closed world, wherever", untrusted, shutReader, with(to(from("untrusted"), nothing), afar), policy.Allow, nil},
	{"a draft, wherever", untrusted, drafts, with(to(from("untrusted"), nothing), afar), policy.Allow, nil},
	{"mail to whom the user named, wherever", untrusted, poster, with(to(user, user), afar), policy.Allow, nil},
}

// draftedCases are calls of which the operator has said nothing.
var draftedCases = []tracedCase{
	{"mail to whom the user named, as far as can be guessed", untrusted, poster, to(user, user), policy.Ask, rules(actAsk)},
	{"private, mail of the user's words, as far as can be guessed", private, poster, to(from("novel"), user), policy.Ask, rules(leaveAsk)},
	{"private, mail of the user's words as they are", private, poster, with(to(from("novel"), user), verbatim), policy.Allow, nil},
	{"private, mail to whom the user named, as far as can be guessed", private, poster, to(user, from("private")), policy.Ask, rules(leaveAsk)},
	{"both, a request of the user's words, whatever for", both, openReader, to(user, nothing), policy.Allow, nil},
	{"both, a request of small values, whatever for", both, openReader, to(nothing, nothing), policy.Ask, rules(requestAsk)},
}

// typedCases are texts that a person types for a server, with roles that the operator has stated.
var typedCases = []tracedCase{
	{"a person types an order", untrusted, drafts, with(to(user, user), orders), policy.Allow, nil},
	{"a person agrees to a change", untrusted, mover, to(from("untrusted"), nothing), policy.Allow, nil},
	{"a person agrees to destroy", untrusted, remover, to(user, nothing), policy.Allow, nil},
	{"a person types a link of their own", both, openDrafts, with(to(user, user), made), policy.Allow, nil},
	{"a person types a link", untrusted, poster, with(to(user, from("untrusted")), links), policy.Allow, nil},
}

// TestUnstated holds that a call of which the operator says nothing is softened by nothing but a whole request of trusted
// words.
func TestUnstated(t *testing.T) {
	for _, c := range tracedCases {
		f := c.facts()
		f.Call.Stated = false
		if d := policy.Default().Decide(f); d.Effect > c.effect && c.tool.ReadOnly != contract.Yes {
			t.Errorf("%s: %s, and %s where the operator states the roles", c.name, d.Effect, c.effect)
		}
		f.Call = policy.CallFacts{}
		found := slices.Equal(c.rules, rules(orderAsk)) || slices.Equal(c.rules, rules(searchAsk)) // by marks, which nothing has where nobody looks
		if d := policy.Default().Decide(f); d.Effect > c.effect && !found {
			t.Errorf("%s: %s where nothing was traced", c.name, d.Effect)
		}
	}
}

// TestOnce holds which questions are put once for a destination: of the built-in policy those about reading and about the sum of bits told.
func TestOnce(t *testing.T) {
	for _, r := range policy.Default().Rules() {
		if r.Once != (r.Name == requestAsk || r.Name == tellAsk) {
			t.Errorf("%s: once %v", r.Name, r.Once)
		}
	}
}

// TestProfiles tells the profiles apart, one line a call.
func TestProfiles(t *testing.T) {
	const a, q, x = policy.Allow, policy.Ask, policy.Block
	at := func(sinceStart int, change func(*policy.Facts)) func(*policy.Facts) {
		return func(f *policy.Facts) { f.Session.Recent = sinceStart; change(f) }
	}
	same := func(*policy.Facts) {}
	trust := func(f *policy.Facts) {
		f.Tool.Annotations = contract.Effective(f.Tool.Declared, contract.Untrusted)
	}
	for _, c := range []struct {
		tracedCase
		change                         func(*policy.Facts)
		calm, balanced, strict, reader policy.Effect
	}{
		{tracedCase{name: "a clean session writes", tool: drafts}, same, a, a, a, x},
		{tracedCase{name: "a clean session reads", tool: reader}, same, a, a, a, a},
		{tracedCase{name: "a stranger's server says that it reads", tool: reader}, trust, a, a, a, x},
		{tracedCase{name: "a person types", tool: poster, session: both}, func(f *policy.Facts) { f.Method = "elicitation/create" }, a, a, a, a},
		{tracedCase{name: "a draft of a stranger's words", session: untrusted, tool: drafts, call: to(user, from("untrusted"))}, same, a, a, q, x},
		{tracedCase{name: "a draft of the user's words", session: untrusted, tool: drafts, call: with(to(user, user), named, verbatim)}, same, a, a, a, x},
		{tracedCase{name: "a draft of the user's words, unasked", session: untrusted, tool: drafts, call: to(user, user)}, same, a, a, q, x},
		{tracedCase{name: "a post to whom a stranger named", session: untrusted, tool: poster, call: to(from("untrusted"), user)}, same, a, q, q, x},
		{tracedCase{name: "mail to whom a stranger named", session: untrusted, tool: mailer, call: with(to(from("untrusted"), user), named, hosted)}, same, q, q, q, x},
		{tracedCase{name: "mail to whom the user named", session: untrusted, tool: mailer, call: with(to(user, user), named, verbatim)}, same, a, a, a, x},
		{tracedCase{name: "erasing a stranger's choice", session: untrusted, tool: eraser, call: to(nothing, from("untrusted"))}, same, q, q, q, x},
		{tracedCase{name: "a link to whom the user named", session: untrusted, tool: poster, call: with(to(user, from("untrusted")), links)}, same, q, q, q, x},
		{tracedCase{name: "destroying things that the user named", session: untrusted, tool: remover, call: to(user, nothing)}, same, a, q, q, x},
		{tracedCase{name: "private words to anyone", session: private, tool: poster, call: to(from("novel"), from("private"))}, same, a, q, q, x},
		{tracedCase{name: "private words to colleagues", session: private, tool: poster, call: with(to(from("novel"), from("private")), own)}, same, a, a, a, x},
		{tracedCase{name: "the user's words to anyone, beside private data", session: private, tool: poster, call: to(from("novel"), user)}, same, a, a, q, x},
		{tracedCase{name: "the trifecta", session: both, tool: poster, call: with(to(user, from("novel")), much)}, same, a, q, q, x},
		{tracedCase{name: "the trifecta, of private words", session: both, tool: poster, call: to(from("novel"), from("private"))}, same, q, q, q, x},
		{tracedCase{name: "the trifecta, to a site that the agent made up", session: both, tool: openReader, call: with(to(from("novel"), nothing), hosted)}, same, q, q, q, q},
		{tracedCase{name: "the trifecta, of the user's words", session: both, tool: poster, call: with(to(user, user), named, verbatim)}, same, a, a, q, x},
		{tracedCase{name: "the trifecta, by a request", session: both, tool: openReader, call: to(from("untrusted"), nothing)}, same, a, q, q, q},
		{tracedCase{name: "the user's request", session: untrusted, tool: openReader, call: with(to(user, nothing), verbatim)}, same, a, a, a, a},
		{tracedCase{name: "a stranger's request", session: untrusted, tool: openReader, call: to(from("untrusted"), nothing)}, same, a, a, q, a},
		{tracedCase{name: "credentials to the public", session: credentials, tool: poster, call: to(user, user)}, same, q, q, q, x},
		{tracedCase{name: "credentials to the public, of the user's words", session: secret, tool: poster, call: with(to(user, user), verbatim)}, same, a, a, q, x},
		{tracedCase{name: "credentials to the public, in a request", session: secret, tool: openReader, call: to(user, from("novel"))}, same, q, q, q, q},
		{tracedCase{name: "credentials to another server", session: secret, tool: shutReader, call: with(to(user, from("private")), crosses)}, same, q, q, q, q},
		{tracedCase{name: "nobody's words to another server", session: secret, tool: shutReader, call: with(to(user, from("novel")), crosses)}, same, a, a, q, a},
		{tracedCase{name: "private words in a request", session: private, tool: openReader, call: to(user, from("private"))}, same, a, q, q, q},
		{tracedCase{name: "nobody's words in a request", session: private, tool: openReader, call: to(user, from("novel"))}, same, a, a, q, a},
		{tracedCase{name: "credentials to who knows where", session: credentials, tool: silent, call: to(user, user)}, same, q, q, q, x},
		{tracedCase{name: "after something malicious", session: malicious, tool: drafts, call: to(user, user)}, same, q, q, q, x},
		{tracedCase{name: "a read that wants review", tool: waryReader}, same, q, q, q, q},
		{tracedCase{name: "the sixtieth draft in a minute", tool: drafts}, at(60, same), a, a, q, x},
		{tracedCase{name: "the sixtieth read in a minute", tool: reader}, at(60, same), a, a, a, a},
	} {
		f := c.facts()
		c.change(f)
		for name, want := range map[string]policy.Effect{"calm": c.calm, "balanced": c.balanced, "strict": c.strict, "read-only": c.reader} {
			p, ok := policy.Profile(name)
			if d := p.Decide(f); !ok || d.Effect != want || len(d.Problems) > 0 {
				t.Errorf("%s, %s: %s by %v, want %s %v", c.name, name, d.Effect, d.Matched, want, d.Problems)
			}
		}
	}
	for _, name := range policy.Profiles() {
		p, _ := policy.Profile(name)
		bad := &policy.Facts{Phase: policy.OnResult, Response: &malicious}
		if d := p.Decide(bad); d.Effect != policy.Block && d.Effect != policy.Ask {
			t.Errorf("%s hands on malicious text unasked", name)
		}
	}
	if _, ok := policy.Profile("lax"); ok {
		t.Error("there is a profile of any name")
	}
}

// TestSessionFacts reads the facts of sessions and calls, and their values where nothing is known.
func TestSessionFacts(t *testing.T) {
	f := &policy.Facts{Session: policy.SessionFacts{Label: both, Sent: 2, Recent: 3, Burst: 2, Reached: 1, UserWords: true, SinceUser: 90 * time.Second}}
	for condition, want := range map[string]bool{
		`session.trifecta == ["private", "sent", "untrusted"]`: true,
		`session.sent == 2 && session.recent == 3`:             true,
		`session.burst == 2 && session.reached == 1`:           true,
		`session.userWords && session.sinceUser == 90`:         true,
		`has(session.sinceUser)`:                               true,
		`call.destination.first`:                               true,
		`call.destination.strange`:                             true,
		`call.from == ["novel", "private", "untrusted"]`:       true,
		`call.roles == "drafted"`:                              true,
		`call.destination.own || call.named`:                   false,
		`call.content.links`:                                   true,
	} {
		p := load(t, "version: 1\nrules:\n- {name: a, when: call, effect: ask, if: '"+condition+"'}\n")
		if d := p.Decide(f); (d.Effect == policy.Ask) != want || len(d.Problems) > 0 {
			t.Errorf("%s: %v", condition, d)
		}
	}
}

// found is a call in whose arguments detection found values of classes, from sources of the given kinds.
func found(kinds label.Set[string], classes ...string) policy.CallFacts {
	return policy.CallFacts{From: kinds, Found: policy.Findings{Certain: from(classes...), Likely: from(classes...), Count: len(classes)}}
}

// foundCases are calls whose arguments hold something that detection found.
var foundCases = []tracedCase{
	{"a key of the agent's goes out", clean, poster, found(from("novel"), "credentials"), policy.Ask, rules(foundAsk)},
	{"a canary goes out", clean, poster, found(from("untrusted", "user"), "canary"), policy.Ask, rules(foundAsk)},
	{"a key goes out in a value without a source", clean, poster, found(from(), "credentials"), policy.Ask, rules(foundAsk)},
	{"a key stays in", clean, drafts, found(from("novel"), "credentials"), policy.Allow, nil},
	{"the user's own key goes to a provider", clean, poster, found(from("user"), "credentials"), policy.Allow, nil},
	{"the user's own key goes to a provider, with words of a trusted source", clean, poster, found(from("user", "trusted"), "credentials"), policy.Allow, nil},
	{"a card number goes out", clean, poster, found(from("novel"), "financial", "pii", "untrusted", "malicious"), policy.Allow, nil},
}
