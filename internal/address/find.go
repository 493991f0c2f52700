package address

import (
	"slices"
	"strings"
	"unicode"
)

// breaks are the signs that no address goes over, beside white space.
const breaks = "\"'`<>()[]{},;|*\u201c\u201d\u201e\u201f\u00ab\u00bb\u2039\u203a\u2018\u2019\u201a\u201b\u3001\u300c\u300d\u300e\u300f\u3010\u3011\uff08\uff09\uff0c\uff1b\uff3b\uff3d\uff5b\uff5d\u3008\u3009\u300a\u300b"

func isBreak(r rune) bool { return r <= ' ' || unicode.IsSpace(r) || strings.ContainsRune(breaks, r) }

// text reads a whole text.
func (s *scanner) text(text string) {
	for _, token := range strings.FieldsFunc(text, isBreak) {
		s.token(token)
	}
	folded := fold(text)
	s.spelled(folded)
	s.accounts(folded)
	s.headers(folded)
}

// token reads the text between breaks.
func (s *scanner) token(raw string) {
	raw = strings.TrimRight(raw, ".:!?\u2026\u3002\uff01\uff1f")
	t := fold(raw)
	scheme, _ := schemeOf(t)
	switch at := strings.Index(t, "://"); {
	case at >= 0:
		s.link(raw, t[schemeStart(t, at):])
	case schemes[scheme] || scheme == "file" || scheme == "javascript" || scheme == "data":
		s.link(raw, t)
	case scheme == "mailto" || strings.Contains(t, "@"):
		s.mail(raw, t)
	case scheme == "tel" || scheme == "sms":
		s.add(Place{Account, raw, "", digitsAndLetters(t[4:])})
	default:
		s.schemeless(raw, t)
	}
}

// schemeStart returns where the scheme begins of which the colon stands at i.
func schemeStart(t string, i int) int {
	for i > 0 && (t[i-1]|0x20 >= 'a' && t[i-1]|0x20 <= 'z' || t[i-1] >= '0' && t[i-1] <= '9' || strings.IndexByte("+-.", t[i-1]) >= 0) {
		i--
	}
	return i
}

// link adds a text with a scheme.
func (s *scanner) link(raw, t string) {
	if p, ok := sureURL(t); ok {
		p.Text = raw
		s.add(p)
		return
	}
	hosts := urlHosts(t)
	if strings.Contains(t, "@") {
		hosts = append(hosts, mailHosts(t)...)
	}
	if len(hosts) == 0 {
		s.add(Place{Web, raw, "", ""})
	}
	s.hosts(Web, raw, hosts)
}

// mail adds a text with an @: a mail address, the beginning of a URL with a user's name, a place of scp, a mention.
func (s *scanner) mail(raw, t string) {
	if p, ok := oneMail(t); ok {
		p.Text = raw
		s.add(p)
		return
	}
	hosts := mailHosts(t)
	if strings.ContainsAny(t, `/\?#:`) {
		hosts = append(hosts, urlHosts(t)...)
	}
	if len(hosts) == 0 {
		s.add(Place{Mail, raw, "", strings.ToLower(t)})
	}
	s.hosts(Mail, raw, hosts)
}

// schemeless adds hosts that no scheme goes before.
func (s *scanner) schemeless(raw, t string) {
	t = strings.TrimLeft(t, "#!?.:=&~")
	if _, value, ok := strings.Cut(t, "="); ok && (strings.HasPrefix(value, "//") || strings.HasPrefix(value, `\\`)) {
		t = value
	}
	slashed := strings.HasPrefix(t, "//") || strings.HasPrefix(t, `\\`)
	t = strings.TrimLeft(t, `/\`)
	authority, rest := cutAuthority(t, `/\?#`)
	host, _ := hostPort(authority)
	if host = Host(host); host != "" && s.leads(host, authority, slashed, rest != "") {
		s.add(Place{Web, raw, host, host + rest})
	}
	for run := range strings.FieldsFuncSeq(authority, func(r rune) bool { return r != '.' && r != '-' && isNoHostByte(unicode.ToLower(r)) }) {
		for name := strings.Trim(run, ".-"); isDomain(name); name = name[:strings.LastIndexByte(name, '.')] {
			last := name[strings.LastIndexByte(name, '.')+1:]
			if known := isPublicName(Host(name)); known {
				s.add(Place{Web, raw, Host(name), Host(name)})
			}
			if strings.ToLower(last[:1]) == last[:1] && isPublicName(Host(name)) { // else it may begin a sentence
				break
			}
		}
	}
}

// leads reports whether a host without a scheme is a place. In running text a name has to be one that a program would make a link of.
func (s *scanner) leads(host, raw string, slashed, more bool) bool {
	if _, _, number := Number(host); number { // of one that was written in other numbers, this is the usual form
		return slashed || more || strings.Count(raw, ".") == 3 || s.wide && strings.ContainsAny(raw, "xX")
	}
	if isAddr(raw) {
		return true
	}
	switch {
	case slashed:
		return isDomain(host) || s.wide
	case s.wide:
		return isDomain(host)
	}
	return isDomain(host) && (isPublicName(host) || strings.HasPrefix(host, "www."))
}

// doubtful are suffixes of DNS that as often end a file's name or begin a sentence after a dot without a blank.
var doubtful = strings.Fields("zip py md sh rs mov pl ps cc so app ai mm vi ml tf bar in to it is as at be by do am an no me my us so go he if or ac st re id")

// Named returns the places that a text names on purpose: not those that a file's name or a missing blank makes, but a port of the own machine.
func Named(text string) []Place {
	var local []Place
	for _, token := range strings.FieldsFunc(text, isBreak) {
		token = strings.TrimRight(token, ".:!?")
		authority, rest := cutAuthority(token, "/?#")
		host, ok := hostPort(authority)
		if ok && host == "localhost" && host != authority {
			local = append(local, Place{Web, token, host, authority + rest})
		}
	}
	return append(local, slices.DeleteFunc(Find(text), func(p Place) bool {
		if p.Kind != Web || strings.Contains(p.Text, "://") || strings.HasPrefix(strings.ToLower(p.Text), "www.") {
			return false
		}
		last := p.Host[strings.LastIndexByte(p.Host, '.')+1:]
		return p.Host == "" || slices.Contains(doubtful, last) && !strings.Contains(p.Text, "/")
	})...)
}
