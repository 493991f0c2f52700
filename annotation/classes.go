package annotation

import (
	"fmt"
	"slices"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/label"
)

// The members of a DataClass of SEP-1913.
const (
	regulated = "regulated"
	scopes    = "scopes"
)

// none is the DataClass of data that is not sensitive: in our terms the empty set.
const none label.Class = "none"

func classEnum() []label.Class {
	return []label.Class{none, label.User, label.PII, label.Financial, label.Credentials}
}

// acceptedClasses does the work of readClasses for the sensitivity of inputs: one that cannot be read makes the whole
// unknown, for which class would be the worst to accept depends on who asks.
func acceptedClasses(o *object, name string) contract.Values[label.Class] {
	if v := readClasses(o, name); !v.Has(label.Unspecified) {
		return v
	}
	return contract.Values[label.Class]{}
}

// readClasses returns a member that should be a DataClass or an array of them. A class that cannot be read is sensitive
// in an unspecified way.
func readClasses(o *object, name string) contract.Values[label.Class] {
	items, there := o.items(name)
	if !there {
		return contract.Values[label.Class]{}
	}
	var classes []label.Class
	bad := len(items) == 0
	for _, it := range items {
		more, ok := readClass(it, o.found)
		classes = append(classes, more...)
		bad = bad || !ok
	}
	if bad {
		classes = append(classes, label.Unspecified)
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

// classText returns the JSON text of the sensitivity classes that SEP-1913 has words for, and whether it has words for
// all. A scope beyond the limits of reading is written as regulated by no named regime.
func classText(set label.Set[label.Class]) (text []byte, all bool) {
	var texts, named [][]byte
	unnamed := false
	all = true
	for class := range set.All() {
		scope, ok := class.Scope()
		switch {
		case ok && len(scope) <= maxScope && len(named) < maxElements:
			named = append(named, rawjson.Quote(scope))
		case slices.Contains(classEnum(), class) && class != none:
			texts = append(texts, rawjson.Quote(string(class)))
		case ok || class == label.Regulated:
			unnamed = true
		case class != none:
			all = false
		}
	}
	if len(named) > 0 {
		texts = append(texts, regulatedText(named))
	}
	if unnamed {
		texts = append(texts, regulatedText(nil))
	}
	if len(texts) == 0 && all {
		return rawjson.Quote(string(none)), true
	}
	return oneOrMore(texts), all
}

// classMember returns the member that holds sensitivity classes. Part of a set of possible classes would promise more
// than the set, so it is written with all of them or not at all.
func classMember(name string, v contract.Values[label.Class]) text {
	set, known := v.Known()
	if !known {
		return text{name: name}
	}
	value, all := classText(set)
	if !all {
		value = nil
	}
	return text{name, value, true}
}

func regulatedText(named [][]byte) []byte {
	return fmt.Appendf(nil, `{"%s":{"%s":%s}}`, regulated, scopes, array(named))
}
