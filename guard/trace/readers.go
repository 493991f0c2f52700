package trace

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/weir-mcp/weir/internal/address"
	"github.com/weir-mcp/weir/internal/pattern"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
)

// A Readership tells who may read private data. The zero Readership knows no groups, and leaves labels as they are.
type Readership struct {
	members map[string][]string // of each group, in one spelling
	within  map[string][]string // of each group, those whose members are all its own
}

// NewReadership returns the readership of groups, by the operator's names for them. A member is a mail address; @ and a
// mail domain, for all addresses of exactly that domain; or SERVER:DESTINATION, a place as the tools of a server name
// it, such as chat:C012. A member in any other form is nobody.
func NewReadership(groups map[string][]string) Readership {
	r := Readership{members: map[string][]string{}, within: map[string][]string{}}
	for name, members := range groups {
		for _, m := range members {
			if mail := address.BareMail(m); mail != "" {
				m = mail
			} else if domain, ok := strings.CutPrefix(m, "@"); ok {
				m = "@" + strings.ToLower(domain)
			}
			r.members[name] = append(r.members[name], m)
		}
	}
	for name := range r.members {
		for _, other := range slices.Sorted(maps.Keys(r.members)) {
			if !slices.ContainsFunc(r.members[other], func(m string) bool { return !r.has(name, m) }) {
				r.within[name] = append(r.within[name], other)
			}
		}
	}
	return r
}

// has reports whether everybody whom a member stands for is in the group.
func (r Readership) has(group, member string) bool {
	return slices.ContainsFunc(r.members[group], func(m string) bool {
		domain, ok := strings.CutPrefix(m, "@")
		return m == member || ok && address.BareMail(member) != "" && strings.HasSuffix(member, "@"+domain)
	})
}

// Limit returns a label that is about to raise a session, with the readers of its data: of private data the groups that
// the operator states of its source, and nobody else. Readers that the label has already, by the word of a server or of
// an earlier session, can only be fewer. Private data in the session whose readers were never noted has none.
func (r Readership) Limit(session, l label.Label, stated []string) label.Label {
	if len(r.members) == 0 {
		return l
	}
	l = l.Normal()
	_, noted := session.Readers.Limited()
	if forgotten := session.Private && !noted; !l.Private && !forgotten {
		return l
	} else if forgotten {
		stated = nil
	}
	var groups []string
	for _, name := range stated {
		groups = append(groups, r.within[name]...)
	}
	l.Readers = l.Readers.Join(label.OnlyReaders(groups...))
	return l.Normal()
}

// mayRead reports whether an argument is a recipient, or a place, that may read all private data of the session.
func (t *callTracer) mayRead(a policy.Argument) bool {
	groups, noted := t.facts.Session.Label.Readers.Limited()
	if !noted || !t.stated || !t.vouched {
		return false
	}
	member := t.facts.Server.Name + ":" + a.Text
	if recipient().MatchString(a.Path) {
		member = address.BareMail(a.Text)
	}
	for group := range groups.All() {
		if member != "" && t.readership.has(group, member) {
			return true
		}
	}
	return false
}

// body matches paths to texts that a server puts below the headers of a message. Any other value may stand in one.
var body = pattern.New(`(?i)(?:^|\.)(?:body|text|message|content|comment|` +
	`(?:text|message|mail)[_-]?(?:body|content)|body[_-]?(?:text|content))(?:\[\d+\])*$`)

// isText reports whether a value is text and nothing that may end a header and begin another one: a body has no separators
// but line feeds, carriage returns and tabs, and all other values have none, nor encoded words (RFC 2047).
func isText(a policy.Argument) bool {
	inBody := body().MatchString(a.Path)
	return (inBody || !strings.Contains(a.Text, "=?")) && strings.IndexFunc(a.Text, func(r rune) bool {
		return !(inBody && strings.ContainsRune("\r\n\t", r)) && unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp)
	}) < 0
}

// toReaders reports whether the call tells only people who may read all private data of the session: a known or trusted
// server sends them text that stands in the arguments, and nothing that it reads elsewhere.
func (t *callTracer) toReaders(found *Finding, roles policy.Roles) bool {
	resources := &t.facts.Resources
	return t.facts.Session.Label.Private && resources.Known && len(resources.Reads) == 0 &&
		t.tellsOnly(found, roles, func(a policy.Argument) bool { return t.toMe(a) || t.mayRead(a) })
}
