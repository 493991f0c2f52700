package speech

import "slices"

// placeWords are words in the names of arguments that say where something goes.
var placeWords = []string{
	"account", "address", "addresses", "attendees", "bcc", "branch", "bucket", "cc", "channel", "chat", "dest", "destination",
	"dir", "directory", "domain", "email", "emails", "endpoint", "file", "filename", "folder", "host", "hostname", "iban",
	"invitees", "link", "owner", "participants", "path", "payee", "phone", "receiver", "recipient", "recipients", "remote",
	"repo", "repository", "room", "server", "site", "target", "to", "uri", "url", "urls", "webhook", "website",
}

// PlaceWord returns the first word in the name or the path of an argument that says where something goes.
func PlaceWord(path string) (word string, ok bool) {
	for _, w := range NameWords(path) {
		if slices.Contains(placeWords, w) {
			return w, true
		}
	}
	return "", false
}
