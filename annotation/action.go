package annotation

import (
	"slices"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/label"
)

// actionMetadata is the experimental extension io.modelcontextprotocol/action-metadata, which succeeds SEP-2061, in the
// _meta of a tool or in its annotations. Its values are open strings. The words of SEP-1913 have their meaning there,
// some others are in use, and one that is not known here means the worst: data that goes to the public, from sources
// that nobody vouches for, sensitive in an unspecified way, by a call that cannot be undone.
func actionMetadata() dialect {
	return dialect{
		id: "action-metadata", members: []string{actionKey},
		readTool: readAction, writeTool: writeAction,
	}
}

const (
	actionKey      = "io.modelcontextprotocol/action-metadata"
	outcome        = "outcome"
	requiresReview = "requiresReview"
)

func readAction(in places, c *contract.Contract) {
	for _, place := range []*object{in.meta, in.annotations} {
		said, bad := place.container(actionKey)
		if unreadable(c, bad, bad); said != nil {
			readActionMembers(said, c)
		}
	}
}

func readActionMembers(said *object, c *contract.Contract) {
	input, noInput := said.container(inputMetadata)
	output, noOutput := said.container(returnMetadata)
	unreadable(c, noInput, noOutput)
	c.Destinations = both(c.Destinations, open(input, destination, wordOf(contract.Destinations(), contract.Public, "first-party", contract.Internal)))
	c.Accepts = both(c.Accepts, openClasses(input))
	c.Sources = both(c.Sources, open(output, source, wordOf(label.Sources(), label.UntrustedPublic, "first-party", label.Internal)))
	c.Returns = both(c.Returns, openClasses(output))
	c.Outcomes = both(c.Outcomes, open(said, outcome, wordOf(contract.Outcomes(), contract.Irreversible, "", "")))
	c.RequiresReview = either(c.RequiresReview, said.hint(requiresReview))
}

// wordOf returns the reader of one word: a value of the enumeration, the one word beside it, or the worst.
func wordOf[T ~string](enum []T, worst T, word string, means T) func(string) []T {
	return func(s string) []T {
		switch {
		case slices.Contains(enum, T(s)):
			return []T{T(s)}
		case word != "" && s == word:
			return []T{means}
		}
		return []T{worst}
	}
}

// open returns a member that should be a string or an array of them, each read by read. Anything but a string is a word
// that is not known.
func open[T ~string](o *object, name string, read func(string) []T) contract.Values[T] {
	items, there := o.items(name)
	if !there {
		return contract.Values[T]{}
	}
	var values []T
	if len(items) == 0 {
		values = read("")
	}
	for _, it := range items {
		s, ok := rawjson.String(it.raw)
		if !ok {
			o.found.add(it.where(), isNot(it.raw, "a string"))
		}
		values = append(values, read(s)...)
	}
	return contract.Possible(values...)
}

// openClasses returns the classes of a sensitivity: "normal" is none.
func openClasses(o *object) contract.Values[label.Class] {
	return open(o, sensitivity, func(s string) []label.Class {
		switch class := label.Class(s); {
		case class == none || s == "normal":
			return nil
		case class == label.Regulated || slices.Contains(classEnum(), class):
			return []label.Class{class}
		}
		return []label.Class{label.Unspecified}
	})
}

// writeAction writes into the object that is there, wherever it is, and makes one in _meta if there is none.
func writeAction(tool *editor, c contract.Contract) {
	write := func(place *editor) { place.in(actionKey, func(out *editor) { writeActionMembers(out, c) }) }
	elsewhere := false
	if tool.has(annotations) {
		tool.in(annotations, func(place *editor) {
			if elsewhere = place.has(actionKey); elsewhere {
				write(place)
			}
		})
	}
	tool.in(meta, func(place *editor) {
		if !elsewhere || place.has(actionKey) {
			write(place)
		}
	})
}

func writeActionMembers(out *editor, c contract.Contract) {
	var old contract.Contract
	readActionMembers(out.read(), &old)
	out.in(inputMetadata, func(in *editor) {
		in.known(destination, enumText(old.Destinations, contract.Destinations()), enumText(c.Destinations, contract.Destinations()))
		in.known(sensitivity, openText(old.Accepts), openText(c.Accepts))
	})
	out.in(returnMetadata, func(in *editor) {
		in.known(source, enumText(old.Sources, label.Sources()), enumText(c.Sources, label.Sources()))
		in.known(sensitivity, openText(old.Returns), openText(c.Returns))
	})
	out.known(outcome, enumText(old.Outcomes, contract.Outcomes()), enumText(c.Outcomes, contract.Outcomes()))
	out.hint(requiresReview, c.RequiresReview)
}

// openText returns the JSON text of sensitivity classes; nil if they are unknown. A scope has no word here.
func openText(v contract.Values[label.Class]) []byte {
	set, known := v.Known()
	if !known {
		return nil
	}
	var said []string
	for class := range set.All() {
		_, scoped := class.Scope()
		switch {
		case scoped:
			said = append(said, string(label.Regulated))
		case class == label.Regulated || slices.Contains(classEnum(), class):
			said = append(said, string(class))
		default:
			said = append(said, sensitive)
		}
	}
	if len(said) == 0 {
		return rawjson.Quote(string(none))
	}
	var texts [][]byte
	for word := range label.SetOf(said...).All() {
		texts = append(texts, rawjson.Quote(word))
	}
	return oneOrMore(texts)
}
