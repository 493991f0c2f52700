package address

import (
	"strings"
	"unicode"

	"github.com/weir-mcp/weir/internal/pattern"
)

// BareMail returns the one text for all spellings of a mail address; "" of a text that is not one such address alone, in ASCII and
// without a display name, which some servers look up or split.
func BareMail(text string) string {
	p, ok := oneMail(text)
	if !ok || !isASCII(text) || !strings.EqualFold(text, p.Name) {
		return ""
	}
	return p.Name
}

// Certain reports whether every program takes the text of a place that [Find] returned for this place and no other. One
// without a host is certain: its name is all of its text.
func (p Place) Certain() bool {
	if p.Host == "" {
		return p.Name != ""
	}
	text := strings.TrimLeftFunc(p.Text, func(r rune) bool { return r == '\uff1a' || r >= 0x80 && unicode.IsLetter(r) }) // no blank before it
	r := Read(text)
	return r.Sure && len(r.Places) == 1 && r.Places[0].Kind == p.Kind && r.Places[0].Host == p.Host
}

// starts are signs after which some programs begin a new link.
const starts = "!$&'()*+,;=:?#~|<>[]{}^`\" "

// Single reports whether a place is certain and nothing in its text names another one, as the parameters of a redirection do.
func (p Place) Single() bool {
	if p.Host == "" || !p.Certain() {
		return false
	}
	if p.Kind != Web {
		return BareMail(strings.TrimPrefix(p.Text, "mailto:")) != ""
	}
	rest := p.Text
	if _, after, ok := strings.Cut(rest, "://"); ok {
		rest = after
	}
	authority, rest := cutAuthority(rest, "/?#")
	for range 3 {
		rest = percentDecoded(rest)
	}
	if strings.ContainsAny(authority+rest, `@\`) || strings.Contains(rest, "//") {
		return false
	}
	at := strings.IndexAny(rest, starts)
	return at < 0 || len(Find(rest[at:])) == 0
}

// vanishing are markup that no reader sees and that goes on, right after a host.
var vanishing = pattern.New("^(?:</\\w+>|[*`])+[^\\s.,;:!?)\\]}\"'<*`]|^(?:</\\w+>|[*`])*<[^/]")

// IsContinued reports whether the host at the end of a place may be longer when the markup of its text is taken away.
func (p Place) IsContinued(text string) bool {
	if p.Host == "" || !strings.HasSuffix(p.Name, p.Host) {
		return false
	}
	for {
		_, after, found := strings.Cut(text, p.Text)
		if !found {
			return false
		}
		if vanishing().MatchString(after) {
			return true
		}
		text = after
	}
}
