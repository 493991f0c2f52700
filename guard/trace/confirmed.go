package trace

import (
	"slices"
	"strings"

	"github.com/weir-mcp/weir/internal/pattern"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/provenance"
)

// Confirmed are the parts that the arguments of a tool play, by their paths as in overlays, a.b and list[*].b, as a
// person has confirmed a draft of them for just this definition. A draft may be wrong in ways that nobody notices, so
// it counts for nothing but calls to destinations that the user's wishes name: any other call is traced as one of which
// nobody states anything.
type Confirmed struct {
	Destinations []string
	Contents     []string
}

// confirm states the parts of the arguments as a person has confirmed them, and reports whether it did: only if there
// is a destination, the wishes name each one, and every other value is content and looks like nothing else.
func confirm(t *callTracer, c *Call, all []policy.Argument) bool {
	if !c.Vouched || c.Host || c.Inquiry || len(c.UndeclaredNames) > 0 || c.UndeclaredParams != nil {
		return false
	}
	roles := policy.Roles{Known: true}
	for _, a := range all {
		path := index().ReplaceAllString(a.Path, "[*]")
		switch {
		case within(path, c.Confirmed.Destinations):
			if v := t.place(a); !v.Whole || !v.From.Only(provenance.User) {
				return false
			}
			roles.Destinations = append(roles.Destinations, a)
		case isAt(path, c.Confirmed.Contents) && !isPlace(&t.texts, a):
			roles.Contents = append(roles.Contents, a)
		default:
			return false
		}
	}
	if len(roles.Destinations) == 0 {
		return false
	}
	t.facts.Roles = roles
	return true
}

// index matches the places in lists in a path.
var index = pattern.New(`\[\d+\]`)

// within reports whether a path is one of some, or leads further inside of one.
func within(path string, all []string) bool {
	return slices.ContainsFunc(all, func(p string) bool {
		rest, ok := strings.CutPrefix(path, p)
		return ok && p != "" && (rest == "" || rest[0] == '.' || rest[0] == '[')
	})
}

// isAt reports whether a path is one of some, or that of a scalar in a list there. Members are at paths of their
// own.
func isAt(path string, all []string) bool {
	for strings.HasSuffix(path, "[*]") && !slices.Contains(all, path) {
		path = strings.TrimSuffix(path, "[*]")
	}
	return slices.Contains(all, path)
}
