package annotation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/label"
)

// A Writer writes some dialects. The zero Writer writes mcp and sep-1913, and so helps hosts that know the classic hints
// only and those that know more.
type Writer struct {
	chosen bool
	ids    []string
}

// Words are what one party between hosts and servers reads and writes. The zero Words reads every dialect and writes as the
// zero [Writer] does.
type Words struct {
	Reader    Reader
	ToHosts   Writer // tools and results
	ToServers Writer // requests
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

// NewWriter returns a Writer of the dialects with the given ids; of none at all, one that writes nothing. The error says
// which is unknown, or which two write the same members in different ways.
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
		return id == idMCP || id == idSEP1913
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

// WriteTool returns the Tool with the contract in its annotations, in the Writer's dialects as far as they have words for
// it. Members that the contract does not know are left as they are. inputMetadata and returnMetadata, if the tool has
// none, are written only if all of their members are known, because all are required. The URIs of attribution are added to
// those there.
//
// A set of one value is written as that value, a larger one as an array, the empty set of sensitivity classes as
// "none". The error says that the tool is no JSON object.
func (w Writer) WriteTool(tool []byte, c contract.Contract) ([]byte, error) {
	return edit(tool, func(out *editor) {
		for _, d := range known {
			if d.writeTool != nil && w.writes(d.id) {
				d.writeTool(out, c)
			}
		}
	})
}

// WriteResult returns the result with the label joined into its _meta. What the result claims already is never lowered: a
// hint that is true stays true, and sets only grow. Nothing is written of what the label does not assert; a label that
// asserts nothing new gives the result itself.
//
// SEP-1913 has openWorldHint for untrusted, maliciousActivityHint and attribution, and, if both are known,
// returnMetadata for sources and sensitivity. It has no words for readers and findings, nor for private beyond these.
// The error says that the result is no JSON object.
func (w Writer) WriteResult(result []byte, l label.Label) ([]byte, error) {
	l = l.Normal()
	return edit(result, func(out *editor) {
		for _, d := range known {
			if d.writeResult != nil && w.writes(d.id) {
				d.writeResult(out, l)
			}
		}
	}, meta)
}

// WriteRequest returns the params of a request with what the agent has seen in their _meta: of SEP-1913 openWorldHint
// and, if asked for, attribution, which names the sources to the server (SEP-1913, Privacy Considerations). What the
// client wrote there is never lowered. The error says that params is no JSON object.
func (w Writer) WriteRequest(params []byte, l label.Label, withAttribution bool) ([]byte, error) {
	l = l.Normal()
	if !withAttribution {
		l.Attribution = label.Set[string]{}
	}
	return edit(params, func(out *editor) {
		for _, d := range known {
			if d.writeRequest != nil && w.writes(d.id) {
				d.writeRequest(out, l)
			}
		}
	}, meta)
}
