package annotation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/label"
)

// A Writer writes some dialects. The zero Writer writes those of [Lossless] with all that helps hosts: the classic
// hints, SEP-1913, the single hints of the proposals beside it and trust-annotations.
type Writer struct {
	chosen bool
	ids    []string
}

// lossless are the dialects of the zero Writer. With the last, nothing of a label or a contract is lost.
var lossless = []string{idMCP, idSEP1913, "sep-1487", "sep-1560", "sep-1561", "sep-1984", idTrust, idOwn}

// Lossless returns the ids with what is needed so that nothing is lost on the way to the next reader, whatever the
// others have words for; of none at all, none.
func Lossless(ids ...string) []string {
	if len(ids) == 0 || slices.Contains(ids, idOwn) {
		return ids
	}
	return append(slices.Clone(ids), idOwn)
}

// Words are what one party between hosts and servers reads and writes. The zero Words reads every dialect and writes as
// the zero [Writer] does.
type Words struct {
	Reader    Reader
	ToHosts   Writer  // tools and results
	ToServers Writer  // requests
	Records   Records // of evidence in results; nil: references are kept and have no effect
}

// Dialects returns the ids of the dialects that can be written.
func Dialects() []string {
	var ids []string
	for _, d := range known {
		if d.writeTool != nil || d.writeResult != nil || d.writeRequest != nil {
			ids = append(ids, d.id)
		}
	}
	return ids
}

// NewWriter returns a Writer of the dialects with the given ids; of none at all, one that writes nothing. The error
// says which is unknown, or which two write the same members in different ways.
func NewWriter(ids ...string) (Writer, error) {
	for _, id := range ids {
		if !slices.Contains(Dialects(), id) {
			return Writer{}, fmt.Errorf("unknown dialect %q: use %s", id, strings.Join(Dialects(), ", "))
		}
	}
	if slices.Contains(ids, idSEP1913) && slices.Contains(ids, idSEP2061) {
		return Writer{}, fmt.Errorf("%s and %s write the same members with different names: choose one", idSEP1913, idSEP2061)
	}
	return Writer{chosen: true, ids: slices.Clone(ids)}, nil
}

// writes reports whether the dialect is written.
func (w Writer) writes(id string) bool {
	if !w.chosen {
		return slices.Contains(lossless, id)
	}
	return slices.Contains(w.ids, id)
}

// WriteTool is [Writer.WriteTool] of the zero Writer.
func WriteTool(tool []byte, c contract.Contract) ([]byte, error) { return Writer{}.WriteTool(tool, c) }

// WriteResult is [Writer.WriteResult] of the zero Writer.
func WriteResult(result []byte, l label.Label) ([]byte, error) {
	return Writer{}.WriteResult(result, l)
}

// WriteRequest is [Writer.WriteRequest] of the zero Writer.
func WriteRequest(params []byte, l label.Label, withAttribution bool) ([]byte, error) {
	return Writer{}.WriteRequest(params, l, withAttribution)
}

// WriteTool returns the Tool with the contract in its annotations, in the Writer's dialects as far as they have words
// for it, and in those that the tool speaks already: what stands there stays true. Members that the contract does not
// know are left as they are. inputMetadata and returnMetadata are written only if all of their members are known and
// have words, because all are required. The URIs of attribution are added to those there.
//
// A set of one value is written as that value, a larger one as an array, the empty set of sensitivity classes as
// "none". The error says that the tool is no JSON object.
//
// Of the zero Writer, [ReadTool] reads exactly the contract, if its sets have values that the vocabularies have.
func (w Writer) WriteTool(tool []byte, c contract.Contract) ([]byte, error) {
	return edit(tool, func(out *editor) {
		all := c.Over(Reader{}.contract(out.read()))
		for _, d := range known {
			switch {
			case d.writeTool == nil || !w.writes(d.id) && !w.speaks(d, out):
			case d.id == idOwn:
				d.writeTool(out, all.Beyond(besides(out)))
			default:
				d.writeTool(out, c)
			}
		}
	})
}

// besides returns what a tool says in all dialects but Weir's own.
func besides(tool *editor) (c contract.Contract) {
	in := Reader{}.tool(tool.read())
	for _, d := range known {
		if d.readTool != nil && d.id != idOwn {
			d.readTool(in, &c)
		}
	}
	return c
}

// speaks reports whether a tool says something in a dialect, which a Writer of any dialect at all keeps true.
func (w Writer) speaks(d dialect, tool *editor) bool {
	if len(w.ids) == 0 && w.chosen {
		return false
	}
	var said contract.Contract
	d.readTool(Reader{}.tool(tool.read()), &said)
	said.Malicious, said.Attribution = contract.Unknown, label.Set[string]{} // which are of two dialects
	return !said.Equal(contract.Contract{})
}

// WriteResult returns the result with the label joined into its _meta. What the result claims there already, in any
// dialect, is never lowered: a hint that is true stays true, and sets only grow. Nothing is written of what the label
// does not assert; a label that asserts nothing new gives the result itself.
//
// SEP-1913 has openWorldHint for untrusted, maliciousActivityHint and attribution, and for sources and sensitivity
// returnMetadata, or if only one of them is known, the bare member that its readers know too. Weir's own dialect has
// words for the rest. Of the zero Writer, [ReadResult] reads exactly the join of the label and the claim, within the
// limits of reading. The error says that the result is no JSON object.
func (w Writer) WriteResult(result []byte, l label.Label) ([]byte, error) {
	l = l.Normal()
	return edit(result, func(out *editor) {
		all := l
		if len(out.raw) > len("{}") {
			var before reading
			before.read(Reader{}.meta(out.read()))
			before.settle()
			all = label.Join(l, before.Label).Normal()
		}
		for _, d := range known {
			switch {
			case d.writeResult == nil || !w.writes(d.id):
			case d.id == idOwn:
				d.writeResult(out, w.wordless(out, all))
			default:
				d.writeResult(out, all)
			}
		}
	}, meta)
}

// WriteEvidence returns the result with a reference to the record that says why it is labelled so, in the words of
// trust-annotations. A result that refers to a record already keeps that one alone: the reader may know it, and would
// miss it. The error says that the result is no JSON object, or that the reference has no valid form.
func (w Writer) WriteEvidence(result []byte, e Evidence) ([]byte, error) {
	raw, err := e.encode()
	if err != nil || !w.writes(idTrust) {
		return result, err
	}
	return edit(result, func(out *editor) {
		out.in(trustKey, func(out *editor) {
			if _, there := rawjson.Get(out.raw, evidenceRef); !there {
				out.set(evidenceRef, raw)
			}
		})
	}, meta)
}

// wordless returns what of a label a result does not say in the other dialects, or what explains that they say too
// much.
func (w Writer) wordless(meta *editor, l label.Label) label.Label {
	_, limited := l.Readers.Limited()
	named := l.Sensitivity.Without(label.SetOf(label.User)).Len() > 0
	if !limited && l.Findings.Len() == 0 && !l.Sensitivity.Has(label.Unspecified) && (named || !l.Private) && w.writes(idSEP1913) {
		return label.Label{} // SEP-1913 has words for all of it, without a look
	}
	var others reading
	in := Reader{}.meta(meta.read())
	for _, d := range known {
		if d.readResult != nil && d.id != idOwn {
			d.readResult(in, &others)
		}
	}
	l = l.Taint()
	alone := others
	alone.settle()
	if alone.Label.Normal().Taint().Equal(l) {
		return label.Label{}
	}
	others.whole = true
	others.settle()
	rest := l.Without(others.Label.Normal())
	if rest.IsZero() {
		rest.Private = true // explains a warning that names nothing
	}
	return rest
}

// WriteRequest returns the params of a request with what the agent has seen in their _meta: of SEP-1913 openWorldHint
// and, if asked for, attribution, which names the sources to the server (SEP-1913, Privacy Considerations): at most 4
// KiB and 64 URIs of it, summarized by origin where there are more. What the client wrote there is never lowered. The
// error says that params is no JSON object.
func (w Writer) WriteRequest(params []byte, l label.Label, withAttribution bool) ([]byte, error) {
	l = l.Normal()
	if l.Attribution = brief(l.Attribution); !withAttribution {
		l.Attribution = label.Set[string]{}
	}
	return edit(params, func(out *editor) {
		l.Untrusted = l.Untrusted || Reader{}.meta(out.read()).unreadable
		for _, d := range known {
			if d.writeRequest != nil && w.writes(d.id) {
				d.writeRequest(out, l)
			}
		}
	}, meta)
}
