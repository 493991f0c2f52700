package trace

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/weir-mcp/weir/internal/address"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/speech"
	"github.com/weir-mcp/weir/policy"
)

// maxScalars is how many values of a call are traced. A call with more counts as holding something novel.
const maxScalars = 1024

// scalars returns the values in the arguments, and whether there were more. A member name that could carry something,
// or that no schema has, is one too.
func scalars(arguments json.RawMessage, undeclared []string) (all []policy.Argument, cut bool) {
	names := map[string]bool{}
	var take func(path string, value []byte)
	take = func(path string, value []byte) {
		if len(all) >= maxScalars {
			cut = true
			return
		}
		switch rawjson.Kind(value) {
		case '{':
			for name, inner := range rawjson.Members(value) {
				inside := strings.TrimPrefix(path+"."+name, ".")
				if !names[name] && (len(names) >= maxNames || !isName(name) || slices.Contains(undeclared, name)) {
					all = append(all, policy.Argument{Path: inside + nameOf, Text: name})
				}
				names[name] = true
				take(inside, inner)
			}
		case '[':
			i := 0
			for inner := range rawjson.Elements(value) {
				take(path+"["+strconv.Itoa(i)+"]", inner)
				i++
			}
		case 'n', 0:
		case '"':
			text, _ := rawjson.String(value)
			all = append(all, policy.Argument{Path: path, Text: text})
		default:
			all = append(all, policy.Argument{Path: path, Text: strings.TrimSpace(string(value))})
		}
	}
	if len(arguments) > 0 {
		take("", arguments)
	}
	return all, cut
}

// Bounds of what counts as a mere name of an argument or a member.
const (
	maxNames = 64 // different ones in a call
	longName = 40 // bytes
)

// nameOf marks the path of a value that is the name of the member at that path.
const nameOf = " (name)"

// isName reports whether a member name is what a schema would call something, and no text put there to be carried.
func isName(name string) bool {
	return len(name) <= longName && strings.IndexFunc(name, func(r rune) bool {
		return !(unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_-.$", r))
	}) < 0
}

// draft guesses which arguments are destinations, by their names and by what they look like. It serves people, who are
// shown them, and facts that raise: no fact that may lower is made from it.
func draft(texts *address.Memory, all []policy.Argument) policy.Roles {
	var r policy.Roles
	for _, a := range all {
		if isPlace(texts, a) {
			r.Destinations = append(r.Destinations, a)
		} else {
			r.Contents = append(r.Contents, a)
		}
	}
	return r
}

// isPlace reports whether an argument is a destination by its name or by what it looks like.
func isPlace(texts *address.Memory, a policy.Argument) bool {
	_, named := speech.PlaceWord(a.Path)
	return named || leadsSomewhere(texts, a.Text)
}

// leadsSomewhere reports whether a value as a whole may be an address.
func leadsSomewhere(texts *address.Memory, text string) bool {
	r := texts.Read(text)
	return r.Sure || len(r.Places) > 0 && !strings.ContainsAny(strings.TrimSpace(text), " \n")
}
