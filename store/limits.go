package store

import "github.com/weir-mcp/weir/label"

// More stands in an attribution or among findings for those that [Limits] left out.
const More = "urn:weir:more"

// Limits bound a session's label. The zero Limits are the defaults; a member that is not positive means its default.
//
// A label that is joined beyond a limit keeps every name that it had, takes new ones in ascending order up to the
// limit, and gets a marker for the rest: [More], or for sensitivity the class that stands for the omitted ones. Only
// names are left out, never a part that policy decides by: the flags, the sources, the readers (which only ever shrink)
// and the six classes of package label are not limited. Which names are kept depends on the order of the joins; nothing
// else does.
type Limits struct {
	Attribution int // URIs; default 1024
	Findings    int // default 256
	Classes     int // sensitivity classes that are not constants of package label; default 64
}

const (
	defaultAttribution = 1024
	defaultFindings    = 256
	defaultClasses     = 64
)

// Join returns a joined with b within the limits. It covers a; it covers b but for names that a marker stands for;
// and joining b again changes nothing. It does not allocate when b adds nothing.
func (lim Limits) Join(a, b label.Label) label.Label {
	attribution := bound(a.Attribution, b.Attribution, orDefault(lim.Attribution, defaultAttribution), nameOrMore)
	findings := bound(a.Findings, b.Findings, orDefault(lim.Findings, defaultFindings), nameOrMore)
	classes := bound(a.Sensitivity, b.Sensitivity, orDefault(lim.Classes, defaultClasses), classOrRest)
	b.Attribution, b.Findings, b.Sensitivity = attribution, findings, classes
	return label.Join(a, b)
}

func orDefault(n, def int) int {
	if n > 0 {
		return n
	}
	return def
}

// bound returns the union of a and b, with up to limit names. The function rest tells for an item whether it is a name,
// which the limit counts, and which marker stands for it when it is left out.
func bound[T ~string](a, b label.Set[T], limit int, rest func(T) (marker T, name bool)) label.Set[T] {
	if a.Len()+b.Len() <= limit {
		return a.Union(b)
	}
	names := 0
	for x := range a.All() {
		if _, name := rest(x); name {
			names++
		}
	}
	var add []T
	for x := range b.All() {
		if a.Has(x) {
			continue
		}
		marker, name := rest(x)
		switch {
		case !name:
			add = append(add, x)
		case names < limit:
			names++
			add = append(add, x)
		case !a.Has(marker):
			add = append(add, marker)
		}
	}
	if add == nil {
		return a
	}
	return a.Union(label.SetOf(add...))
}

func nameOrMore(s string) (marker string, name bool) { return More, s != More }

func classOrRest(c label.Class) (marker label.Class, name bool) {
	switch c {
	case label.User, label.PII, label.Financial, label.Credentials, label.Regulated, label.Unspecified:
		return "", false
	}
	if _, ok := c.Scope(); ok {
		return label.Regulated, true
	}
	return label.Unspecified, true
}
