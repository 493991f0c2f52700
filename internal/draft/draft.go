// Package draft guesses the contracts of tools that nobody has described, from their names, descriptions, schemas and
// hints.
//
//	d := draft.Of(tool)
//	for _, line := range d.Lines {
//		fmt.Println(line.Member, line.Value, line.Confidence, line.Reason)
//	}
//
// A draft is written as an overlay (see [Write]) for a person to correct. It is marked as a draft, and as long as it
// is, it only raises the assumptions about a tool: a server that names a tool well gains nothing. Each guess states its
// reason; all of it may be wrong.
package draft

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/label"
)

// A Confidence is how sure a guess is. The zero Confidence is Low.
type Confidence uint8

// The levels of confidence.
const (
	Low    Confidence = iota // one word, or the absence of any
	Medium                   // a word in the name, or several in the description
	High                     // the server's own hint, and nothing against it
)

// String returns "low", "medium" or "high".
func (c Confidence) String() string { return [...]string{"low", "medium", "high"}[min(c, High)] }

// A Line is one member of a contract, guessed.
type Line struct {
	Member     string // as overlays name it
	Value      string // in YAML
	Confidence Confidence
	Reason     string
}

// A Role is the role of an argument: a destination, or content that goes there.
type Role struct {
	Argument string
	Reason   string
	Sure     bool // there is a sign of it
}

// A Draft is the guess about one tool.
type Draft struct {
	Tool         string
	Kind         Kind
	Lines        []Line
	Destinations []Role
	Contents     []Role
}

// A Kind is the likely purpose of a tool. The zero Kind is Unclear.
type Kind uint8

// The kinds of tools.
const (
	Unclear Kind = iota
	Reads
	Writes
	Destroys
	Sends
	Pays
	Executes
)

// String says it in a few words.
func (k Kind) String() string {
	return [...]string{"unclear", "reads", "writes", "destroys", "sends", "pays", "runs code"}[min(k, Executes)]
}

// subject holds the examined parts of a tool.
type subject struct {
	name        []string // its words
	description []string
	arguments   []string // their names
	declared    contract.Contract
}

// Of returns the draft of a Tool of a tools/list result, which must be free of duplicate members.
func Of(tool json.RawMessage) Draft {
	name, s := read(tool)
	kind, sure, why := s.kind()
	d := Draft{Tool: name, Kind: kind}
	add := func(member, value string, sure Confidence, reason string) {
		d.Lines = append(d.Lines, Line{member, value, sure, reason})
	}
	s.behaviour(kind, sure, why, add)
	s.data(kind, add)
	p := PartsOf(tool)
	if d.Contents = drafted(p.Contents); kind != Reads || s.reaches() {
		d.Destinations = drafted(p.Destinations)
	}
	return d
}

func read(tool json.RawMessage) (string, subject) {
	text := func(member string) string {
		raw, _ := rawjson.Get(tool, member)
		s, _ := rawjson.String(raw)
		return s
	}
	var s subject
	name := text("name")
	s.name, s.description = split(name), split(text("description"))
	properties, _ := rawjson.Get(tool, "inputSchema", "properties")
	if rawjson.Kind(properties) == '{' {
		for argument := range rawjson.Members(properties) {
			s.arguments = append(s.arguments, argument)
		}
	}
	slices.Sort(s.arguments)
	s.declared, _ = annotation.ReadTool(tool)
	return name, s
}

// split returns the words of a name or text in lower case: parts of snake_case, kebab-case and camelCase.
func split(s string) (words []string) {
	var b strings.Builder
	flush := func() {
		if b.Len() > 0 {
			words = append(words, strings.ToLower(b.String()))
			b.Reset()
		}
	}
	lower := false
	for _, r := range s {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			flush()
			lower = false
			continue
		}
		if unicode.IsUpper(r) && lower {
			flush()
		}
		lower = unicode.IsLower(r) || unicode.IsDigit(r)
		b.WriteRune(r)
	}
	flush()
	return words
}

// kind guesses the purpose of the tool, by its name and, where that has no word for it, by its description.
func (s *subject) kind() (Kind, Confidence, string) {
	for _, place := range []struct {
		words []string
		sure  Confidence
		where string
	}{{s.name, Medium, "its name"}, {s.description[:min(len(s.description), 12)], Low, "its description"}} {
		for _, word := range place.words {
			for _, k := range []struct {
				family family
				kind   Kind
			}{{destroying, Destroys}, {paying, Pays}, {executing, Executes}, {reading, Reads}, {writing, Writes}, {sending, Sends}} {
				if k.family.has(word) {
					return k.kind, place.sure, fmt.Sprintf("%q in %s", word, place.where)
				}
			}
		}
	}
	return Unclear, Low, "no word in its name or description states its effect"
}

// behaviour guesses the changes that the tool makes and the destinations of its inputs.
func (s *subject) behaviour(kind Kind, sure Confidence, why string, add func(member, value string, sure Confidence, reason string)) {
	reads := kind == Reads
	if reads && s.declared.ReadOnly == contract.Yes {
		sure, why = High, why+", and its server says so"
	}
	if kind != Unclear {
		add("readOnly", fmt.Sprint(reads), sure, why)
	}
	switch kind {
	case Reads:
		add("destructive", "false", sure, "it reads")
		add("outcomes", "[benign]", sure, "it reads")
	case Writes:
		add("outcomes", "[consequential]", Low, why)
	case Destroys:
		add("destructive", "true", sure, why)
		add("outcomes", "[irreversible]", sure, why)
	case Sends, Pays:
		add("outcomes", "[irreversible]", sure, "a sent message or payment cannot be undone: "+why)
	case Executes:
		add("destructive", "true", Medium, "it "+kind.String()+": "+why)
		add("outcomes", "[irreversible]", Medium, "it "+kind.String()+": "+why)
	}
	switch {
	case kind == Sends || kind == Pays || kind == Executes:
		add("openWorld", "true", sure, why)
		add("destinations", "[public]", sure, why)
	case s.reaches():
		add("openWorld", "true", Medium, "it takes an address")
		add("destinations", "[public]", Medium, "the address that it takes carries data to whoever answers there")
	case s.declared.OpenWorld == contract.No:
		add("openWorld", "false", Medium, "its server says so")
	}
}

// reaches reports whether the tool takes an address of something outside.
func (s *subject) reaches() bool {
	return slices.ContainsFunc(s.arguments, func(a string) bool {
		_, ok := family{words: []string{"url", "uri", "urls", "endpoint", "host", "hostname", "webhook", "link"}}.first(split(a))
		return ok
	})
}

// data guesses the sources and the sensitivity of results.
func (s *subject) data(kind Kind, add func(member, value string, sure Confidence, reason string)) {
	word, untrusted := untrustedContent.first(s.name)
	switch {
	case untrusted || s.reaches():
		reason := "an address is read, and anyone may answer"
		if untrusted {
			reason = fmt.Sprintf("%q in its name: %s", word, untrustedContent.name)
		}
		add("sources", "[untrustedPublic]", Medium, reason)
	case kind == Reads:
		if word, ok := files.first(s.name); ok {
			add("sources", "[internal, untrustedPublic]", Low, fmt.Sprintf("%q in its name: %s, which may hold untrusted content", word, files.name))
		}
	case kind == Writes || kind == Destroys:
		add("sources", "[system]", Low, "its result only reports success or failure")
	}
	var classes []string
	var reasons []string
	for _, c := range []struct {
		family family
		class  label.Class
	}{{secrets, label.Credentials}, {money, label.Financial}, {people, label.PII}} {
		if word, ok := c.family.first(s.name); ok {
			classes = append(classes, string(c.class))
			reasons = append(reasons, fmt.Sprintf("%q in its name: %s", word, c.family.name))
		}
	}
	if len(classes) > 0 {
		add("returns", "["+strings.Join(classes, ", ")+"]", Low, strings.Join(reasons, "; "))
	}
}
