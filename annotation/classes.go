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
