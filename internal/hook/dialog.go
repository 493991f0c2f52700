package hook

import (
	"strings"
	"unicode/utf8"

	"github.com/weir-mcp/weir/approval"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/plain"
)

// Bounds of a call that the dialog of a host shows as a whole. Of a file that is written it shows the change, which may
// be long.
const (
	dialogCharacters = 1500
	dialogLines      = 24 // of all arguments and their names
	dialogBlanks     = 40 // one after another; more could push the rest out of sight
)

// shownByHost reports whether the user sees in the dialog of the host everything that a call would do. A host draws
// the arguments in its own way, with characters that hide, reorder or overwrite others.
func shownByHost(e *Event, q *guard.Question) bool {
	if !e.Host.asks || approval.NewPrompt(q).Unseen != "" {
		return false
	}
	text := strings.ReplaceAll(texts(e.Input), "\t", "    ")
	flat := strings.ReplaceAll(text, "\n", " ")
	if plain.Text(flat, 0) != flat {
		return false
	}
	_, ofFile := e.Host.paths[e.Tool]
	return ofFile || utf8.RuneCountInString(text) <= dialogCharacters && strings.Count(text, "\n") <= dialogLines &&
		!strings.Contains(text, strings.Repeat(" ", dialogBlanks))
}
