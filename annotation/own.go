package annotation

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/label"
)

// own is Weir's own vocabulary: dev.weir/label in the _meta of results and dev.weir/contract in that of tools. It says
// what the vocabularies written beside it have no words for, and only that, so that a label or a contract that one Weir
// writes is the one that the next reads:
//
//	"dev.weir/label": {"private": true, "sensitivity": ["unspecified"], "readers": ["ann"], "findings": ["override"]}
//	"dev.weir/contract": {"privateHint": true, "outcomes": ["benign"], "sensitivity": ["pii"]}
//
// The members of a label are those of [label.Label] in JSON, but for attribution. The members of a contract are its
// hints by the names that the proposals give them, and as arrays destination, accepts, outcomes, source and
// sensitivity. Where a label stands, it explains a warning beside it that names no class. It counts as any other claim
// of its server.
func own() dialect {
	return dialect{
		id: idOwn, members: []string{ownLabel, OwnContract},
		readTool: readOwnTool, readResult: readOwnResult, writeTool: writeOwnTool, writeResult: writeOwnResult,
	}
}

// OwnContract is the member of a tool's _meta for the parts of a contract that no other vocabulary has words for.
const OwnContract = "dev.weir/contract"

const (
	idOwn     = "weir"
	ownLabel  = "dev.weir/label"
	accepts   = "accepts"
	readers   = "readers"
	findings  = "findings"
	sources   = "sources"
	malicious = "malicious"
)

// maxFinding is how many bytes of a finding are read.
const maxFinding = 256

// hints is the table of the hints of contracts.
var hints = contract.Hints()

func readOwnTool(in places, c *contract.Contract) {
	said, bad := in.meta.container(OwnContract)
	if unreadable(c, bad, bad); said == nil {
		return
	}
	var here contract.Contract
	for _, h := range hints {
		*h.Of(&here) = said.hint(h.Name)
	}
	here.Destinations = possible(said, destination, contract.Destinations(), contract.Public)
	here.Accepts = ownClasses(said, accepts)
	here.Outcomes = possible(said, outcomes, contract.Outcomes(), contract.Irreversible)
	here.Sources = possible(said, source, label.Sources(), label.UntrustedPublic)
	here.Returns = ownClasses(said, sensitivity)
	*c = c.Over(here).Raise(here)
}

// ownClasses returns a member that should be an array of classes. The empty one is none.
func ownClasses(o *object, name string) contract.Values[label.Class] {
	if value, ok := o.get(name); ok && slices.Equal(rawjson.Canonical(value), []byte("[]")) {
		return contract.Possible[label.Class]()
	}
	items, there := o.items(name)
	if !there {
		return contract.Values[label.Class]{}
	}
	classes := []label.Class{}
	for _, it := range items {
		s, ok := rawjson.String(it.raw)
		if class := label.Class(s); ok && isClass(class) {
			classes = append(classes, class)
			continue
		}
		o.found.add(it.where(), "is not a class")
		classes = append(classes, label.Unspecified)
	}
	if len(items) == 0 {
		classes = append(classes, label.Unspecified)
	}
	return contract.Possible(classes...)
}

// isClass reports whether a class is one that labels have.
func isClass(class label.Class) bool {
	scope, scoped := class.Scope()
	return scoped && len(scope) <= maxScope || class == label.Regulated || class == label.Unspecified ||
		class != none && slices.Contains(classEnum(), class)
}

func readOwnResult(in places, c *reading) {
	said, bad := in.meta.container(ownLabel)
	if bad {
		c.Label.Untrusted, c.unnamed = true, true
	}
	if said == nil {
		return
	}
	c.whole = true
	l := label.Label{
		Untrusted: said.hint(untrusted) == contract.Yes, Private: said.hint(private) == contract.Yes, Malicious: said.hint(malicious) == contract.Yes,
		Findings: ownFindings(said), Sensitivity: ownClasses(said, sensitivity).Set(),
		Sources: possible(said, sources, label.Sources(), label.UntrustedPublic).Set(),
	}
	if list, ok := said.get(readers); ok && rawjson.Kind(list) != 'n' {
		l.Readers = label.OnlyReaders()
		if rawjson.Kind(list) == '[' {
			l.Readers = readReaders(said, readers, list)
		}
	}
	c.Label = label.Join(c.Label, l)
}

// ownFindings returns the findings that can be read. They explain a label and are none themselves.
func ownFindings(o *object) label.Set[string] {
	items, _ := o.items(findings)
	var all []string
	for _, it := range items {
		s, ok := rawjson.String(it.raw)
		if !ok || len(s) > maxFinding {
			o.found.add(it.where(), "is not a finding")
			continue
		}
		all = append(all, s)
	}
	return label.SetOf(all...)
}

// writeOwnTool writes the contract: the parts of a tool's that the other dialects do not say.
func writeOwnTool(tool *editor, c contract.Contract) {
	var members []string
	add := func(name string, value []byte) {
		members = append(members, string(rawjson.Quote(name))+":"+string(value))
	}
	for _, h := range hints {
		if value := *h.Of(&c); value != contract.Unknown {
			add(h.Name, []byte(strconv.FormatBool(value == contract.Yes)))
		}
	}
	addSet(add, destination, c.Destinations, isIn(contract.Destinations()))
	addSet(add, accepts, c.Accepts, isClass)
	addSet(add, outcomes, c.Outcomes, isIn(contract.Outcomes()))
	addSet(add, source, c.Sources, isIn(label.Sources()))
	addSet(add, sensitivity, c.Returns, isClass)
	tool.in(meta, func(out *editor) { out.own(OwnContract, "{"+strings.Join(members, ",")+"}", len(members) == 0) })
}

// addSet adds a set of which every value can be read again, and of which a reader can tell that it is known.
func addSet[T ~string](add func(string, []byte), name string, v contract.Values[T], can func(T) bool) {
	set, known := v.Known()
	if !known || set.Len() == 0 && name != accepts && name != sensitivity {
		return
	}
	for value := range set.All() {
		if !can(value) {
			return
		}
	}
	if text, err := json.Marshal(set); err == nil {
		add(name, text)
	}
}

func isIn[T ~string](enum []T) func(T) bool {
	return func(x T) bool { return slices.Contains(enum, x) }
}

// only returns the values that can be read again.
func only[T ~string](set label.Set[T], can func(T) bool) label.Set[T] {
	return label.SetOf(slices.DeleteFunc(set.Slice(), func(x T) bool { return !can(x) })...)
}

// writeOwnResult writes the label: the parts of a result's that the other dialects do not say.
func writeOwnResult(meta *editor, l label.Label) {
	l.Sensitivity, l.Sources = only(l.Sensitivity, isClass), only(l.Sources, isIn(label.Sources()))
	text, err := json.Marshal(l)
	if err != nil {
		meta.err = err
		return
	}
	meta.own(ownLabel, string(text), l.IsZero())
}

// own writes a member of Weir's own vocabulary, or removes one that has nothing to say.
func (e *editor) own(name, value string, nothing bool) {
	old, there := rawjson.Get(e.raw, name)
	switch {
	case nothing && there:
		e.drop(name)
	case !nothing && string(old) != value:
		e.set(name, []byte(value))
	}
}
