package guard

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/internal/address"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/speech"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/overlay"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/provenance"
)

// MetaUserMessage is the member of a request's _meta in which a host tells what the user wrote: a text, or a list of texts.
// The host may send it with one request or with each. It is the user's word for this agent session, is shown in questions
// and goes to no server.
const MetaUserMessage = ownMeta + "user-message"

// A Value is an argument of a call, and where it came from.
type Value struct {
	policy.Argument
	Destination bool             // it says where something goes
	From        provenance.Kinds // empty of what has no letters and digits
	Whole       bool             // all of it is one piece of one source
	Matches     []provenance.Match
	Bits, Known int // what its choice can tell; see provenance.Trace
}

// A finding is what tracing found of one call.
type finding struct {
	values []Value
	words  string // what the user wrote
	cut    bool   // there are more values

	bits int        // that the choice of arguments can tell
	to   []receiver // and to whom
	over []receiver // the call's server, if it may learn of credentials of another one and keep them

	beside     int      // bits of what is no value: how the arguments are written, and what of them is empty
	undeclared []string // names that no schema declares
}

// hear takes in what the host says that the user wrote.
func (g *Guard) hear(ctx context.Context, c *Call) error {
	raw, ok := rawjson.Get(c.Params, "_meta", MetaUserMessage)
	if !ok {
		return nil
	}
	var texts []string
	valid := true
	read := func(value []byte) {
		text, isText := rawjson.String(value)
		if valid = valid && isText; isText && text != "" {
			texts = append(texts, text)
		}
	}
	switch rawjson.Kind(raw) {
	case '[':
		for value := range rawjson.Elements(raw) {
			read(value)
		}
	default:
		read(raw)
	}
	kept, m := true, g.memory(c)
	g.memories.change(m, func() {
		for _, text := range texts {
			kept = m.hear(text, g.opts.Now()) && kept
		}
	})
	where := "_meta." + MetaUserMessage
	switch {
	case !valid:
		return g.Defect(ctx, c, annotation.Defect{Where: where, Reason: "neither a text nor a list of texts"})
	case !kept:
		return g.Defect(ctx, c, annotation.Defect{Where: where, Reason: "more than is kept of the user's words"})
	}
	return nil
}

func (g *Guard) memory(c *Call) *memory {
	return g.memories.of(c.Session, g.opts.TrustText, g.opts.Now())
}

// trace finds out where the arguments of the call came from, and adds to the facts what follows from that.
func (g *Guard) trace(c *Call, f *policy.Facts) *finding {
	m := g.memory(c)
	others := g.secretsOf(c, m, &f.Session)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.about(&f.Session, g.opts.Now())
	m.doubt(&f.Session)
	all, cut := scalars(c.Arguments, c.Undeclared.Names)
	if c.Undeclared.Params != nil {
		beyond, more := scalars(c.Undeclared.Params, nil)
		all, cut = append(all, beyond...), cut || more
	}
	found := &finding{words: m.words, cut: cut}
	t := tracer{memory: m, facts: f, known: map[string]Value{}, stated: f.Roles.Known, domains: g.opts.Domains}
	t.missed = f.Session.Label.Private && (m.arrivals.missed || !m.index.Complete() || m.told.foreign(f.Session.Calls) > 0)
	for _, a := range all {
		found.values = append(found.values, t.value(a))
	}
	roles := f.Roles
	if !roles.Known {
		roles = draft(all)
	}
	roles.Cut = roles.Cut || cut
	f.Call = policy.CallFacts{Traced: true, Stated: roles.Known, Named: speech.Asks(m.wishes, c.Name, c.Server)}
	t.parts(found, roles)
	t.measure(c, found, roles)
	if others && c.keeps() {
		found.over = []receiver{{key: "secrets " + c.Server, base: t.server(c).base}}
	}
	f.Call.Verbatim, f.Call.Crosses = found.verbatim(), others && found.tells()
	g.destinations(m, &f.Call, roles)
	f.Call.Strange = roles.Cut || slices.ContainsFunc(roles.Destinations, func(a policy.Argument) bool {
		v := t.place(a)
		return t.strange(&v)
	})
	return found
}

// A tracer traces the values of one call.
type tracer struct {
	memory *memory
	facts  *policy.Facts
	stated bool // the operator says which arguments are destinations and contents
	missed bool // private data entered the session that the index does not know
	known  map[string]Value

	domains []string // the operator's own
}

// value traces one argument.
func (t *tracer) value(a policy.Argument) Value {
	if v, ok := t.known[a.Text]; ok {
		v.Argument = a
		return v
	}
	got := t.memory.index.Trace(a.Text)
	if t.missed && got.From&provenance.Novel != 0 {
		got.From |= provenance.Private
	}
	if echoes(got) {
		got.From = got.From&^provenance.Untrusted | provenance.Novel
	}
	v := Value{Argument: a, From: got.From, Whole: got.Whole, Matches: got.Matches, Bits: got.Bits, Known: got.Known}
	t.known[a.Text] = v
	return v
}

// sentAlong ends the URI of what an agent gave to a tool of that URI, which no tool's own URI does.
const sentAlong = "?arguments"

// echoes reports whether all that is a stranger's in a value is known from calls that the agent made itself: then it is
// nobody's, as it was at first.
func echoes(got provenance.Trace) bool {
	if got.From&provenance.Untrusted == 0 || len(got.Matches) == 0 || len(got.Matches) >= provenance.MaxMatches {
		return false
	}
	for _, m := range got.Matches {
		if m.Source.Kinds&provenance.Untrusted != 0 && !strings.HasSuffix(m.Source.URI, sentAlong) {
			return false
		}
	}
	return true
}

// parts joins the kinds of the values by the parts that they play. What the operator does not name is content: an agent chose
// to send it along. Where the operator states nothing, all of them play both.
func (t *tracer) parts(found *finding, roles policy.Roles) {
	var from, smallFrom, destination, content provenance.Kinds
	call := &t.facts.Call
	destinations, contents := roles.Destinations, slices.Clip(roles.Contents)
	if !roles.Known {
		destinations = slices.Concat(destinations, contents)
		contents = destinations
	}
	isDestination := setOf(roles.Destinations)
	isContent := setOf(contents)
	for i := range found.values {
		v := &found.values[i]
		call.MadeLinks = call.MadeLinks || t.makesLink(v)
		call.Identifies = call.Identifies || identifies(v)
		if v.Destination = isDestination[v.Argument]; v.Destination {
			place := t.place(v.Argument)
			v.From, v.Whole = place.From, place.Whole
		}
		if !v.Destination && !isContent[v.Argument] {
			contents = append(contents, v.Argument)
		}
		if small(v.Text) {
			smallFrom |= v.From
		} else {
			from |= v.From
		}
	}
	for _, a := range destinations {
		v := t.place(a)
		if destination |= v.From; !v.Whole || v.From == 0 {
			destination |= provenance.Novel
		}
	}
	for _, a := range contents {
		v := t.value(a)
		if !small(v.Text) {
			content |= v.From
		}
		links := t.leads(&v)
		call.Links = call.Links || links
		call.Orders = call.Orders || links && t.orders(v.Text)
	}
	if roles.Cut {
		from, destination, content = from|provenance.Novel, destination|provenance.Novel, content|provenance.Novel
		call.Links, call.MadeLinks, call.Orders, call.Identifies = true, true, true, true
	}
	call.From, call.SmallFrom = kindSet(from), kindSet(smallFrom)
	call.DestinationFrom, call.ContentFrom = kindSet(destination), kindSet(content)
}

// longestContent is how many bytes of a value are searched for links: any longer one may hold some.
const longestContent = 64 << 10

// leads reports whether the value holds a link, an address or an account that neither the user nor a trusted source wrote, and
// that is not in the operator's own domains.
func (t *tracer) leads(v *Value) bool {
	if v.From.Only(provenance.Trusted) {
		return false
	}
	if len(v.Text) > longestContent {
		return true
	}
	for _, p := range address.Find(v.Text) {
		if p.Name != "" && t.memory.named[p.Name] || p.Host != "" && address.Within(p.Host, t.domains) {
			continue
		}
		got := t.memory.index.Trace(p.Text)
		if !got.Whole || !got.From.Only(provenance.User|provenance.Trusted|provenance.Private) || got.From&provenance.User != 0 && !speech.Names(t.memory.wishes, p.Text) {
			return true
		}
	}
	return false
}

// makesLink reports whether the value holds the address of a site, not in the operator's own domains, that stands nowhere in what the session
// has read or the user wrote: the agent made it up, and whoever fetches it tells the site what the agent put there.
func (t *tracer) makesLink(v *Value) bool {
	if len(v.Text) > longestContent {
		return true
	}
	for _, p := range address.Find(v.Text) {
		if p.Kind != address.Web || address.Within(p.Host, t.domains) {
			continue
		}
		if got := t.memory.index.Trace(p.Text); !got.Whole || min(got.Bits, got.Known) > mostLink {
			return true
		}
	}
	return false
}

// mostLink is how many bits a link may take that is a copy: which one it is of those in the texts of a session.
const mostLink = 64

func setOf[T comparable](all []T) map[T]bool {
	set := make(map[T]bool, len(all))
	for _, a := range all {
		set[a] = true
	}
	return set
}

func kindSet(k provenance.Kinds) label.Set[string] { return label.SetOf(k.Names()...) }

// unsureHost stands among the hosts for a destination that programs could take to different places.
const unsureHost = "?"

// destinations says where the call goes, and whether those places are known.
func (g *Guard) destinations(m *memory, call *policy.CallFacts, roles policy.Roles) {
	var values, hosts []string
	known, own := true, true
	for _, d := range roles.Destinations {
		values = append(values, clip(d.Text))
		known = known && m.destinations[clip(d.Text)]
		r := address.Read(d.Text)
		own = own && r.Sure
		if !r.Sure && len(r.Places) > 0 {
			hosts = append(hosts, unsureHost)
		}
		for _, host := range r.Hosts() {
			hosts = append(hosts, host)
			own = own && address.Within(host, g.opts.Domains)
		}
	}
	call.Destinations, call.Hosts = label.SetOf(values...), label.SetOf(hosts...)
	call.Own = roles.Known && own && len(values) > 0 && !roles.Cut
	call.First = len(values) > 0 && !known
}

// clip cuts a text that is longer than rules may read, in a way that keeps different texts different.
func clip(text string) string {
	const most = 1 << 10
	if len(text) <= most {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	return strings.ToValidUTF8(text[:most], "") + "… " + hex.EncodeToString(sum[:])
}

// left notes what an allowed call takes with it. In a session that strangers have written to, what the agent makes up or
// hands on is theirs from then on, so that it does not come back as a trusted server's own. It reports whether the call is the first that the memory
// of the session knows of.
func (g *Guard) left(c *Call, f *policy.Facts, found *finding) (first bool) {
	m := g.memory(c)
	g.memories.change(m, func() {
		m.went(f, g.opts.Now())
		if !c.asked {
			first = m.told.went == 0
			m.told.went++
		}
		if !f.Session.Label.Untrusted {
			return
		}
		if found.cut { // what was not looked at cannot be told again
			m.index.Doubt()
		}
		source := provenance.Source{URI: c.URI() + sentAlong, Kinds: provenance.Untrusted}
		for _, v := range found.values {
			known := v.Whole && v.From&(provenance.Novel|provenance.User|provenance.Trusted) == 0
			if v.From&(provenance.Untrusted|provenance.Novel) != 0 && !known && !isScalar(v.Text) {
				m.index.Add(source, v.Text)
			}
		}
	})
	if f.Session.Label.Untrusted {
		g.memories.above(c.Session, func(m *memory) { m.index.Doubt() })
	}
	return first
}

// isScalar reports whether a text is a number or a truth value, which stand in every text.
func isScalar(text string) bool {
	return rawjson.Kind([]byte(text)) == '0' && small(text) || text == "true" || text == "false"
}

// expect notes that strangers' data is about to raise the session: a call that sees the label then knows from where.
func (g *Guard) expect(c *Call, l label.Label) {
	if l.Untrusted {
		m := g.memory(c)
		m.mu.Lock()
		m.strangers = true
		m.mu.Unlock()
	}
}

// entered takes in an answer that the agent gets to see.
func (g *Guard) entered(c *Call, a Answer, l label.Label) {
	source := provenance.Source{URI: c.URI(), Kinds: provenance.Trusted}
	if l.Untrusted || l.Malicious {
		source.Kinds = provenance.Untrusted
	}
	if l.Private {
		source.Kinds |= provenance.Private
	}
	m := g.memory(c)
	var directory []overlay.Named
	if a.Error == nil && !c.asked {
		directory = c.Overlay.Directory(a.Result)
	}
	g.memories.change(m, func() {
		m.learn(c.Server, directory)
		m.index.AddJSON(source, a.Raw())
	})
}
