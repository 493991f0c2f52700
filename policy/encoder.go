package policy

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/expression"
	"github.com/weir-mcp/weir/label"
)

// An encoder writes a JSON object.
type encoder struct {
	facts *Facts
	text  []byte

	destinations bool // the elements of call.destinations, too

	unsaid  *contract.Contract // the zero contract, unless tool.declared is it
	follows *contract.Contract // the contract that follows from tool.declared, unless tool.annotations is it
}

func (e *encoder) name(name string) {
	if len(e.text) > 1 {
		e.text = append(e.text, ',')
	}
	e.text = append(append(append(e.text, '"'), name...), `":`...)
}

func (e *encoder) raw(name, value string) {
	e.name(name)
	e.text = append(e.text, value...)
}

func (e *encoder) flag(name string, set bool) {
	if set {
		e.raw(name, "true")
	}
}

func (e *encoder) number(name string, n int) {
	if n != 0 {
		e.count(name, n)
	}
}

func (e *encoder) count(name string, n int) {
	e.name(name)
	e.text = strconv.AppendInt(e.text, int64(n), 10)
}

func (e *encoder) quote(text string) {
	if !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' || strings.ContainsRune(`"\<>&`, r) }) {
		e.text = append(append(append(e.text, '"'), text...), '"')
		return
	}
	quoted, err := json.Marshal(text)
	if err != nil {
		quoted = []byte(`""`) // no text is refused
	}
	e.text = append(e.text, quoted...)
}

func (e *encoder) word(name, text, without string) {
	if text != without {
		e.name(name)
		e.quote(text)
	}
}

// measure returns how many elements a set has; of one that rules cannot read, because an element is too long, too many
// to be read.
func measure(set label.Set[string]) int {
	for item := range set.All() {
		if len(item) > expression.MaxText {
			return maxHidden
		}
	}
	return min(set.Len(), maxHidden)
}

// encodeSet writes a member that is a list of texts.
func encodeSet[T ~string](e *encoder, name string, set label.Set[T]) {
	e.name(name)
	e.text = append(e.text, '[')
	comma := false
	for text := range set.All() {
		if comma {
			e.text = append(e.text, ',')
		}
		comma = true
		e.quote(string(text))
	}
	e.text = append(e.text, ']')
}
