package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/internal/pattern"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/vault"
)

// A Template is a plan that the operator wrote. An agent chooses it by its name, and the values of its parameters by
// their types: in the arguments of its steps, {"parameter": NAME} stands for a value.
type Template struct {
	Name       string
	Goal       string
	Approved   bool                 // by the operator, for each use: nobody is asked
	Parameters map[string]Parameter // by name
	steps      []Step
}

// A Parameter is the type of a value that an agent gives. No type is any text.
type Parameter struct {
	Type    vault.Type `json:"type"`
	Options []string   `json:"options,omitempty"` // of one_of
	Min     *float64   `json:"min,omitempty"`     // of numbers, with Max
	Max     *float64   `json:"max,omitempty"`
}

func (p Parameter) look() *vault.Look {
	return &vault.Look{As: p.Type, Options: p.Options, Min: p.Min, Max: p.Max}
}

// value returns the value of the type that an agent gives: of one_of exactly one of the options.
func (p Parameter) value(given json.RawMessage) (json.RawMessage, error) {
	if p.Type != vault.OneOf {
		return p.look().Accept(given)
	}
	text, isText := rawjson.String(given)
	if !isText || !slices.Contains(p.Options, text) {
		return nil, vault.ErrNoAnswer // of which a look would say that it is none of them
	}
	return rawjson.Quote(text), nil
}

// String describes the type, as in "number from 1 to 2000".
func (p Parameter) String() string {
	switch {
	case p.Type == vault.OneOf:
		return fmt.Sprintf("one of %+q", p.Options)
	case p.Min != nil:
		return fmt.Sprintf("%s from %v to %v", p.Type, *p.Min, *p.Max)
	}
	return string(p.Type)
}

// parameterTypes are the types of parameters: those of which an operator knows all values. A text says anything.
var parameterTypes = []vault.Type{vault.Number, vault.Integer, vault.Boolean, vault.Date, vault.OneOf}

// A ParameterError is a mistake in a parameter.
type ParameterError struct {
	Name string
	Err  error
}

func (e *ParameterError) Error() string { return fmt.Sprintf("parameter %+.64q: %v", e.Name, e.Err) }

func (e *ParameterError) Unwrap() error { return e.Err }

var namePattern = pattern.New(`^[A-Za-z0-9_-]{1,64}$`)

// ParseTemplate reads a template, strictly: an object of goal, approved, parameters and steps. The error is a StepError
// or a ParameterError where it is in one.
func ParseTemplate(name string, raw json.RawMessage) (*Template, error) {
	var in struct {
		Goal       string               `json:"goal"`
		Approved   bool                 `json:"approved"`
		Parameters map[string]Parameter `json:"parameters"`
		Steps      []Step               `json:"steps"`
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if rawjson.Kind(raw) != '{' || rawjson.Check(raw) != nil || d.Decode(&in) != nil {
		return nil, errors.New("it is no template: write goal, steps and, if there are any, parameters and approved")
	}
	t := &Template{name, in.Goal, in.Approved, in.Parameters, in.Steps}
	if !namePattern().MatchString(name) || in.Goal == "" {
		return nil, errors.New("a template has a name of letters, digits, _ and -, and a goal")
	}
	examples := map[string]json.RawMessage{}
	for _, p := range slices.Sorted(maps.Keys(in.Parameters)) {
		look := in.Parameters[p].look()
		switch {
		case !namePattern().MatchString(p):
			return nil, &ParameterError{p, errors.New("a name has letters, digits, _ and -")}
		case !slices.Contains(parameterTypes, look.As):
			return nil, &ParameterError{p, fmt.Errorf("the type is one of %v: a text could say anything", parameterTypes)}
		case look.Check() != nil:
			return nil, &ParameterError{p, look.Check()}
		}
		for _, option := range look.Options {
			if got, err := look.Accept(rawjson.Quote(option)); err != nil || !bytes.Equal(got, rawjson.Quote(option)) {
				return nil, &ParameterError{p, fmt.Errorf("write option %+.64q without white space around it", option)}
			}
		}
		examples[p] = json.RawMessage("1")
	}
	used := map[string]bool{}
	for i := range in.Steps {
		for p := range parametersIn(in.Steps[i].Arguments) {
			if used[p] = true; examples[p] == nil {
				return nil, &StepError{i, fmt.Errorf("no parameter %+.64q is declared", p)}
			}
		}
	}
	for p := range in.Parameters {
		if !used[p] {
			return nil, &ParameterError{p, errors.New("no step uses it")}
		}
	}
	_, err := t.fill(examples)
	return t, err
}

// String returns the whole template as text: any other has another.
func (t *Template) String() string {
	raw, err := json.Marshal([]any{t.Name, t.Goal, t.Approved, t.Parameters, t.steps})
	if err != nil {
		panic("writing a template: " + err.Error()) // it was read from JSON
	}
	return string(raw)
}

// fill returns the plan with values for the parameters.
func (t *Template) fill(values map[string]json.RawMessage) (*Plan, error) {
	p := Plan{Goal: t.Goal, Steps: slices.Clone(t.steps)}
	for i := range p.Steps {
		p.Steps[i].Arguments = substitute(p.Steps[i].Arguments, values)
	}
	raw, err := json.Marshal(&p)
	if err != nil {
		return nil, fmt.Errorf("writing the plan of a template: %w", err)
	}
	filled, err := Parse(raw)
	if err != nil {
		return nil, err
	}
	filled.Template, filled.Approved = t.Name, t.Approved
	return filled, nil
}

// Fill returns the plan with the values that an agent gives: an object with exactly the parameters, or nil for none.
func (t *Template) Fill(parameters json.RawMessage) (*Plan, error) {
	if parameters == nil {
		parameters = json.RawMessage("{}")
	}
	values := map[string]json.RawMessage{}
	for name, value := range rawjson.Members(parameters) {
		p, ok := t.Parameters[name]
		if !ok {
			return nil, fmt.Errorf("template %s has no parameter %+.64q", t.Name, name)
		}
		answer, err := p.value(value)
		if err != nil {
			return nil, fmt.Errorf("parameter %s of template %s: write a value of type %s", name, t.Name, p)
		}
		values[name] = answer
	}
	for name := range t.Parameters {
		if values[name] == nil {
			return nil, fmt.Errorf("template %s needs a value for parameter %s, %s", t.Name, name, t.Parameters[name])
		}
	}
	return t.fill(values)
}

// Choose reads the arguments of weir_plan where there are templates: the choice of one, or else, unless these are all
// that is taken, a plan.
func Choose(arguments json.RawMessage, templates map[string]*Template, only bool) (*Plan, error) {
	if _, chosen := rawjson.Get(arguments, "template"); !chosen {
		if !only {
			return Parse(arguments)
		}
		return nil, fmt.Errorf("only plans of the operator are taken: choose a template, one of %s",
			strings.Join(slices.Sorted(maps.Keys(templates)), ", "))
	}
	var choice struct {
		Template   string          `json:"template"`
		Parameters json.RawMessage `json:"parameters"`
		Check      bool            `json:"check"`
	}
	d := json.NewDecoder(bytes.NewReader(arguments))
	d.DisallowUnknownFields()
	if rawjson.Check(arguments) != nil || d.Decode(&choice) != nil || choice.Parameters != nil && rawjson.Kind(choice.Parameters) != '{' {
		return nil, errors.New("the arguments are not those of the tool's schema: write template, parameters and check")
	}
	t := templates[choice.Template]
	if t == nil {
		return nil, fmt.Errorf("there is no template %+.64q, only %s", choice.Template, strings.Join(slices.Sorted(maps.Keys(templates)), ", "))
	}
	p, err := t.Fill(choice.Parameters)
	if err != nil {
		return nil, err
	}
	p.Check = choice.Check
	return p, nil
}

// parameterOf returns the name of the parameter for which a JSON value stands.
func parameterOf(raw json.RawMessage) (name string, ok bool) {
	if rawjson.Kind(raw) != '{' {
		return "", false
	}
	value, has := rawjson.Get(raw, "parameter")
	n := 0
	for range rawjson.Members(raw) {
		n++
	}
	name, ok = rawjson.String(value)
	return name, has && ok && n == 1
}

// substitute returns a JSON value with values in the places of parameters.
func substitute(raw json.RawMessage, values map[string]json.RawMessage) json.RawMessage {
	if name, ok := parameterOf(raw); ok {
		return values[name]
	}
	var parts [][]byte
	switch rawjson.Kind(raw) {
	case '{':
		for name, value := range rawjson.Members(raw) {
			parts = append(parts, slices.Concat(rawjson.Quote(name), []byte{':'}, substitute(value, values)))
		}
		return slices.Concat([]byte{'{'}, bytes.Join(parts, []byte{','}), []byte{'}'})
	case '[':
		for value := range rawjson.Elements(raw) {
			parts = append(parts, substitute(value, values))
		}
		return slices.Concat([]byte{'['}, bytes.Join(parts, []byte{','}), []byte{']'})
	}
	return raw
}

// parametersIn returns the names of the parameters in a JSON value.
func parametersIn(raw json.RawMessage) map[string]bool {
	names := map[string]bool{}
	var walk func(json.RawMessage)
	walk = func(raw json.RawMessage) {
		if name, ok := parameterOf(raw); ok {
			names[name] = true
			return
		}
		switch rawjson.Kind(raw) {
		case '{':
			for _, value := range rawjson.Members(raw) {
				walk(value)
			}
		case '[':
			for value := range rawjson.Elements(raw) {
				walk(value)
			}
		}
	}
	walk(raw)
	return names
}
