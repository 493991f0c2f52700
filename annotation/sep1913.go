package annotation

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/label"
)

// sep1913 is SEP-1913, Trust and Sensitivity Annotations, by its section Schema Definitions. Beyond the schema, the
// members of inputMetadata and returnMetadata are read in results as well, and so are source and sensitivity directly
// in a result's annotations, where some servers put them.
func sep1913() dialect {
	return dialect{
		id:       idSEP1913,
		members:  []string{openWorldHint, maliciousHint, attribution, inputMetadata, returnMetadata, source, sensitivity},
		readTool: readSEP1913Tool, readResult: readSEP1913Result, readRequest: readSEP1913Request,
		writeTool: writeSEP1913Tool, writeResult: writeSEP1913Result, writeRequest: writeSEP1913Request,
	}
}

const idSEP1913 = "sep-1913"

// The members of SEP-1913.
const (
	maliciousHint  = "maliciousActivityHint"
	attribution    = "attribution"
	inputMetadata  = "inputMetadata"
	returnMetadata = "returnMetadata"
	destination    = "destination"
	sensitivity    = "sensitivity"
	outcomes       = "outcomes"
	source         = "source"
)

func readSEP1913Tool(in places, c *contract.Contract) { readSEP1913(in.annotations, c) }

func readSEP1913(in *object, c *contract.Contract) {
	c.Malicious = in.hint(maliciousHint)
	c.Attribution = readAttribution(in)
	input, noInput := in.container(inputMetadata)
	if input != nil && !isPascal(input) {
		input.shape(destination, sensitivity, outcomes)
		c.Destinations = possible(input, destination, contract.Destinations(), contract.Public)
		c.Accepts = acceptedClasses(input, sensitivity)
		c.Outcomes = possible(input, outcomes, contract.Outcomes(), contract.Irreversible)
	}
	output, noOutput := in.container(returnMetadata)
	if output != nil && !isPascal(output) {
		output.shape(source, sensitivity)
		c.Sources = possible(output, source, label.Sources(), label.UntrustedPublic)
		c.Returns = readClasses(output, sensitivity)
	}
	unreadable(c, noInput, noOutput)
}

// unreadable adds the worst to inputMetadata, or returnMetadata, if it is there and cannot be read.
func unreadable(c *contract.Contract, input, output bool) {
	if input {
		c.Destinations = both(c.Destinations, contract.Possible(contract.Public))
		c.Outcomes = both(c.Outcomes, contract.Possible(contract.Irreversible))
	}
	if output {
		c.Sources = both(c.Sources, contract.Possible(label.UntrustedPublic))
		c.Returns = both(c.Returns, contract.Possible(label.Unspecified))
	}
}

func readSEP1913Result(places places, c *reading) {
	in, stated := places.annotations, &c.Stated
	if in == nil {
		return
	}
	readSEP1913(in, stated)
	stated.OpenWorld = in.hint(openWorldHint)
	stated.Sources = both(stated.Sources, possible(in, source, label.Sources(), label.UntrustedPublic))
	stated.Returns = both(stated.Returns, readClasses(in, sensitivity))
	c.Label = label.Join(c.Label, label.Label{
		Untrusted:   stated.OpenWorld == contract.Yes,
		Malicious:   stated.Malicious == contract.Yes,
		Sensitivity: stated.Returns.Set(),
		Sources:     stated.Sources.Set(),
		Attribution: stated.Attribution,
	})
}

func readSEP1913Request(in places, l *label.Label) {
	*l = label.Join(*l, label.Label{
		Untrusted:   in.annotations.hint(openWorldHint) == contract.Yes,
		Attribution: readAttribution(in.annotations),
	})
}

// both returns the statement of two places, where either may be silent.
func both[T ~string](a, b contract.Values[T]) contract.Values[T] {
	x, okA := a.Known()
	y, okB := b.Known()
	switch {
	case !okA:
		return b
	case !okB:
		return a
	}
	return contract.Possible(x.Union(y).Slice()...)
}

// readAttribution returns the URIs of attribution. One that is too long, and those after the first maxElements, are
// defects and left out; one that is no string makes the whole unknown.
func readAttribution(in *object) label.Set[string] {
	value, ok := in.get(attribution)
	if !ok {
		return label.Set[string]{}
	}
	where := at(in.where, attribution)
	if rawjson.Kind(value) != '[' {
		in.found.add(where, isNot(value, "an array"))
		return label.Set[string]{}
	}
	var uris []string
	n := 0
	for raw := range rawjson.Elements(value) {
		it := item{raw, in, attribution, n}
		switch s, ok := rawjson.String(raw); {
		case !ok:
			in.found.add(it.where(), isNot(raw, "a string"))
			return label.Set[string]{}
		case n == maxElements:
			in.found.add(where, tooMany)
		case n > maxElements:
		case len(s) > maxAttribution:
			in.found.add(it.where(), fmt.Sprintf("is longer than %d bytes", maxAttribution))
		default:
			uris = append(uris, s)
		}
		n++
	}
	return label.SetOf(uris...)
}

func writeSEP1913Tool(tool *editor, c contract.Contract) {
	tool.in(annotations, func(out *editor) {
		var pascal contract.Contract
		readSEP2061Tool(places{annotations: out.read()}, &pascal)
		old, now := metadata(out.read()), c.Over(pascal)
		out.hint(maliciousHint, c.Malicious)
		out.union(attribution, c.Attribution)
		out.respell(inputMetadata, inputMembers(old), inputMembers(now), "Destination", "Sensitivity", "Outcomes")
		out.respell(returnMetadata, returnMembers(old), returnMembers(now), "Source", "Sensitivity")
	})
}

// metadata returns the meaning of an object of annotations in the spelling of SEP-1913.
func metadata(in *object) (c contract.Contract) {
	readSEP1913(in, &c)
	return c
}

func writeSEP1913Result(meta *editor, l label.Label) {
	meta.in(annotations, func(out *editor) {
		var old reading
		in := places{annotations: out.read()}
		readSEP1913Result(in, &old)
		readSEP2061Result(in, &old)
		all := label.Join(old.Label, l).Normal()
		out.raise(openWorldHint, all.Untrusted)
		out.raise(maliciousHint, all.Malicious)
		out.union(attribution, l.Attribution)

		// A label without sensitivity says nothing of it, so "none" is only repeated, never made up.
		var now contract.Contract
		if all.Sources.Len() > 0 {
			now.Sources = contract.Possible(all.Sources.Slice()...)
		}
		sensitivityText, wordless := []byte(nil), false
		if _, stated := old.Stated.Returns.Known(); stated || all.Sensitivity.Len() > 0 {
			sensitivityText, _ = classText(all.Sensitivity)
			wordless = sensitivityText == nil
		}
		writeReturned(out, returnMembers(metadata(out.read())), []text{
			{source, enumText(now.Sources, label.Sources()), true}, {sensitivity, sensitivityText, wordless},
		})
	})
}

// writeReturned writes source and sensitivity of a result: into returnMetadata if both are known, for its schema
// requires both, and else bare beside it. A statement that is there already is kept true.
func writeReturned(out *editor, old, now []text) {
	whole := now[0].value != nil && now[1].value != nil
	pascal := out.read().object2061(returnMetadata) != nil
	switch {
	case whole || (out.holds(returnMetadata, source) || out.holds(returnMetadata, sensitivity)) && !pascal && !now[1].mute():
		out.respell(returnMetadata, old, now, "Source", "Sensitivity")
	case out.has(returnMetadata):
		out.empty(returnMetadata, "Source", "Sensitivity", source, sensitivity)
	}
	for _, t := range now {
		value, there := rawjson.Get(out.raw, t.name)
		switch {
		case t.mute():
			out.drop(t.name)
		case t.value != nil && (there || !whole && !out.holds(returnMetadata, t.name)) && !bytes.Equal(value, t.value):
			out.set(t.name, t.value)
		}
	}
}

func writeSEP1913Request(meta *editor, l label.Label) {
	meta.in(annotations, func(out *editor) {
		out.raise(openWorldHint, l.Untrusted)
		out.union(attribution, l.Attribution)
	})
}

func inputMembers(c contract.Contract) []text {
	return []text{
		member(destination, c.Destinations, contract.Destinations()),
		classMember(sensitivity, c.Accepts),
		member(outcomes, c.Outcomes, contract.Outcomes()),
	}
}

func returnMembers(c contract.Contract) []text {
	return []text{
		member(source, c.Sources, label.Sources()),
		classMember(sensitivity, c.Returns),
	}
}

// member returns the member that holds values of an enumeration.
func member[T ~string](name string, v contract.Values[T], enum []T) text {
	_, known := v.Known()
	return text{name, enumText(v, enum), known}
}

// enumText returns the JSON text of values of an enumeration; nil if they are unknown, or if it has no words for them.
func enumText[T ~string](v contract.Values[T], enum []T) []byte {
	set, _ := v.Known()
	var texts [][]byte
	for value := range set.All() {
		if !slices.Contains(enum, value) {
			return nil
		}
		texts = append(texts, rawjson.Quote(string(value)))
	}
	return oneOrMore(texts)
}
