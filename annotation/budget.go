package annotation

import (
	"strings"

	"github.com/weir-mcp/weir/label"
)

// What Weir adds to the attribution of one request: it goes out with every call, and SEP-1913 asks for as little detail
// as is appropriate (Privacy Considerations). The number is that up to which a reader reads.
const (
	requestBudget = 4096        // bytes of JSON
	requestURIs   = maxElements // URIs
	maxOrigin     = 256         // bytes of one origin
)

// more stands in an attribution for the URIs that the limits left out; a session's has it too.
const more = "urn:weir:more"

// brief returns the URIs if they are within the budget of a request. If not, it returns their origins: scheme and
// authority, or of an opaque URI the scheme and the first part. The origins beyond the budget become the one URI
// "urn:weir:more".
func brief(uris label.Set[string]) label.Set[string] {
	if size(uris) <= requestBudget && uris.Len() <= requestURIs {
		return uris
	}
	var all []string
	for uri := range uris.All() {
		all = append(all, origin(uri))
	}
	origins := label.SetOf(all...)
	if size(origins) <= requestBudget && origins.Len() <= requestURIs {
		return origins
	}
	kept, left := []string{more}, requestBudget-cost(more)
	for o := range origins.All() {
		if left -= cost(o); left < 0 || len(kept) == requestURIs {
			break
		}
		kept = append(kept, o)
	}
	return label.SetOf(kept...)
}

func size(uris label.Set[string]) (n int) {
	for uri := range uris.All() {
		n += cost(uri)
	}
	return n
}

// cost returns the length of a URI in an array: JSON writes some bytes as six.
func cost(uri string) int {
	n := len(uri) + len(`"",`)
	for i := range len(uri) {
		if c := uri[i]; c < ' ' || c == '"' || c == '\\' || c == 0x7f {
			n += len(`\u0000`) - 1
		}
	}
	return n
}

// origin returns the place of a URI, without the rest of its path.
func origin(uri string) string {
	scheme, rest, ok := strings.Cut(uri, ":")
	if !ok || len(scheme) > maxOrigin {
		return more
	}
	out := scheme + ":"
	if authority, hierarchical := strings.CutPrefix(rest, "//"); hierarchical {
		if end := strings.IndexAny(authority, "/?#"); end >= 0 {
			authority = authority[:end]
		}
		if at := strings.LastIndexByte(authority, '@'); at >= 0 { // credentials are no part of an origin
			authority = authority[at+1:]
		}
		out += "//" + authority + "/"
	} else if first, _, more := strings.Cut(rest, ":"); more {
		out += first
	}
	if len(out) > maxOrigin {
		return scheme + ":"
	}
	return out
}
