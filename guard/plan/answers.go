package plan

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/vault"
)

// maxAnswers bounds the answers that are kept for one placeholder. Beyond it, none fills it.
const maxAnswers = 4096

// Answers are the values that the results of steps give to placeholders. The zero Answers has none. They are not safe
// for concurrent use.
type Answers struct {
	done   map[string]bool            // steps with a result
	typed  map[string]map[string]bool // answers by placeholder
	values map[string][]string        // names of hidden results by step
}

// Add notes the result of a step, and the name of the hidden value in its place, if it is hidden.
func (a *Answers) Add(p *Plan, step string, result json.RawMessage, hidden string) {
	if a.done == nil {
		a.done, a.typed, a.values = map[string]bool{}, map[string]map[string]bool{}, map[string][]string{}
	}
	a.done[step] = true
	if hidden != "" && len(a.values[step]) < MaxRepeat {
		a.values[step] = append(a.values[step], hidden)
	}
	doc := (&vault.Value{Result: result}).Document()
	for i := range p.Steps {
		for _, at := range p.Steps[i].Placeholders() {
			if at.From == step && at.Type != Handle {
				a.note(&at.Placeholder, doc)
			}
		}
	}
}

// note notes the answers that a document has for a placeholder: the one at its path or, without a path, all of its
// type.
func (a *Answers) note(p *Placeholder, doc json.RawMessage) {
	known := a.typed[p.key()]
	if known == nil {
		known = map[string]bool{}
		a.typed[p.key()] = known
	}
	look := p.look()
	if p.Path != "" {
		if answer, err := look.Answer(doc); err == nil && len(known) < maxAnswers {
			known[string(answer)] = true
		}
		return
	}
	for _, text := range scalar.FindAllString(string(doc), maxAnswers+1) {
		if answer, err := look.Accept(json.RawMessage(text)); err == nil && len(known) <= maxAnswers {
			known[string(answer)] = true
		}
	}
}

// scalar finds dates and numbers in a document.
var scalar = regexp.MustCompile(`[0-9]{4}-[0-9]{2}-[0-9]{2}|-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?`)

func (p *Placeholder) key() string {
	return fmt.Sprintf("%q %q %q %q", p.From, p.Path, p.Type, p.Options)
}

// Fills reports whether a JSON value is one that the placeholder may have by now. Of returns the name of the hidden
// result that the value of a handle is a part of, and whether that is the only thing in the argument.
func (a *Answers) Fills(p Placeholder, got json.RawMessage, of func(name string) (whole string, ok bool)) bool {
	if !a.done[p.From] {
		return false
	}
	if p.Type == Handle {
		text, _ := rawjson.String(got)
		m := handle.FindStringSubmatch(text)
		if m == nil {
			return false
		}
		whole, ok := of(m[1])
		return ok && slices.Contains(a.values[p.From], whole)
	}
	look := p.look()
	answer, err := look.Accept(got)
	if err != nil || p.Type == vault.OneOf && string(answer) == string(rawjson.Quote(vault.None)) && !slices.Contains(p.Options, vault.None) {
		return false
	}
	known := a.typed[p.key()]
	if p.Path == "" && p.Closed() {
		return true
	}
	return len(known) <= maxAnswers && known[string(answer)]
}

// handle is an argument that is one handle.
var handle = regexp.MustCompile(`^\[\[(w[0-9]{5})(?:#(?:/[^\[\]]*)?)?\]\]$`)
