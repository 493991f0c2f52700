package kit

import (
	"slices"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/conformance"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/label"
)

// Own answers a line as Weir reads and writes. A line with words that Weir does not know is unsupported.
func Own(l Line) Answer {
	a, ok := Answer{ID: l.ID}, true
	switch l.Task {
	case taskRead:
		ok = a.read(l)
	case taskWrite:
		ok = a.write(l)
	case taskDigest:
		digest, err := annotation.Digest(l.Canonicalization, []byte(l.Text))
		if err != nil {
			digest = ""
		}
		a.Digest = &digest
	case taskMessage:
		_, err := rpc.Parse([]byte(l.Text))
		valid := err == nil
		a.Valid = &valid
	default:
		ok = false
	}
	if !ok {
		return Answer{ID: l.ID, Unsupported: true}
	}
	return a
}

func (a *Answer) read(l Line) bool {
	if annotation.Check(l.Document) != nil {
		return false
	}
	var found []annotation.Defect
	r := readerOf(l)
	switch l.Place {
	case "tool":
		var c contract.Contract
		c, found = r.ReadTool(l.Document)
		a.Contract = said(c)
	case "resolved":
		var c contract.Contract
		c, found = r.ReadResolved(l.Document)
		a.Contract = said(c)
	case "result":
		var claim annotation.Claim
		claim, found = r.ReadResult(l.Document)
		a.Label, a.Stated = labelled(claim.Label), said(claim.Stated)
		for _, e := range claim.Evidence {
			a.Evidence = append(a.Evidence, conformance.Evidence(e))
		}
	case "request":
		var seen label.Label
		seen, found = r.ReadRequest(l.Document)
		a.Label = labelled(seen)
	default:
		return false
	}
	paths := make([]string, len(found))
	for i, d := range found {
		paths[i] = d.Where
	}
	slices.Sort(paths)
	a.Defects = &paths
	return true
}

func (a *Answer) write(l Line) bool {
	w, err := annotation.NewWriter(l.Dialect)
	if err != nil || annotation.Check(l.Document) != nil {
		return false
	}
	var out []byte
	switch l.Place {
	case "tool":
		c, ok := contractOf(l.Contract)
		if !ok {
			return false
		}
		out, err = w.WriteTool(l.Document, c)
	case "result":
		out, err = w.WriteResult(l.Document, labelOf(l.Label))
	case "request":
		out, err = w.WriteRequest(l.Document, labelOf(l.Label), true)
	default:
		return false
	}
	a.Document = out
	return err == nil
}

func readerOf(l Line) annotation.Reader {
	meanings := annotation.Meanings{}
	for name, values := range l.Meanings {
		meanings[name] = map[string][]label.Class{}
		for value, classes := range values {
			meanings[name][value] = as[label.Class](classes)
		}
	}
	return annotation.NewReader(meanings)
}

// hints are the hints of a contract by their names in the vectors.
func hints(c *contract.Contract) map[string]*contract.Hint {
	return map[string]*contract.Hint{
		"readOnlyHint": &c.ReadOnly, "destructiveHint": &c.Destructive, "idempotentHint": &c.Idempotent, "openWorldHint": &c.OpenWorld,
		"maliciousActivityHint": &c.Malicious, "requiresReview": &c.RequiresReview, "trustedHint": &c.Trusted,
		"unsafeOutputHint": &c.Output.Unsafe, "secretHint": &c.Output.Secret, "privateHint": &c.Output.Private,
		"sensitiveDataHint": &c.Output.Sensitive, "aiProcessingHint": &c.Operation.AIProcessing, "slowExecutionHint": &c.Operation.Slow,
		"resourceIntensiveHint": &c.Operation.Costly, "privilegedAccessHint": &c.Operation.Privileged, "reversibleHint": &c.Operation.Reversible,
	}
}

// said returns the members that a contract declares.
func said(c contract.Contract) conformance.Contract {
	out := conformance.Contract{}
	for name, hint := range hints(&c) {
		if *hint != contract.Unknown {
			out[name] = *hint == contract.Yes
		}
	}
	known(out, "inputMetadata.destination", c.Destinations)
	known(out, "inputMetadata.sensitivity", c.Accepts)
	known(out, "inputMetadata.outcomes", c.Outcomes)
	known(out, "returnMetadata.source", c.Sources)
	known(out, "returnMetadata.sensitivity", c.Returns)
	if !c.Attribution.IsZero() {
		out["attribution"] = wordsOf(c.Attribution)
	}
	return out
}

func known[T ~string](out conformance.Contract, name string, v contract.Values[T]) {
	if set, ok := v.Known(); ok {
		out[name] = wordsOf(set)
	}
}

// wordsOf returns a set in the form in which a vector has it.
func wordsOf[T ~string](set label.Set[T]) []any {
	words := []any{}
	for word := range set.All() {
		words = append(words, string(word))
	}
	return words
}

// contractOf returns the contract of a vector, and false for one with members that Weir does not know.
func contractOf(v conformance.Contract) (c contract.Contract, ok bool) {
	hints := hints(&c)
	for name, value := range v {
		if b, ok := value.(bool); ok && hints[name] != nil {
			*hints[name] = contract.HintOf(b)
			continue
		}
		list, ok := value.([]any)
		if !ok {
			return c, false
		}
		words := make([]string, len(list))
		for i, word := range list {
			if words[i], ok = word.(string); !ok {
				return c, false
			}
		}
		switch name {
		case "attribution":
			c.Attribution = label.SetOf(words...)
		case "inputMetadata.destination":
			c.Destinations = contract.Possible(as[contract.Destination](words)...)
		case "inputMetadata.sensitivity":
			c.Accepts = contract.Possible(as[label.Class](words)...)
		case "inputMetadata.outcomes":
			c.Outcomes = contract.Possible(as[contract.Outcome](words)...)
		case "returnMetadata.source":
			c.Sources = contract.Possible(as[label.Source](words)...)
		case "returnMetadata.sensitivity":
			c.Returns = contract.Possible(as[label.Class](words)...)
		default:
			return c, false
		}
	}
	return c, true
}

func as[T ~string](words []string) []T {
	out := make([]T, len(words))
	for i, word := range words {
		out[i] = T(word)
	}
	return out
}

// labelOf returns the label of a vector.
func labelOf(v *conformance.Label) label.Label {
	if v == nil {
		return label.Label{}
	}
	l := label.Label{
		Untrusted: v.Untrusted, Private: v.Private, Malicious: v.Malicious, Attribution: label.SetOf(v.Attribution...),
		Sensitivity: label.SetOf(as[label.Class](v.Sensitivity)...), Sources: label.SetOf(as[label.Source](v.Sources)...),
	}
	if v.Readers != nil {
		l.Readers = label.OnlyReaders(*v.Readers...)
	}
	return l
}

// labelled is the reverse of labelOf.
func labelled(l label.Label) *conformance.Label {
	v := &conformance.Label{
		Untrusted: l.Untrusted, Private: l.Private, Malicious: l.Malicious, Attribution: l.Attribution.Slice(),
	}
	for class := range l.Sensitivity.All() {
		v.Sensitivity = append(v.Sensitivity, string(class))
	}
	for source := range l.Sources.All() {
		v.Sources = append(v.Sources, string(source))
	}
	if who, limited := l.Readers.Limited(); limited {
		readers := append([]string{}, who.Slice()...)
		v.Readers = &readers
	}
	return v
}
