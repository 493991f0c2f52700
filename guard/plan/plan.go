// Package plan reads the plans of agents: the calls that one intends to make, with the values that it does not know
// yet.
//
//	p, err := plan.Parse(arguments)                     // of weir_plan
//	p, err := plan.Load("rent.yaml", src)               // of a file
//	ok := p.Steps[1].Matches(arguments, places, fills)  // a call is of a step
//
// The arguments of a step are constants and placeholders. A placeholder is the object {"from": STEP, "path": POINTER,
// "type": TYPE}: a value that the result of an earlier step gives. Its type is a number, an integer, a boolean, a
// date, one of the options that the plan lists, or a handle of the hidden result. Texts, addresses and links of a
// result are no placeholders, since its author chooses them: a handle passes a text on, and a person approves that no
// placeholder but one_of says where data goes.
//
// The package reads and compares. It decides nothing, does no I/O and keeps no state but [Answers].
package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-mcp/weir/internal/pattern"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/vault"
)

// Handle is the type of a placeholder for a handle of a hidden result.
const Handle vault.Type = "handle"

// Limits of a plan. A request shows all of it.
const (
	MaxSteps  = 24
	MaxRepeat = 32
	maxCalls  = 64   // of all steps
	maxID     = 16   // bytes
	maxText   = 5000 // bytes of a plan
)

// A Plan is the calls that an agent intends to make.
type Plan struct {
	Goal  string `json:"goal"`
	Steps []Step `json:"steps"`
	Check bool   `json:"check,omitempty"` // nobody is asked to approve it

	Template string `json:"-"` // of the operator, of which it is; "" for a plan of an agent
	Approved bool   `json:"-"` // by the operator
}

// A Step is a call, or several with the same arguments but for placeholders.
type Step struct {
	ID        string          `json:"id"`
	Tool      string          `json:"tool"`                // as hosts name it
	Arguments json.RawMessage `json:"arguments,omitempty"` // an object of constants and placeholders
	Repeat    int             `json:"repeat,omitempty"`    // calls at most; zero: 1
	Optional  bool            `json:"optional,omitempty"`  // the agent may leave it out
	Line      int             `json:"-"`                   // in the file from which it was loaded
}

// Times returns how many calls are of the step at most.
func (s *Step) Times() int { return max(s.Repeat, 1) }

// A Placeholder stands for a value out of the result of an earlier step.
type Placeholder struct {
	From    string     `json:"from"` // id of the step
	Path    string     `json:"path,omitempty"`
	Type    vault.Type `json:"type"`
	Options []string   `json:"options,omitempty"` // of one_of
}

// look returns the typed look that answers as the placeholder does.
func (p *Placeholder) look() vault.Look {
	return vault.Look{Path: p.Path, As: p.Type, Options: p.Options}
}

// Closed reports whether a person who reads the plan knows all values that the placeholder can have.
func (p *Placeholder) Closed() bool { return p.Type == vault.OneOf || p.Type == vault.Boolean }

// types are the types of placeholders.
var types = []vault.Type{vault.Number, vault.Integer, vault.Boolean, vault.Date, vault.OneOf, Handle}

// A StepError is a mistake in a step, from 0.
type StepError struct {
	Step int
	Err  error
}

func (e *StepError) Error() string { return fmt.Sprintf("step %d: %v", e.Step+1, e.Err) }

func (e *StepError) Unwrap() error { return e.Err }

var idPattern = pattern.New(`^[A-Za-z0-9_-]+$`)

// Parse reads the arguments of weir_plan, strictly.
func Parse(arguments json.RawMessage) (*Plan, error) {
	if len(arguments) > maxText {
		return nil, fmt.Errorf("the plan has more than %d bytes: a person has to read all of it", maxText)
	}
	var p Plan
	d := json.NewDecoder(bytes.NewReader(arguments))
	d.DisallowUnknownFields()
	if rawjson.Kind(arguments) != '{' || rawjson.Check(arguments) != nil || d.Decode(&p) != nil {
		return nil, errors.New("the arguments are not those of the tool's schema")
	}
	if len(p.Steps) == 0 || len(p.Steps) > MaxSteps {
		return nil, fmt.Errorf("a plan has from 1 to %d steps", MaxSteps)
	}
	var before []string
	calls := 0
	for i := range p.Steps {
		s := &p.Steps[i]
		if err := s.check(before); err != nil {
			return nil, &StepError{i, err}
		}
		before = append(before, s.ID)
		calls += s.Times()
	}
	if calls > maxCalls {
		return nil, fmt.Errorf("a plan has up to %d calls", maxCalls)
	}
	return &p, nil
}

// check reports a mistake in a step that comes after others.
func (s *Step) check(before []string) error {
	switch {
	case len(s.ID) > maxID || !idPattern().MatchString(s.ID):
		return fmt.Errorf("an id has up to %d letters, digits, _ and -", maxID)
	case slices.Contains(before, s.ID):
		return errors.New("another step has the same id")
	case s.Tool == "":
		return errors.New("it names no tool")
	case s.Repeat < 0 || s.Repeat > MaxRepeat:
		return fmt.Errorf("repeat is from 1 to %d", MaxRepeat)
	case s.Arguments == nil:
		s.Arguments = json.RawMessage("{}")
	case rawjson.Kind(s.Arguments) != '{':
		return errors.New("arguments is an object")
	case vault.HasHandles(s.Arguments):
		return errors.New("a handle of a value is no constant: write a placeholder of type handle")
	}
	if _, ok := read(s.Arguments); ok {
		return errors.New("arguments is an object, and no placeholder")
	}
	s.Arguments = rawjson.Canonical(s.Arguments) // the one spelling that a person is shown
	for _, at := range s.Placeholders() {
		look := at.look()
		switch {
		case !slices.Contains(before, at.From):
			return fmt.Errorf("a placeholder is from no earlier step")
		case !slices.Contains(types, at.Type):
			return fmt.Errorf("the type of a placeholder is one of %v: a text is passed on by its handle", types)
		case at.Type == Handle:
			if at.Options != nil {
				return errors.New("only one_of has options")
			}
		case look.Check() != nil:
			return look.Check()
		}
	}
	return nil
}

// read returns the placeholder that a JSON value is.
func read(raw json.RawMessage) (p Placeholder, ok bool) {
	if rawjson.Kind(raw) != '{' {
		return p, false
	}
	_, from := rawjson.Get(raw, "from")
	_, typed := rawjson.Get(raw, "type")
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	return p, from && typed && d.Decode(&p) == nil
}

// Placed is a placeholder in a member of the arguments, at any depth.
type Placed struct {
	Member string
	Place  string // as overlays name it, such as "to[0].address"; "" if a name on the way may be read as two
	Placeholder
}

// Placeholders returns the placeholders of a step.
func (s *Step) Placeholders() (all []Placed) {
	for name, value := range rawjson.Members(s.Arguments) {
		fill(value, below("", name), func(way string, p Placeholder) json.RawMessage {
			if way = strings.TrimPrefix(way, "."); strings.HasPrefix(way, unnamed) {
				way = ""
			}
			all = append(all, Placed{name, way, p})
			return json.RawMessage("null")
		})
	}
	return all
}

// Example returns arguments of the step with a value in each placeholder.
func (s *Step) Example() json.RawMessage {
	return fill(s.Arguments, "", func(_ string, p Placeholder) json.RawMessage {
		switch p.Type {
		case vault.Boolean:
			return json.RawMessage("true")
		case vault.Date:
			return json.RawMessage(`"2000-01-01"`)
		case vault.OneOf:
			return rawjson.Quote(p.Options[0])
		case Handle:
			return json.RawMessage(`"a text"`)
		}
		return json.RawMessage("1")
	})
}

// unnamed begins the way to a value where a name on it has a character of ways.
const unnamed = "\x00"

// below returns the way to a member of the value to which another leads.
func below(way, name string) string {
	if name == "" || strings.HasPrefix(way, unnamed) || strings.ContainsAny(name, ".[]\"*\x00") {
		return unnamed
	}
	return way + "." + name
}

// fill returns a JSON value, to which a way leads, with its placeholders replaced.
func fill(raw json.RawMessage, way string, by func(string, Placeholder) json.RawMessage) json.RawMessage {
	if p, ok := read(raw); ok {
		return by(way, p)
	}
	var parts [][]byte
	switch rawjson.Kind(raw) {
	case '{':
		for name, value := range rawjson.Members(raw) {
			parts = append(parts, append(append(rawjson.Quote(name), ':'), fill(value, below(way, name), by)...))
		}
		return slices.Concat([]byte{'{'}, bytes.Join(parts, []byte{','}), []byte{'}'})
	case '[':
		for value := range rawjson.Elements(raw) {
			parts = append(parts, fill(value, way+"["+strconv.Itoa(len(parts))+"]", by))
		}
		return slices.Concat([]byte{'['}, bytes.Join(parts, []byte{','}), []byte{']'})
	}
	return raw
}

// An Argument is the value in the place of a placeholder.
type Argument struct {
	JSON  json.RawMessage
	Value string // ID of the hidden value that it is, or is a part of; "" if it is none
	Mixed bool   // whether it holds hidden values beside anything else
}

// Matches reports whether arguments, which hold hidden values at places, are those of the step: constants exactly and
// without any of these values, and placeholders as fills says.
func (s *Step) Matches(arguments json.RawMessage, places []vault.Place, fills func(Placeholder, Argument) bool) bool {
	if arguments == nil {
		arguments = json.RawMessage("{}")
	}
	m := matcher{places, fills}
	return m.matches(s.Arguments, arguments, "")
}

type matcher struct {
	places []vault.Place
	fills  func(Placeholder, Argument) bool
}

// argument returns the argument at a JSON pointer.
func (m *matcher) argument(got json.RawMessage, at string) Argument {
	arg := Argument{JSON: got}
	for _, p := range m.places {
		switch {
		case p.At == at && p.Whole && arg.Value == "":
			arg.Value = p.Value
		case p.At == at || strings.HasPrefix(p.At, at+"/"):
			arg.Mixed = true
		}
	}
	return arg
}

func (m *matcher) matches(want, got json.RawMessage, at string) bool {
	if p, ok := read(want); ok {
		return m.fills(p, m.argument(got, at))
	}
	if rawjson.Kind(want) != rawjson.Kind(got) || slices.ContainsFunc(m.places, func(p vault.Place) bool { return p.At == at }) {
		return false
	}
	n := 0
	switch rawjson.Kind(want) {
	case '{':
		for name, value := range rawjson.Members(want) {
			other, ok := rawjson.Get(got, name)
			if !ok || !m.matches(value, other, at+rawjson.Pointer(name)) {
				return false
			}
			n++
		}
		for range rawjson.Members(got) {
			n--
		}
		return n == 0
	case '[':
		var others []json.RawMessage
		for value := range rawjson.Elements(got) {
			others = append(others, value)
		}
		for value := range rawjson.Elements(want) {
			if n >= len(others) || !m.matches(value, others[n], at+rawjson.Pointer(strconv.Itoa(n))) {
				return false
			}
			n++
		}
		return n == len(others)
	}
	return bytes.Equal(rawjson.Canonical(want), rawjson.Canonical(got))
}
