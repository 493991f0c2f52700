package trace

import (
	"slices"
	"strings"

	"github.com/weir-mcp/weir/internal/speech"
	"github.com/weir-mcp/weir/policy"
)

// The words in the names of arguments that together name a thing as people write it, such as acme/widgets, and of those
// that say of which kind a thing is.
var (
	ownerWords = []string{"owner", "org", "organization", "organisation", "namespace", "workspace", "group"}
	ownedWords = []string{"repo", "repository", "project"}
	kindWords  = []string{"kind", "type"}
)

// mostParts is how many destinations a call may have that are looked at as parts of one name.
const mostParts = 16

// nameParts returns the destinations of a call that the wishes name in parts: the owner and the repository of
// acme/widgets, with the number of acme/widgets#7; the number of issue 7; and the kind of the pod web-1, if the call
// names web-1 too.
// The operator has to state that they are destinations.
func nameParts(wishes []string, destinations []policy.Argument) map[policy.Argument]bool {
	parts := map[policy.Argument]bool{}
	if len(destinations) > mostParts {
		return parts
	}
	for _, a := range destinations {
		if speech.NamesNumber(wishes, a.Path, a.Text) {
			parts[a] = true
		}
		for _, b := range destinations {
			switch {
			case hasWord(a, ownerWords) && hasWord(b, ownedWords):
				join(parts, wishes, a, b, destinations)
			case hasWord(a, kindWords) && speech.NamesKind(wishes, a.Text, b.Text):
				parts[a] = true
			}
		}
	}
	return parts
}

// join adds the owner and the owned thing if the wishes name them together, and a number behind these.
func join(parts map[policy.Argument]bool, wishes []string, owner, owned policy.Argument, destinations []policy.Argument) {
	if owner.Text == "" || owned.Text == "" {
		return
	}
	name := owner.Text + "/" + owned.Text
	if speech.Names(wishes, name) {
		parts[owner], parts[owned] = true, true
	}
	for _, number := range destinations {
		if isCount(number.Text) && speech.Names(wishes, name+"#"+number.Text) {
			parts[owner], parts[owned], parts[number] = true, true, true
		}
	}
}

// hasWord reports whether the name of an argument of the call, and of no part of one, has one of the words.
func hasWord(a policy.Argument, words []string) bool {
	return !strings.ContainsAny(a.Path, ".[ ") && slices.ContainsFunc(speech.NameWords(a.Path), func(w string) bool {
		return slices.Contains(words, w)
	})
}
