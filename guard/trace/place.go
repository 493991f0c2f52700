package trace

import (
	"html"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/internal/address"
	"github.com/weir-mcp/weir/internal/pattern"
	"github.com/weir-mcp/weir/internal/speech"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/provenance"
)

// A callTracer traces the values of one call.
type callTracer struct {
	session *sessionTrace
	facts   *policy.Facts
	stated  bool // the operator says which arguments are destinations and contents
	vouched bool // the operator trusts or knows the server
	beyond  bool // the request has members that MCP does not have
	missed  bool // private data entered the session that the index does not know
	known   map[string]Value
	texts   address.Memory // of the values

	domains []string // the operator's own
	me      []string // the user's own mail addresses

	readership Readership
}

// value traces one argument.
func (t *callTracer) value(a policy.Argument) Value {
	if v, ok := t.known[a.Text]; ok {
		v.Argument = a
		return v
	}
	got := t.session.corpus.read().Trace(a.Text)
	if t.missed && got.From&provenance.Novel != 0 {
		got.From |= provenance.Private
	}
	if echoes(got) {
		got.From = got.From&^provenance.Untrusted | provenance.Novel
	}
	if t.session.heard != nil {
		t.session.raise(a.Text, &got)
	}
	v := Value{Argument: a, From: got.From, Whole: got.Whole, Matches: got.Matches, Bits: got.Bits, Known: got.Known}
	t.known[a.Text] = v
	return v
}

// sentAlong ends the URI of arguments that an agent gave to a tool of that URI, which no tool's own URI does.
const sentAlong = "?arguments"

// echoes reports whether all untrusted parts of a value are known from calls that the agent made itself: then they are
// nobody's, as they were at first.
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

// place traces an argument that says where something goes. It is the user's if the user's wishes name it: it stands in
// them as it is, is another spelling of an address that does, or the id of a thing whose name does; or if it is the
// user's own address. A place that the user only forbade, quoted or used as a mere word is nobody's, and so is a number
// that the wishes do not say to be one of such a place.
func (t *callTracer) place(a policy.Argument) Value {
	v := t.value(a)
	switch {
	case v.Whole && t.wished(t.session.wishes, a, v.Text), t.spelt(a), t.called(a), t.toMe(a):
		v.From, v.Whole = provenance.User, true
	case v.From&provenance.User != 0:
		v.From = v.From&^provenance.User | provenance.Novel
	}
	return v
}

// wished reports whether the wishes name a text as a place for the argument.
func (t *callTracer) wished(wishes []string, a policy.Argument, text string) bool {
	return speech.NamesAs(wishes, text, a.Path, t.facts.Tool.Name)
}

// spelt reports whether an argument is nothing but addresses or accounts that the wishes hold, in any of their
// spellings.
func (t *callTracer) spelt(a policy.Argument) bool {
	text := strings.TrimSpace(a.Text)
	r := t.texts.Read(text)
	if !r.Sure {
		accounts := t.texts.Find(text)
		return len(accounts) == 1 && accounts[0].Kind == address.Account && accounts[0].Text == text && t.holds(a, accounts[0].Name)
	}
	texts := make([]string, len(r.Places))
	for i, p := range r.Places {
		plain := p.Kind == address.Web || strings.EqualFold(strings.TrimPrefix(p.Text, "mailto:"), p.Name)
		if texts[i] = p.Text; !plain || !t.session.named[p.Name] && !t.session.named[home(p)] {
			return false
		}
	}
	for _, between := range []string{",", ", ", ";", "; "} {
		if strings.Join(texts, between) == text {
			return true
		}
	}
	return false
}

// holds reports whether the wishes hold an account by its name, and say so if it is a number.
func (t *callTracer) holds(a policy.Argument, account string) bool {
	if !t.session.named[account] || !speech.IsNumber(account) {
		return t.session.named[account]
	}
	return slices.ContainsFunc(t.session.wishes, func(wish string) bool {
		return slices.ContainsFunc(address.Find(wish), func(p address.Place) bool {
			return p.Name == account && t.wished([]string{wish}, a, p.Text)
		})
	})
}

// home returns the site of which a URL is the first page, as people name it; "" if it is any other.
func home(p address.Place) string {
	for _, scheme := range []string{"https://", "http://"} {
		if site, ok := strings.CutPrefix(p.Name, scheme); ok && strings.HasPrefix(p.Text, scheme) {
			if site = strings.TrimSuffix(site, "/"); !strings.ContainsAny(site, "/?#@") {
				return site
			}
		}
	}
	return ""
}

// strange reports whether a request to the value would go to a site that only untrusted content can have named: neither
// it, as a whole, nor its host is in the user's words or a trusted source's, and no earlier request of the session went
// to that host. A value that programs could take to several places is strange. Where the operator does not state that
// it is a destination, it has to look like one.
func (t *callTracer) strange(v *Value) bool {
	if v.Whole && v.From.Only(provenance.User|provenance.Trusted) {
		return false
	}
	r := t.texts.Read(v.Text)
	if !r.Sure {
		return t.stated || len(r.Places) > 0
	}
	for _, host := range r.Hosts() {
		if !t.session.sites[bare(host)] && !address.Within(host, t.domains) {
			return true
		}
	}
	return false
}

// called reports whether an argument is the id of a thing of the call's server that the wishes name as people name
// places to write to: #general.
func (t *callTracer) called(a policy.Argument) bool {
	name := t.session.directory.listed(t.facts.Server.Name, a.Text).Name
	return t.stated && name != "" && t.wished(t.session.wishes, a, "#"+name)
}

// longestContent is how many bytes of a value are searched for links: any longer one may hold some.
const longestContent = 64 << 10

// leads reports whether the value holds a link, an address or an account that neither the user nor a trusted source
// wrote, and that is not in the operator's own domains.
func (t *callTracer) leads(v *Value) bool {
	if v.From.Only(provenance.Trusted) {
		return false
	}
	if len(v.Text) > longestContent {
		return true
	}
	for _, p := range t.texts.Find(v.Text) {
		if p.IsContinued(v.Text) {
			return true
		}
		if t.session.named[p.Name] && p.Certain() || p.Single() && (t.mine(p.Name) || address.Within(p.Host, t.domains)) {
			continue
		}
		got := t.session.corpus.read().Trace(p.Text)
		if t.session.heard != nil {
			t.session.raise(p.Text, &got)
		}
		if !got.Whole || !got.From.Only(provenance.User|provenance.Trusted|provenance.Private) ||
			got.From&provenance.User != 0 && !speech.Names(t.session.wishes, p.Text) {
			return true
		}
	}
	return false
}

// mine reports whether a text is one mail address of the user and nothing else.
func (t *callTracer) mine(text string) bool {
	name := address.BareMail(text)
	return name != "" && slices.Contains(t.me, name)
}

// recipient matches paths to recipients of messages: an address elsewhere may name a calendar, a folder or a file, which others read.
var recipient = pattern.New(`(?i)(?:^|\.)(?:(?:to|cc|bcc)(?:[_-]?(?:recipients?|addresse?s?|emails?))?|recipients?(?:[_-]?emails?)?)` +
	`(?:\[\d+\])*(?:\.(?:email|(?:e?mail_?)?address)(?:\[\d+\])*)*$`)

// toMe reports whether an argument is a recipient, and the user, of a known or trusted server.
func (t *callTracer) toMe(a policy.Argument) bool {
	return t.stated && t.vouched && recipient().MatchString(a.Path) && t.mine(a.Text)
}

// toSelf reports whether the call tells the user alone: a known or trusted server sends text to the user's addresses and no
// others.
func (t *callTracer) toSelf(found *Finding, roles policy.Roles) bool {
	return t.tellsOnly(found, roles, t.toMe)
}

// tellsOnly reports whether a call sends text without markup or headers, to recipients who are all fit. Markup can tell
// others when it is opened, a header can name others, and so can a value or a name of which nobody states the part.
func (t *callTracer) tellsOnly(found *Finding, roles policy.Roles, fit func(policy.Argument) bool) bool {
	if !roles.Plain || roles.Cut || t.beyond || len(roles.Destinations) == 0 {
		return false
	}
	part := setOf(roles.Contents)
	for _, a := range roles.Destinations {
		part[a] = false
	}
	for _, v := range found.Values {
		content, stated := part[v.Argument]
		if !stated || content && (!isText(v.Argument) || marked().MatchString(html.UnescapeString(v.Text))) {
			return false
		}
	}
	return !slices.ContainsFunc(roles.Destinations, func(a policy.Argument) bool { return !fit(a) })
}

// marked finds the signs of HTML, CSS, Markdown and escapes.
var marked = pattern.New(`(?i)[<\\]|!\[|\]\s*[(:\[]|url\s*\(|@import`)

// makesLink reports whether the value holds the address of a site, not in the operator's own domains, that stands
// nowhere in the results of the session or in the user's words: the agent made it up, and fetching it tells the site
// the agent's text.
func (t *callTracer) makesLink(v *Value) bool {
	if len(v.Text) > longestContent {
		return true
	}
	for _, p := range t.texts.Find(v.Text) {
		if p.Kind != address.Web || p.Single() && !p.IsContinued(v.Text) && address.Within(p.Host, t.domains) {
			continue
		}
		if got := t.session.corpus.read().Trace(p.Text); !got.Whole || min(got.Bits, got.Known) > mostLink {
			return true
		}
	}
	return false
}

// mention finds mail addresses, and accounts with their hosts, that are mentioned: @eve@example.com.
var mention = pattern.New(`[@＠]([^\s@＠/]+[@＠][^\s@＠]*\.[^\s@＠.]+)`)

// mentions reports whether the value mentions an address that leads where neither the user nor a trusted source does:
// services send a text to those whom it mentions.
func (t *callTracer) mentions(v *Value) bool {
	for _, m := range mention().FindAllStringSubmatch(v.Text, -1) {
		if to := t.value(policy.Argument{Text: m[1]}); t.leads(&to) {
			return true
		}
	}
	return false
}

// mostLink is how many bits a link may take that is a copy: which one it is of those in the texts of a session.
const mostLink = 64
