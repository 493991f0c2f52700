package annotation

import (
	"slices"
	"strings"

	"github.com/weir-mcp/weir/internal/rawjson"
)

// Limits on notes.
const (
	maxNotes = 32
	maxNote  = 512 // bytes of one value
)

// A Note is something that a tool or a result carries for people to see, and that decides nothing.
type Note struct {
	Where string `json:"where"` // path from the document, as "requires" or "_meta[\"com.example/label\"]"
	Value string `json:"value"` // its JSON without white space, cut short
}

// Notes returns the members of a tool or a result that no dialect reads: of a tool its requires (SEP-1385) and its
// securitySchemes (SEP-1488, also seen in its _meta); of its annotations and of the _meta of either, the members in
// reverse-DNS form, such as com.example/label. They come in the order of the document, the first 32 of them.
func Notes(document []byte) []Note {
	var notes []Note
	add := func(where, name string, value []byte) {
		if text := rawjson.Canonical(value); text != nil && len(notes) < maxNotes {
			notes = append(notes, Note{at(where, name), strings.ToValidUTF8(string(text[:min(len(text), maxNote)]), "")})
		}
	}
	rawjson.Select(document, []string{"requires", securitySchemes, annotations, meta}, func(name string, value []byte) bool {
		if name != annotations && name != meta {
			add("", name, value)
			return true
		}
		for inner, raw := range rawjson.Members(value) {
			if name == meta && inner == securitySchemes || IsLabelName(inner) {
				add(name, inner, raw)
			}
		}
		return true
	})
	return notes
}

const securitySchemes = "securitySchemes"

// IsLabelName reports whether a member may be a label of an organisation: a name in reverse-DNS form that neither MCP
// nor Weir nor a dialect has taken.
func IsLabelName(name string) bool {
	return isReverseDNS(name) && !slices.Contains(vocabulary, name) &&
		!strings.HasPrefix(name, "io.modelcontextprotocol/") && !strings.HasPrefix(name, "dev.weir/")
}
