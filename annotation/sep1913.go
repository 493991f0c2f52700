package annotation

import (
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
		readTool: readSEP1913Tool, readResult: readSEP1913Result, readRequest: readSEP1913Request,
		writeTool: writeSEP1913Tool, writeResult: writeSEP1913Result, writeRequest: writeSEP1913Request,
	}
}

// The members of SEP-1913.
const (
	openWorldHint  = "openWorldHint"
	maliciousHint  = "maliciousActivityHint"
	attribution    = "attribution"
	inputMetadata  = "inputMetadata"
	returnMetadata = "returnMetadata"
	destination    = "destination"
	sensitivity    = "sensitivity"
	outcomes       = "outcomes"
	source         = "source"
	regulated      = "regulated"
	scopes         = "scopes"
)

// none is the DataClass of data that is not sensitive: in our terms the empty set.
const none label.Class = "none"

func destinationEnum() []contract.Destination {
	return []contract.Destination{contract.Ephemeral, contract.System, contract.User, contract.Internal, contract.Public}
}

func outcomeEnum() []contract.Outcome {
	return []contract.Outcome{contract.Benign, contract.Consequential, contract.Irreversible}
}

func sourceEnum() []label.Source {
	return []label.Source{label.UntrustedPublic, label.TrustedPublic, label.Internal, label.UserSource, label.System}
}

func classEnum() []label.Class {
	return []label.Class{none, label.User, label.PII, label.Financial, label.Credentials}
}

func readSEP1913Tool(in *object, c *contract.Contract) {
	c.Malicious = in.hint(maliciousHint)
	c.Attribution = readAttribution(in)
	if input := in.object(inputMetadata); input != nil {
		input.shape(destination, sensitivity, outcomes)
		c.Destinations = possible(input, destination, destinationEnum())
		c.Accepts = readClasses(input, sensitivity)
		c.Outcomes = possible(input, outcomes, outcomeEnum())
	}
	if output := in.object(returnMetadata); output != nil {
		output.shape(source, sensitivity)
		c.Sources = possible(output, source, sourceEnum())
		c.Returns = readClasses(output, sensitivity)
	}
}

func readSEP1913Result(in *object, c *Claim) {
	stated := &c.Stated
	readSEP1913Tool(in, stated)
	stated.OpenWorld = in.hint(openWorldHint)
	stated.Sources = both(stated.Sources, possible(in, source, sourceEnum()))
	stated.Returns = both(stated.Returns, readClasses(in, sensitivity))
	c.Label = label.Join(c.Label, label.Label{
		Untrusted:   stated.OpenWorld == contract.Yes,
		Malicious:   stated.Malicious == contract.Yes,
		Sensitivity: stated.Returns.Set(),
		Sources:     stated.Sources.Set(),
		Attribution: stated.Attribution,
	})
}

func readSEP1913Request(in *object, l *label.Label) {
	*l = label.Join(*l, label.Label{
		Untrusted:   in.hint(openWorldHint) == contract.Yes,
		Attribution: readAttribution(in),
	})
}

// both returns what is said in two places, where either may be silent.
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

// readClasses returns a member that should be a DataClass or an array of them.
func readClasses(o *object, name string) contract.Values[label.Class] {
	items, ok := o.items(name)
	if !ok {
		return contract.Values[label.Class]{}
	}
	var classes []label.Class
	for _, it := range items {
		more, ok := readClass(it, o.found)
		if !ok {
			return contract.Values[label.Class]{}
		}
		classes = append(classes, more...)
	}
	return contract.Possible(classes...)
}

// readClass returns the classes of a DataClass: one or, of "none" or of an object with several scopes, any number.
func readClass(it item, found *defects) (classes []label.Class, ok bool) {
	if rawjson.Kind(it.raw) == '{' {
		return readRegulated(asObject(it.raw, it.where(), found))
	}
	s, ok := rawjson.String(it.raw)
	class := label.Class(s)
	switch {
	case !ok:
		found.add(it.where(), isNot(it.raw, "a string or an object"))
		return nil, false
	case !slices.Contains(classEnum(), class):
		found.add(it.where(), isNotOneOf(s, classEnum()))
		return nil, false
	case class == none:
		return nil, true
	}
	return []label.Class{class}, true
}

// readRegulated reads {"regulated": {"scopes": [...]}}. Without a scope it is data under a regime that is not named.
func readRegulated(in *object) (classes []label.Class, ok bool) {
	in.shape(regulated)
	inner := in.object(regulated)
	if inner == nil {
		return nil, false
	}
	inner.shape(scopes)
	value, ok := inner.get(scopes)
	if !ok {
		return nil, false
	}
	if rawjson.Kind(value) != '[' {
		inner.found.add(at(inner.where, scopes), isNot(value, "an array"))
		return nil, false
	}
	n := 0
	for raw := range rawjson.Elements(value) {
		it := item{raw, inner, scopes, n}
		s, ok := rawjson.String(raw)
		switch {
		case !ok:
			in.found.add(it.where(), isNot(raw, "a string"))
			return nil, false
		case len(s) > maxScope:
			in.found.add(it.where(), fmt.Sprintf("is longer than %d bytes", maxScope))
			return nil, false
		case n == maxElements:
			in.found.add(at(inner.where, scopes), tooMany)
			return nil, false
		case s != "":
			classes = append(classes, label.RegulatedBy(s))
		}
		n++
	}
	if len(classes) == 0 {
		classes = append(classes, label.Regulated)
	}
	return classes, true
}

func writeSEP1913Tool(out *editor, c contract.Contract) {
	var old contract.Contract
	readSEP1913Tool(out.read(), &old)
	out.hint(maliciousHint, c.Malicious)
	out.union(attribution, c.Attribution)
	out.members(inputMetadata, inputMembers(old), inputMembers(c))
	out.members(returnMetadata, returnMembers(old), returnMembers(c))
}

func writeSEP1913Result(out *editor, l label.Label) {
	var old Claim
	readSEP1913Result(out.read(), &old)
	all := label.Join(old.Label, l).Normal()
	out.raise(openWorldHint, all.Untrusted)
	out.raise(maliciousHint, all.Malicious)
	out.union(attribution, l.Attribution)

	// A label without sensitivity says nothing of it, so "none" is only repeated, never made up.
	var now, before contract.Contract
	readSEP1913Tool(out.read(), &before)
	if all.Sources.Len() > 0 {
		now.Sources = contract.Possible(all.Sources.Slice()...)
	}
	if _, stated := old.Stated.Returns.Known(); stated || all.Sensitivity.Len() > 0 {
		now.Returns = contract.Possible(all.Sensitivity.Slice()...)
	}
	out.members(returnMetadata, returnMembers(before), returnMembers(now))
}

func writeSEP1913Request(out *editor, l label.Label) {
	out.raise(openWorldHint, l.Untrusted)
	out.union(attribution, l.Attribution)
}

func inputMembers(c contract.Contract) []text {
	return []text{
		{destination, enumText(c.Destinations, destinationEnum())},
		{sensitivity, classText(c.Accepts)},
		{outcomes, enumText(c.Outcomes, outcomeEnum())},
	}
}

func returnMembers(c contract.Contract) []text {
	return []text{
		{source, enumText(c.Sources, sourceEnum())},
		{sensitivity, classText(c.Returns)},
	}
}

// enumText returns the JSON text of values of an enumeration; nil if they are unknown, or not what it can express.
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

// classText returns the JSON text of sensitivity classes; nil if they are unknown. A class that SEP-1913 has no word
// for, and a scope beyond the limits of reading, is written as regulated by no named regime, so that nobody takes the
// data for harmless.
func classText(v contract.Values[label.Class]) []byte {
	set, known := v.Known()
	if !known {
		return nil
	}
	var texts, named [][]byte
	unnamed := false
	for class := range set.All() {
		scope, ok := class.Scope()
		switch {
		case ok && len(scope) <= maxScope && len(named) < maxElements:
			named = append(named, rawjson.Quote(scope))
		case slices.Contains(classEnum(), class) && class != none:
			texts = append(texts, rawjson.Quote(string(class)))
		case class != none:
			unnamed = true
		}
	}
	if len(named) > 0 {
		texts = append(texts, regulatedText(named))
	}
	if unnamed {
		texts = append(texts, regulatedText(nil))
	}
	if len(texts) == 0 {
		return rawjson.Quote(string(none))
	}
	return oneOrMore(texts)
}

func regulatedText(named [][]byte) []byte {
	return fmt.Appendf(nil, `{"%s":{"%s":%s}}`, regulated, scopes, array(named))
}
