package draft

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/speech"
)

// Parts are the parts that all arguments of a tool are guessed to play. In doubt an argument is a destination, of which
// more is asked than of content.
type Parts struct {
	Destinations []Role
	Contents     []Role

	Partial bool // there are arguments to which no path leads, so it is no statement about all of them
}

// PartsOf guesses the parts that the arguments of a Tool of a tools/list result play, by the formats in its schema, its
// names and its descriptions. The tool must be free of duplicate members.
func PartsOf(tool json.RawMessage) (p Parts) {
	_, s := read(tool)
	kind, _, _ := s.kind()
	a := argument{chooses: kind == Destroys || kind == Executes, makes: s.makes(kind)}
	schema, _ := rawjson.Get(tool, "inputSchema")
	p.Partial = !a.walk(schema, "", maxDepth, func(a argument) {
		role := Role{Argument: a.path}
		var is part
		if is, role.Reason, role.Sure = a.part(); is == destination {
			p.Destinations = append(p.Destinations, role)
		} else {
			p.Contents = append(p.Contents, role)
		}
	})
	return p
}

// maxDepth is how deep the members of objects in arguments are guessed at, one by one.
const maxDepth = 4

// walk calls do with each argument that a schema of an object has, and with the members of those that are objects or
// lists of objects, by the paths of overlays. It reports whether a path leads to all of them: to none with a dot or a
// bracket in its name.
func (a argument) walk(schema json.RawMessage, at string, depth int, do func(argument)) (all bool) {
	properties, _ := rawjson.Get(schema, "properties")
	if rawjson.Kind(properties) != '{' {
		return true
	}
	all = true
	members := map[string]json.RawMessage{}
	for name, inner := range rawjson.Members(properties) {
		members[name] = inner
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if name == "" || strings.ContainsAny(name, ".[]*") {
			all = false
			continue
		}
		a.path, a.schema = strings.TrimPrefix(at+"."+name, "."), members[name]
		a.words = split(a.path)
		inside, way := a.schema, a.path
		if items, ok := rawjson.Get(inside, "items"); ok {
			inside, way = items, way+"[*]"
		}
		if members, ok := rawjson.Get(inside, "properties"); ok && rawjson.HasMembers(members) && depth > 1 && listed(a.schema) {
			all = a.walk(inside, way, depth-1, do) && all
		} else {
			do(a)
		}
	}
	return all
}

// plainKeywords are the keywords of a schema that give no value members which another keyword does not.
var plainKeywords = []string{"title", "description", "default", "examples", "example", "deprecated", "readOnly", "writeOnly", "nullable", "format",
	"$comment", "contentEncoding", "contentMediaType", "markdownDescription", "enumNames", "enumDescriptions", "pattern", "minLength", "maxLength",
	"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems", "uniqueItems", "required", "minProperties",
	"maxProperties"}

// flat reports whether all values of a schema are scalars, or lists of them. Any keyword that is not known to add
// nothing else may add members.
func flat(schema json.RawMessage) bool {
	bounded, lists, items := false, false, false
	for name, value := range rawjson.Members(schema) {
		ok := true
		switch name {
		case "type":
			bounded, lists = true, bytes.Contains(value, []byte("array"))
			ok = !bytes.Contains(value, []byte("object")) && !bytes.ContainsRune(value, '\\')
		case "enum", "const":
			bounded, ok = true, !bytes.ContainsRune(value, '{')
		case "items":
			items, ok = true, flat(value)
		case "anyOf", "oneOf":
			bounded = true
			for one := range rawjson.Elements(value) {
				ok = ok && flat(one)
			}
		default:
			ok = isPlain(name)
		}
		if !ok {
			return false
		}
	}
	return bounded && lists == items
}

func isPlain(keyword string) bool {
	return slices.Contains(plainKeywords, keyword) || strings.HasPrefix(keyword, "x-")
}

// listed reports whether a schema of an object, or of a list of objects, says nothing more of its members than their
// properties do.
func listed(schema json.RawMessage) bool {
	for name, value := range rawjson.Members(schema) {
		switch name {
		case "type", "properties", "additionalProperties":
		case "items":
			if !listed(value) {
				return false
			}
		default:
			if !isPlain(name) {
				return false
			}
		}
	}
	return true
}

// A part is one of two.
type part bool

const (
	destination part = true
	content     part = false
)

// An argument is one of a tool, and its circumstances.
type argument struct {
	path    string
	words   []string // of it
	schema  json.RawMessage
	chooses bool // any value may choose the thing that is destroyed, or the deed
	makes   bool // the tool makes something new, sends or reads
}

// part guesses the part of an argument, and says why. The first sign that there is of it counts; sure is false if there
// is none.
func (a *argument) part() (is part, reason string, sure bool) {
	for _, sign := range []func() (part, string){a.format, a.place, a.identifier, a.power, a.choice, a.text, a.measure, a.described} {
		if is, reason := sign(); reason != "" {
			switch {
			case is == content && a.chooses:
				return destination, "it may choose the thing that the tool destroys or runs", false
			case is == content && !flat(a.schema):
				return destination, "its schema lets it have members that are not looked at", false
			}
			return is, reason, true
		}
	}
	return destination, "nothing says that it is only content", false
}

// states returns a text that the argument's schema, or that of its items, has as a member.
func (a *argument) states(member string) string {
	for _, way := range [][]string{{member}, {"items", member}} {
		raw, _ := rawjson.Get(a.schema, way...)
		if text, ok := rawjson.String(raw); ok {
			return text
		}
	}
	return ""
}

// The formats of JSON Schema (2020-12, Validation, 7.3) by the part of a value that has them.
var (
	addressFormats = []string{"email", "idn-email", "uri", "uri-reference", "iri", "iri-reference", "uri-template", "hostname", "idn-hostname",
		"ipv4", "ipv6", "uuid"}
	timeFormats = []string{"date", "date-time", "time", "duration"}
)

func (a *argument) format() (part, string) {
	switch format := a.states("format"); {
	case slices.Contains(addressFormats, format):
		return destination, fmt.Sprintf("its format is %q", format)
	case slices.Contains(timeFormats, format):
		return content, fmt.Sprintf("its format is %q", format)
	}
	return content, ""
}

func (a *argument) place() (part, string) {
	word, ok := speech.PlaceWord(a.path)
	if !ok {
		return content, ""
	}
	return destination, fmt.Sprintf("%q names a place that something can go to", word)
}

func (a *argument) identifier() (part, string) {
	return destination, sign(identifiers, a.words)
}

// power finds choices of who may see or do something: an outsider who makes one of them sends the content elsewhere.
func (a *argument) power() (part, string) {
	return destination, sign(powers, a.words)
}

func (a *argument) choice() (part, string) {
	if values, _ := rawjson.Get(a.schema, "enum"); rawjson.Kind(values) == '[' {
		return content, "it is one of the values in its schema"
	}
	if a.states("type") == "boolean" {
		return content, "it is a truth value"
	}
	return content, ""
}

func (a *argument) text() (part, string) {
	if reason := sign(texts, a.words); reason != "" {
		return content, reason
	}
	reason := sign(contents, a.words)
	if reason != "" && !a.makes {
		return destination, "it may choose the thing that the tool changes"
	}
	return content, reason
}

func (a *argument) measure() (part, string) {
	if kind := a.states("type"); kind != "integer" && kind != "number" {
		return content, ""
	}
	return content, sign(measures, a.words)
}

func (a *argument) described() (part, string) {
	reason := sign(places, split(a.states("description")))
	if reason == "" {
		return destination, ""
	}
	return destination, reason + ", in its description"
}

// sign says which of the words is one of a family; "" if none is.
func sign(f family, words []string) string {
	word, ok := f.first(words)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%q names %s", word, f.name)
}

// makes reports whether the tool makes something new, sends or reads: then a title, a value or a query chooses nothing
// that is there already.
func (s *subject) makes(kind Kind) bool {
	_, creates := creating.first(s.name)
	return kind == Sends || kind == Reads || creates
}

// drafted returns the guesses of which there is a sign.
func drafted(roles []Role) []Role {
	return slices.DeleteFunc(roles, func(r Role) bool { return !r.Sure })
}
