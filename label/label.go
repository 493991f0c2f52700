// Package label is the lattice of trust and sensitivity that Weir tracks.
//
// A [Label] describes some data: whether other people could have written it, whether it is
// private, how sensitive it is, who may read it, where it came from. Labels form a join-semilattice: [Join]
// is commutative, associative and idempotent, and never lowers a component, so that replicas, retries and
// re-orderings cannot lose a taint. The zero Label claims nothing and is the bottom of the lattice.
//
// The components and their orders:
//
//	untrusted    false < true
//	private      false < true
//	malicious    false < true, with the findings that say why
//	sensitivity  subsets of the classes, by inclusion; none is the empty set
//	sources      subsets of SEP-1913's five sources, by inclusion
//	readers      everyone > any set of principals > nobody; join intersects
//	attribution  sets of URIs, by inclusion
//
// Sensitivity other than the class "user" makes data private; [Label.Normal] states that and Join preserves it.
//
// Everything here is an immutable value, safe for concurrent use. The package imports the standard library only.
package label

import (
	"fmt"
	"slices"
	"strings"
)

// A Class is a sensitivity class: SEP-1913's DataClass without "none", which is the empty set.
type Class string

// The classes of SEP-1913 (Schema Definitions, DataClass), and two of our own.
const (
	User        Class = "user"        // user-specific, but not sensitive
	PII         Class = "pii"         // personally identifiable
	Financial   Class = "financial"   // financial or transactional
	Credentials Class = "credentials" // secrets, keys, passwords
	Regulated   Class = "regulated"   // regulated, regime not named (SEP-2061)
	Unspecified Class = "unspecified" // sensitive, in a way that this vocabulary has no word for
)

// Classes returns the classes, of which [Regulated] stands for those of [RegulatedBy] too.
func Classes() []Class { return []Class{User, PII, Financial, Credentials, Regulated, Unspecified} }

// regulatedPrefix precedes the scope in the class of regulated data.
const regulatedPrefix = "regulated:"

// RegulatedBy returns the class of data under the named regime, such as "GDPR".
func RegulatedBy(scope string) Class { return Class(regulatedPrefix + scope) }

// Scope returns the regime of a class made by [RegulatedBy].
func (c Class) Scope() (scope string, ok bool) {
	if len(c) > len(regulatedPrefix) && c[:len(regulatedPrefix)] == regulatedPrefix {
		return string(c[len(regulatedPrefix):]), true
	}
	return "", false
}

// A Source is where data came from, as in SEP-1913's ReturnMetadata.source.
type Source string

// The five sources of SEP-1913.
const (
	UntrustedPublic Source = "untrustedPublic" // public but unverified
	TrustedPublic   Source = "trustedPublic"   // public and curated
	Internal        Source = "internal"        // internal systems or data sets
	UserSource      Source = "user"            // provided or owned by the user
	System          Source = "system"          // made by the platform itself
)

// Sources returns the sources, from outside to inside.
func Sources() []Source {
	return []Source{UntrustedPublic, TrustedPublic, Internal, UserSource, System}
}

// A Label describes some data. The zero Label claims nothing.
type Label struct {
	Untrusted   bool        `json:"untrusted,omitempty"`
	Private     bool        `json:"private,omitempty"`
	Malicious   bool        `json:"malicious,omitempty"`
	Findings    Set[string] `json:"findings,omitzero"` // why Malicious is set
	Sensitivity Set[Class]  `json:"sensitivity,omitzero"`
	Sources     Set[Source] `json:"sources,omitzero"`
	Readers     Readers     `json:"readers,omitzero"`
	Attribution Set[string] `json:"attribution,omitzero"` // URIs of the data's origins
}

// Join returns the least label that covers both a and b.
func Join(a, b Label) Label {
	return Label{
		Untrusted:   a.Untrusted || b.Untrusted,
		Private:     a.Private || b.Private,
		Malicious:   a.Malicious || b.Malicious,
		Findings:    a.Findings.Union(b.Findings),
		Sensitivity: a.Sensitivity.Union(b.Sensitivity),
		Sources:     a.Sources.Union(b.Sources),
		Readers:     a.Readers.Join(b.Readers),
		Attribution: a.Attribution.Union(b.Attribution),
	}
}

// Covers reports whether joining b into a would change nothing.
func (a Label) Covers(b Label) bool {
	return (a.Untrusted || !b.Untrusted) &&
		(a.Private || !b.Private) &&
		(a.Malicious || !b.Malicious) &&
		a.Findings.Contains(b.Findings) &&
		a.Sensitivity.Contains(b.Sensitivity) &&
		a.Sources.Contains(b.Sources) &&
		a.Readers.Covers(b.Readers) &&
		a.Attribution.Contains(b.Attribution)
}

// Equal reports whether both labels say the same.
func (a Label) Equal(b Label) bool { return a.Covers(b) && b.Covers(a) }

// IsZero reports whether the label claims nothing.
func (a Label) IsZero() bool { return Label{}.Covers(a) }

// Normal returns the label with the consequences of its components: the source untrustedPublic makes data
// untrusted; the sources internal and user, a limited circle of readers, and any class but "user" make it private.
// Every label that Weir builds from the outside goes through Normal; the join of normal labels is normal.
func (a Label) Normal() Label {
	a.Untrusted = a.Untrusted || a.Sources.Has(UntrustedPublic)
	a.Private = a.Private || a.Readers.limited || a.Sources.Has(Internal) || a.Sources.Has(UserSource) ||
		a.Sensitivity.Len() > 1 || (a.Sensitivity.Len() == 1 && !a.Sensitivity.Has(User))
	return a
}

// Taint returns the label without its attribution: the reasons why the data is dangerous or private, not its origins.
func (a Label) Taint() Label {
	a.Attribution = Set[string]{}
	return a
}

// Typed returns the label of a number, a truth value, a date or a choice that is read from the data: it is as private as
// the data, but too little to hold text of its author. Nor does the label hold any: it has no attribution and no findings, of
// classes and sources those that this package names, and data with a limited circle of readers has none.
func (a Label) Typed() Label {
	typed := Label{Private: a.Private, Malicious: a.Malicious}
	for _, s := range Sources() {
		if s != UntrustedPublic && a.Sources.Has(s) {
			typed.Sources = typed.Sources.Union(SetOf(s))
		}
	}
	for c := range a.Sensitivity.All() {
		typed.Sensitivity = typed.Sensitivity.Union(SetOf(c.plain()))
	}
	if a.Readers.limited {
		typed.Readers = OnlyReaders()
	}
	return typed.Normal()
}

// plain returns the class without text that others chose.
func (c Class) plain() Class {
	if _, scoped := c.Scope(); scoped {
		return Regulated
	}
	if !slices.Contains(Classes(), c) {
		return Unspecified
	}
	return c
}

// Without returns the part of a beyond b: joining it into b gives the join of a and b.
func (a Label) Without(b Label) Label {
	d := Label{
		Untrusted:   a.Untrusted && !b.Untrusted,
		Private:     a.Private && !b.Private,
		Malicious:   a.Malicious && !b.Malicious,
		Findings:    a.Findings.Without(b.Findings),
		Sensitivity: a.Sensitivity.Without(b.Sensitivity),
		Sources:     a.Sources.Without(b.Sources),
		Attribution: a.Attribution.Without(b.Attribution),
	}
	if !b.Readers.Covers(a.Readers) {
		d.Readers = a.Readers
	}
	return d
}

// String returns the label as one line, for logs and tests: equal labels give equal text, and different ones different
// text. Everything that a server may have chosen is quoted.
func (a Label) String() string {
	var parts []string
	for _, flag := range []struct {
		name string
		on   bool
	}{{"untrusted", a.Untrusted}, {"private", a.Private}, {"malicious", a.Malicious}} {
		if flag.on {
			parts = append(parts, flag.name)
		}
	}
	parts = appendSet(parts, "findings", a.Findings)
	parts = appendSet(parts, "sensitivity", a.Sensitivity)
	parts = appendSet(parts, "source", a.Sources)
	if names, limited := a.Readers.Limited(); limited {
		parts = append(parts, fmt.Sprintf("readers=%q", names.items))
	}
	parts = appendSet(parts, "attribution", a.Attribution)
	if parts == nil {
		return "nothing"
	}
	return strings.Join(parts, " ")
}

func appendSet[T ~string](parts []string, name string, s Set[T]) []string {
	if s.IsZero() {
		return parts
	}
	return append(parts, fmt.Sprintf("%s=%q", name, s.items))
}
