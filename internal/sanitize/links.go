package sanitize

import (
	"cmp"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/internal/address"
	"github.com/weir-mcp/weir/internal/pattern"
)

// maxRounds is how often a text is searched for links.
const maxRounds = 16

// scheme finds the beginning of a URI of a scheme that [address.Find] takes for no place, but a program may open.
var scheme = pattern.New(`(?i)[a-z][a-z0-9+.-]*:[^\s<>"'()\[\]]+`)

// stripLinks returns a text without places, as the decision on a call with the text finds them: in the plain form of
// the text, and until there is none.
func stripLinks(text string) (string, error) {
	for range maxRounds {
		plain, ok := address.Plain(text)
		if !ok {
			return "", errUnfound
		}
		cut := scheme().ReplaceAllString(cutPlaces(plain), "[link]")
		if cut == text {
			if len(address.Find(text)) > 0 {
				return "", errUnfound
			}
			return text, nil
		}
		text = cut
	}
	return "", errUnfound
}

// cutPlaces returns a text with a mark for each place in it.
func cutPlaces(text string) string {
	places := address.Find(text)
	slices.SortFunc(places, func(a, b address.Place) int { return cmp.Compare(len(b.Text), len(a.Text)) })
	var marks []string
	for _, p := range places {
		mark := "[link]"
		if p.Kind != address.Web {
			mark = "[address]"
		}
		if p.Text != "" {
			marks = append(marks, p.Text, mark)
		}
	}
	return strings.NewReplacer(marks...).Replace(text)
}
