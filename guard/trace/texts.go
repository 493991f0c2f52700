package trace

import (
	"slices"
	"strings"

	"github.com/weir-mcp/weir/internal/address"
	"github.com/weir-mcp/weir/internal/speech"
	"github.com/weir-mcp/weir/policy"
)

// The words of which names of arguments consist that hold a text, or say how and when it is shown.
var textWords = setOfWords("body text message messages subject title content contents description note notes comment caption " +
	"html htmlbody markdown summary reason headline greeting signature footer plain rich priority importance urgency emoji " +
	"reaction date time datetime timezone zone day start end due language locale format parse mode type")

// The words of which names of arguments consist that hold a recipient.
var recipientWords = setOfWords("to cc bcc recipient recipients email emails mail address addresses phone channel channels chat room " +
	"user users username usernames attendee attendees invitee invitees participant participants")

// The words after which a name is that of a thing, unless it is a recipient's.
var idWords = setOfWords("id ids name")

// The words that no path to a text has.
var thingWords = setOfWords("attach attachment attachments original originals forward include includes quote saved " +
	"file files path paths ref refs draft drafts template templates reply replies")

func setOfWords(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}

// IsNoText reports whether a content is, for all that its name and value say, no text that goes as it stands.
func IsNoText(a policy.Argument) bool {
	words := speech.NameWords(a.Path)
	if slices.ContainsFunc(words, func(w string) bool { return thingWords[w] }) || namesFile(a.Text) {
		return true
	}
	if a.Text == "true" || a.Text == "false" {
		return false
	}
	last := speech.NameWords(a.Path[strings.LastIndexByte(a.Path, '.')+1:])
	return len(last) == 0 || slices.ContainsFunc(last, func(w string) bool { return !textWords[w] })
}

// IsThing reports whether a destination is, for all that its name and value say, neither an address nor a recipient but
// a thing that the call acts on.
func IsThing(a policy.Argument) bool {
	if isAddressee(a.Text) {
		return false
	}
	words, named := speech.NameWords(a.Path), false
	for _, w := range words {
		if !recipientWords[w] && !idWords[w] {
			return true
		}
		named = named || recipientWords[w]
	}
	return !named || namesFile(a.Text)
}

// isAddressee reports whether a text is one or several addresses of mail, or one of the Web.
func isAddressee(text string) bool {
	read := address.Read(text)
	if !read.Sure || len(read.Places) == 0 {
		return false
	}
	web := strings.HasPrefix(text, "https://") || strings.HasPrefix(text, "http://")
	return web || !slices.ContainsFunc(read.Places, func(p address.Place) bool { return p.Kind != address.Mail })
}

// namesFile reports whether a text as a whole looks like the name of a file that a server may put in its place.
func namesFile(text string) bool {
	text = strings.TrimSpace(text)
	if strings.ContainsAny(text, "\n") || len(text) < 2 {
		return false
	}
	switch {
	case text[0] == '@' && !strings.Contains(text, " "), strings.HasPrefix(text, "/"), strings.HasPrefix(text, `\\`), strings.HasPrefix(text, "~"),
		strings.HasPrefix(text, "./"), strings.HasPrefix(text, "../"), strings.HasPrefix(strings.ToLower(text), "file:"):
		return true
	}
	return text[1] == ':' && len(text) > 2 && strings.ContainsRune(`/\`, rune(text[2]))
}
