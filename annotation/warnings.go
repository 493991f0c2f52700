package annotation

import (
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/rawjson"
)

// warnings are the members that warn, and the value by which each does. A member with any other value than its two
// booleans was meant to say something, so it counts as the warning: a server that writes "true" or 1 for true has
// warned. Of the members that promise, such as readOnlyHint, an absent one is the worst already. A null says nothing:
// it is how some serializers write a member that is absent.
var warnings = func() map[string]contract.Hint {
	all := map[string]contract.Hint{
		sensitive: contract.Yes, untrusted: contract.Yes, private: contract.Yes, malicious: contract.Yes,
	}
	for _, h := range hints {
		if !h.Promise {
			all[h.Name] = h.Risky
		}
	}
	return all
}()

// hint returns a member that should be a boolean. One that is something else is a defect, and counts as the warning
// that it may have been.
func (o *object) hint(name string) contract.Hint {
	value, ok := o.get(name)
	if !ok {
		return contract.Unknown
	}
	b, ok := rawjson.Bool(value)
	switch {
	case ok:
		return contract.HintOf(b)
	case rawjson.Kind(value) == 'n':
		o.found.add(at(o.where, name), isNot(value, "a boolean"))
		return contract.Unknown
	}
	o.found.add(at(o.where, name), isNot(value, "a boolean"))
	return warnings[name]
}

// container returns a member that should be an object, and whether it is there as something else: then it was meant to
// say something that nobody can read.
func (o *object) container(name string) (inner *object, unreadable bool) {
	value, ok := o.get(name)
	if !ok {
		return nil, false
	}
	inner = asObject(value, at(o.where, name), o.found)
	return inner, inner == nil && rawjson.Kind(value) != 'n'
}
