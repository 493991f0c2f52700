package policy

import (
	"errors"
	"fmt"

	"github.com/weir-mcp/weir/internal/expression"
)

// Values are facts by their names: a bool, a string, an int, a []string, and for call.arguments the JSON text of an
// object. Of a set that holds values of the arguments (call.destinations, call.reads, call.writes,
// call.destination.values, call.destination.hosts), an int may say how many elements it has, where they are kept from
// the reader. Nil is a hint or a set that is not known.
type Values map[string]any

// ParsedFacts are facts that were put together from values.
type ParsedFacts struct {
	Facts

	// Hidden are the facts of which only the size is known, so that [Policy.Explain] leaves decisions open that depend
	// on their values.
	Hidden []string
}

func ofType[T any](v any, kind string) error {
	if _, ok := v.(T); !ok {
		return errors.New("not " + kind)
	}
	return nil
}

func convert[T, S ~string](texts []S) []T {
	all := make([]T, len(texts))
	for i, s := range texts {
		all[i] = T(s)
	}
	return all
}

// maxHidden is how many elements of a set may be kept from the reader: more make rules fail that read it, whatever they
// are.
const maxHidden = expression.MaxTexts + 1

// elements returns the texts of a value, or as many others as the number says. Then the fact is hidden.
func (g *ParsedFacts) elements(name string, v any) ([]string, error) {
	n, ok := v.(int)
	if !ok {
		texts, _ := v.([]string)
		return texts, ofType[[]string](v, "a list of texts or their number")
	}
	if n < 0 || n > maxHidden {
		return nil, fmt.Errorf("not a number of elements from 0 to %d", maxHidden)
	}
	texts := make([]string, n)
	for i := range texts {
		texts[i] = fmt.Sprintf("%d of %d", i+1, n)
	}
	if n > 0 {
		g.Hidden = append(g.Hidden, name)
	}
	return texts, nil
}
