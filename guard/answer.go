package guard

import (
	"encoding/json"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/label"
)

// An Answer is the response of a server: a result or a JSON-RPC error object, both as raw JSON without duplicate names.
type Answer struct {
	Result json.RawMessage
	Error  json.RawMessage

	// Outline is what [annotation.Outline] returns of Result, where the caller has it without a scan; nil: it is made.
	Outline json.RawMessage

	// Own says that nobody else looks at Result any more once After has allowed it, nor at the memory behind its end up to
	// its capacity, and that nobody changes Result, Error, or the Answer of the Outcome. Then the label can be written
	// there, a large result need not be copied, and its digest is made when the event is, after the answer.
	Own bool
}

// Raw returns the one that is set.
func (a Answer) Raw() json.RawMessage {
	if a.Error != nil {
		return a.Error
	}
	return a.Result
}

// label joins the contract's label of the tool's answers with the answer's own. A trusted server's statement about one
// result narrows its declaration for all of them; that of any other server only adds. The result's _meta is in outline.
// The claim is the answer's own statement.
func (a Answer) label(r *request, reader annotation.Reader, outline json.RawMessage) (
	l label.Label, claim annotation.Claim, defects []annotation.Defect,
) {
	// A result that its server refused keeps its label in the data of the error.
	if data, ok := rawjson.Get(a.Error, "data"); ok && rawjson.Kind(data) == '{' {
		claim, defects = reader.ReadResult(annotation.Outline(data))
		claim.Stated = contract.Contract{}
	}
	if a.Error == nil {
		claim, defects = reader.ReadResult(outline)
	}
	from := r.Effective
	if r.Trust == contract.Trusted && r.Violates == "" {
		from = narrowed(r, claim.Stated)
	}
	l = label.Join(label.Join(from.Label(), claim.Label), ruled(r, a.Result)).Normal()
	l.Attribution = l.Attribution.Union(label.SetOf(r.uri))
	return l, claim, defects
}

// ruled returns the label that the operator's rules for results give one. They cannot read a question of the server, so
// there they count as matched.
func ruled(r *request, result json.RawMessage) label.Label {
	if r.within != nil {
		return r.within.Overlay.Label(nil)
	}
	return r.Overlay.Label(result)
}

// narrowed replaces the possible sets of a trusted server's contract by its statement about this one result, as far as
// that stays inside its declaration and the operator does not speak of them.
func narrowed(r *request, said contract.Contract) contract.Contract {
	from := r.Effective
	operator := r.Overlay.Static()
	if _, ok := operator.Sources.Known(); ok {
		said.Sources, said.OpenWorld = contract.Values[label.Source]{}, contract.Unknown
	}
	if _, ok := operator.Returns.Known(); ok {
		said.Returns = contract.Values[label.Class]{}
	}
	if _, ok := said.Sources.Known(); ok && said.Sources.Within(r.Declared.Sources) {
		from.Sources = said.Sources
	} else if _, declared := r.Declared.Sources.Known(); !declared && said.OpenWorld == contract.No {
		from.Sources = contract.Values[label.Source]{}
	}
	if _, ok := said.Returns.Known(); ok && said.Returns.Within(r.Declared.Returns) {
		from.Returns = said.Returns
	}
	return from
}

func isToolError(result json.RawMessage) bool {
	v, ok := rawjson.Get(result, "isError")
	if !ok {
		return false
	}
	isError, _ := rawjson.Bool(v)
	return isError
}
