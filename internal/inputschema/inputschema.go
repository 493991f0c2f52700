// Package inputschema checks the arguments of a call against the input schema of its tool.
//
// A description of a tool, by an operator or a server, holds for the arguments that the schema names. A server that
// reads others, or other types, may do something else. So a call whose arguments are outside of the schema counts as
// one that may have any effect.
//
//	schema := inputschema.Compile(raw)      // once for a definition
//	finding := schema.Check(arguments)
//
// JSON Schema of drafts 2020-12 and 7 is known; anything else, and a schema that costs too much, is one that no
// arguments satisfy. References stay inside the schema: nothing is fetched.
package inputschema

import (
	"encoding/json"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/weir-mcp/weir/internal/rawjson"
)

const (
	maxSchema    = 1 << 20 // bytes of a schema
	maxArguments = 4 << 20 // bytes of arguments that are checked
)

// A Schema is the input schema of a tool, ready to check arguments. It does not change.
type Schema struct {
	resolved *jsonschema.Resolved
	root     any // the schema as decoded JSON
	plain    *plainSchema
	cost     cost   // of a check
	unusable string // why nothing can be checked with it; "" if it can
}

// A Finding is the result of a check of arguments.
type Finding struct {
	// Ambiguous says that an object whose members the schema names has two that differ in nothing but case.
	Ambiguous bool

	// Violates says why the arguments are outside of the schema; "" if they are not. It quotes neither.
	Violates string

	// Undeclared are names of members that the schema does not name, sorted: content that the agent chose.
	Undeclared []string

	// Beside are the undeclared members that may change the meaning of declared ones, by their paths, sorted: members
	// of the arguments themselves, and members of objects of which the schema names some. In an object of which it
	// names none, members are data.
	Beside []string
}

// Compile reads a schema; nil is that of a tool which has none, and says as much as {}.
func Compile(raw json.RawMessage) *Schema {
	if raw == nil {
		raw = json.RawMessage("{}")
	}
	if len(raw) > maxSchema {
		return &Schema{unusable: "the tool's input schema is too long to check the arguments"}
	}
	s := &Schema{}
	var schema jsonschema.Schema
	err := json.Unmarshal(raw, &schema)
	if err == nil {
		err = json.Unmarshal(raw, &s.root)
	}
	if err == nil {
		s.cost, err = costOf(s.root)
	}
	if err == nil {
		s.resolved, err = schema.Resolve(nil)
	}
	if err != nil {
		return &Schema{unusable: "the tool's input schema cannot be used to check the arguments"}
	}
	s.plain = plainOf(s.root)
	return s
}

// Check holds arguments, an object without duplicate names or nil, against the schema.
func (s *Schema) Check(arguments json.RawMessage) (f Finding) {
	if arguments == nil {
		arguments = json.RawMessage("{}")
	}
	if len(arguments) <= maxArguments && s.plain.fit(arguments) {
		return f
	}
	return s.check(arguments)
}

// check is Check for a schema and arguments of any form.
func (s *Schema) check(arguments json.RawMessage) (f Finding) {
	var value any
	switch {
	case s.unusable != "":
		f.Violates = s.unusable
	case len(arguments) > maxArguments:
		f.Violates = "the arguments are too long to be checked"
	}
	if f.Violates != "" {
		f.Undeclared = names(arguments)
		f.Beside = f.Undeclared
		return f
	}
	if err := json.Unmarshal(arguments, &value); err != nil {
		f.Violates = "the arguments cannot be decoded"
		return f
	}
	if !s.cost.bears(value) {
		all := names(arguments)
		return Finding{Violates: "the input schema costs too much to check", Undeclared: all, Beside: all}
	}
	if err := s.resolved.Validate(value); err != nil {
		f.Violates = "the arguments do not satisfy the tool's input schema"
	}
	w := &walker{root: s.root, found: &f}
	w.look([]any{s.root}, value, "", 0)
	slices.Sort(f.Beside)
	slices.Sort(f.Undeclared)
	f.Undeclared = slices.Compact(f.Undeclared)
	return f
}

// names returns the names of an object's members.
func names(object json.RawMessage) (all []string) {
	for name := range rawjson.Members(object) {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}
