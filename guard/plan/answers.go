package plan

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-mcp/weir/internal/pattern"
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
	values map[string][]string        // IDs of hidden results by step
}

// Add notes the result of a step, and the ID of the hidden value in its place, if it is hidden.
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

// Carry takes over the answers that the plan before has for the placeholders of a plan, from steps that are kept.
func (a *Answers) Carry(p *Plan, before *Answers, kept func(step string) bool) {
	for step, done := range before.done {
		if !done || !kept(step) {
			continue
		}
		if a.done == nil {
			a.done, a.typed, a.values = map[string]bool{}, map[string]map[string]bool{}, map[string][]string{}
		}
		a.done[step], a.values[step] = true, slices.Clone(before.values[step])
		for i := range p.Steps {
			for _, at := range p.Steps[i].Placeholders() {
				if known, ok := before.typed[at.key()]; ok && at.From == step {
					a.typed[at.key()] = maps.Clone(known)
				}
			}
		}
	}
}

// note notes the answers that a document has for a placeholder: the one at its path or, without a path, all of its
// type that stand alone: numbers, and words of texts.
func (a *Answers) note(p *Placeholder, doc json.RawMessage) {
	known := a.typed[p.key()]
	if known == nil {
		known = map[string]bool{}
		a.typed[p.key()] = known
	}
	if p.Path == "" {
		p.search(doc, known)
	} else if part, err := vault.Select(doc, p.Path); err == nil {
		p.tell(part, known)
	}
}

// search notes the answers in a document.
func (p *Placeholder) search(doc json.RawMessage, known map[string]bool) {
	switch rawjson.Kind(doc) {
	case '{':
		for _, value := range rawjson.Members(doc) {
			p.search(value, known)
		}
	case '[':
		for value := range rawjson.Elements(doc) {
			p.search(value, known)
		}
	case '"':
		text, _ := rawjson.String(doc)
		for word := range strings.FieldsSeq(text) {
			p.tell(rawjson.Quote(strings.TrimRight(strings.TrimLeft(word, `"'([{<`), `"')]}>.,;:!?`)), known)
		}
	default:
		p.tell(doc, known)
	}
}

// tell notes a value of a result as the answers that it is of the type.
func (p *Placeholder) tell(value json.RawMessage, known map[string]bool) {
	look := p.look()
	answer, err := look.Accept(value)
	if err != nil || len(known) > maxAnswers {
		return
	}
	text, isText := rawjson.String(value)
	switch {
	case p.Type == vault.Number || p.Type == vault.Integer:
		if isText {
			known[string(rawjson.Quote(text))] = true // as it is written
			value = json.RawMessage(text)
		}
		if exact, ok := decimal(value); ok {
			known[exact] = true
		}
	case p.Type == vault.OneOf && (!isText || !slices.Contains(p.Options, text)):
		return
	default:
		known[string(answer)] = true
	}
}

// number is a number as JSON writes it.
var number = pattern.New(`^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]{1,6}))?$`)

// decimal returns the one form that all ways to write a number exactly have.
func decimal(raw json.RawMessage) (string, bool) {
	m := number().FindStringSubmatch(strings.TrimSpace(string(raw)))
	if m == nil {
		return "", false
	}
	shift, _ := strconv.Atoi(m[4])
	digits := strings.TrimLeft(m[2]+m[3], "0")
	significant := strings.TrimRight(digits, "0")
	if significant == "" {
		return m[1] + "0", true
	}
	return fmt.Sprintf("%s%se%d", m[1], significant, shift-len(m[3])+len(digits)-len(significant)), true
}

func (p *Placeholder) key() string {
	return fmt.Sprintf("%q %q %q %q", p.From, p.Path, p.Type, p.Options)
}

// Fills reports whether an argument is one that the placeholder may have by now. Of returns the ID of the hidden
// result that a hidden value is, or is a part of.
func (a *Answers) Fills(p Placeholder, arg Argument, of func(id string) (whole string, ok bool)) bool {
	if !a.done[p.From] || arg.Mixed || (p.Type == Handle) != (arg.Value != "") {
		return false
	}
	if p.Type == Handle {
		whole, ok := of(arg.Value)
		return ok && slices.Contains(a.values[p.From], whole)
	}
	got := arg.JSON
	known := a.typed[p.key()]
	form, ok := p.form(got)
	if p.Path == "" && p.Closed() {
		return ok
	}
	return ok && len(known) <= maxAnswers && known[form]
}

// form returns the form in which an argument is noted as an answer; false if it is none of the type, or is written as
// no answer is.
func (p *Placeholder) form(got json.RawMessage) (string, bool) {
	text, isText := rawjson.String(got)
	quoted := string(rawjson.Quote(text))
	switch p.Type {
	case vault.Number, vault.Integer:
		if isText {
			return quoted, true
		}
		return decimal(got)
	case vault.Boolean:
		is, ok := rawjson.Bool(got)
		return strconv.FormatBool(is), ok
	case vault.Date:
		look := p.look()
		day, err := look.Accept(got)
		return quoted, isText && err == nil && string(day) == quoted
	case vault.OneOf:
		return quoted, isText && slices.Contains(p.Options, text)
	}
	return "", false
}
