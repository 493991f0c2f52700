package annotation

import (
	"slices"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/label"
)

const idSEP2061 = "sep-2061"

// sep2061 is SEP-2061, Action Security Metadata, which SEP-1913 took over with other spelling: here the members of
// inputMetadata and returnMetadata and their values are PascalCase, and regulated data has no scopes.
func sep2061() dialect {
	return dialect{
		id:       idSEP2061,
		members:  []string{inputMetadata, returnMetadata},
		readTool: readSEP2061Tool, readResult: readSEP2061Result,
		writeTool: writeSEP2061Tool,
	}
}

// A spelling is a value and how SEP-2061 writes it.
type spelling[T ~string] struct {
	value T
	word  string
}

func destinationWords() []spelling[contract.Destination] {
	return []spelling[contract.Destination]{
		{contract.Ephemeral, "Ephemeral"}, {contract.System, "System"}, {contract.User, "User"},
		{contract.Internal, "Internal"}, {contract.Public, "Public"},
	}
}

func outcomeWords() []spelling[contract.Outcome] {
	return []spelling[contract.Outcome]{
		{contract.Benign, "Benign"}, {contract.Consequential, "Consequential"}, {contract.Irreversible, "Irreversible"},
	}
}

func sourceWords() []spelling[label.Source] {
	return []spelling[label.Source]{
		{label.UntrustedPublic, "UntrustedPublic"}, {label.TrustedPublic, "TrustedPublic"}, {label.Internal, "Internal"},
		{label.UserSource, "User"}, {label.System, "System"},
	}
}

func classWords() []spelling[label.Class] {
	return []spelling[label.Class]{
		{none, "None"}, {label.User, "User"}, {label.PII, "PII"}, {label.Financial, "Financial"},
		{label.Credentials, "Credentials"}, {label.Regulated, "Regulated"},
	}
}

// isPascal reports whether an inputMetadata or returnMetadata is spelt as in SEP-2061: with its members, and with none
// of SEP-1913's. One with both is SEP-1913's, and the others are too many there.
func isPascal(o *object) bool {
	pascal, camel := false, false
	rawjson.Select(o.raw, []string{
		"Destination", "Sensitivity", "Outcomes", "Source", destination, sensitivity, outcomes, source,
	}, func(name string, _ []byte) bool {
		if name[0] < 'a' {
			pascal = true
		} else {
			camel = true
		}
		return true
	})
	return pascal && !camel
}

func readSEP2061Tool(in places, c *contract.Contract) {
	if input := in.annotations.object2061(inputMetadata); input != nil {
		input.require("Destination", "Sensitivity", "Outcomes")
		c.Destinations = both(c.Destinations, spelt(input, "Destination", destinationWords(), "Public"))
		if accepted := spelt(input, "Sensitivity", classWords(), sensitive); !accepted.Has(label.Unspecified) {
			c.Accepts = both(c.Accepts, accepted)
		}
		c.Outcomes = both(c.Outcomes, spelt(input, "Outcomes", outcomeWords(), "Irreversible"))
	}
	if output := in.annotations.object2061(returnMetadata); output != nil {
		output.require("Source", "Sensitivity")
		c.Sources = both(c.Sources, spelt(output, "Source", sourceWords(), "UntrustedPublic"))
		c.Returns = both(c.Returns, spelt(output, "Sensitivity", classWords(), sensitive))
	}
}

func readSEP2061Result(in places, c *reading) {
	var said contract.Contract
	readSEP2061Tool(in, &said)
	c.Stated.Destinations = both(c.Stated.Destinations, said.Destinations)
	c.Stated.Accepts = both(c.Stated.Accepts, said.Accepts)
	c.Stated.Outcomes = both(c.Stated.Outcomes, said.Outcomes)
	c.Stated.Sources = both(c.Stated.Sources, said.Sources)
	c.Stated.Returns = both(c.Stated.Returns, said.Returns)
	c.Label = label.Join(c.Label, said.Label())
}

// object2061 returns a member that is an object in the spelling of SEP-2061, and nil for any other: what else there may
// be in its place is for SEP-1913 to read.
func (o *object) object2061(name string) *object {
	value, ok := o.get(name)
	if !ok || rawjson.Kind(value) != '{' {
		return nil
	}
	if inner := (&object{raw: value, where: at(o.where, name), found: o.found}); isPascal(inner) {
		return inner
	}
	return nil
}

// require reports a defect for each of the members that is missing.
func (o *object) require(names ...string) {
	for _, name := range names {
		if !o.has(name) {
			o.found.add(at(o.where, name), "is missing")
		}
	}
}

// spelt returns a member that should be one of the words, or an array of them. One that is not counts as the worst
// word, or if that is none of them, as sensitive in an unspecified way.
func spelt[T ~string](o *object, name string, words []spelling[T], worst string) contract.Values[T] {
	enum := make([]string, len(words))
	for i, w := range words {
		enum[i] = w.word
	}
	said, ok := possible(o, name, enum, worst).Known()
	if !ok {
		return contract.Values[T]{}
	}
	var values []T
	for _, w := range words {
		if said.Has(w.word) && string(w.value) != string(none) {
			values = append(values, w.value)
		}
	}
	if worst == sensitive && said.Has(worst) {
		values = append(values, T(label.Unspecified))
	}
	return contract.Possible(values...)
}

func writeSEP2061Tool(tool *editor, c contract.Contract) {
	tool.in(annotations, func(out *editor) {
		var old contract.Contract
		readSEP2061Tool(places{annotations: out.read()}, &old)
		now := c.Over(metadata(out.read()))
		out.respell(inputMetadata, inputWords(old), inputWords(now), destination, sensitivity, outcomes)
		out.respell(returnMetadata, returnWords(old), returnWords(now), source, sensitivity)
	})
}

func inputWords(c contract.Contract) []text {
	return []text{
		word("Destination", c.Destinations, destinationWords()),
		word("Sensitivity", c.Accepts, classWords()),
		word("Outcomes", c.Outcomes, outcomeWords()),
	}
}

func returnWords(c contract.Contract) []text {
	return []text{
		word("Source", c.Sources, sourceWords()),
		word("Sensitivity", c.Returns, classWords()),
	}
}

// word returns the member that holds values in SEP-2061's words. Regulated data has no scope there.
func word[T ~string](name string, v contract.Values[T], words []spelling[T]) text {
	set, known := v.Known()
	if !known {
		return text{name: name}
	}
	var said []string
	for value := range set.All() {
		n := slices.IndexFunc(words, func(w spelling[T]) bool { return w.value == value })
		_, scoped := label.Class(value).Scope()
		switch {
		case n >= 0:
			said = append(said, words[n].word)
		case scoped:
			said = append(said, "Regulated")
		default:
			return text{name: name, known: true}
		}
	}
	if len(said) == 0 && name == "Sensitivity" {
		said = append(said, "None")
	}
	var texts [][]byte
	for word := range label.SetOf(said...).All() {
		texts = append(texts, rawjson.Quote(word))
	}
	return text{name, oneOrMore(texts), true}
}

// respell writes an object as [editor.members] does, in one spelling: once a member is written, those of the other
// spelling go, because no reader could make sense of both.
func (e *editor) respell(name string, old, now []text, gone ...string) {
	e.members(name, old, now)
	if slices.ContainsFunc(now, func(t text) bool { return e.holds(name, t.name) }) {
		e.in(name, func(inner *editor) { inner.drop(gone...) })
	}
}
