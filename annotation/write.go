package annotation

import (
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/label"
)

// WriteTool returns the Tool with the contract in its annotations, in all dialects that have words for it. Members that
// the contract does not know are left as they are. inputMetadata and returnMetadata, if the tool has none, are written
// only if all of their members are known, because all are required. The URIs of attribution are added to those there.
//
// A set of one value is written as that value, a larger one as an array, the empty set of sensitivity classes as
// "none". The error says that the tool is no JSON object.
func WriteTool(tool []byte, c contract.Contract) ([]byte, error) {
	return edit(tool, []string{annotations}, func(out *editor) {
		for _, d := range dialects() {
			if d.writeTool != nil {
				d.writeTool(out, c)
			}
		}
	})
}

// WriteResult returns the result with the label joined into its _meta.annotations. What the result claims already is
// never lowered: a hint that is true stays true, and sets only grow. Nothing is written of what the label does not
// assert; a label that asserts nothing new gives the result itself.
//
// SEP-1913 has openWorldHint for untrusted, maliciousActivityHint and attribution, and, if both are known,
// returnMetadata for sources and sensitivity. It has no words for readers and findings, nor for private beyond these.
// The error says that the result is no JSON object.
func WriteResult(result []byte, l label.Label) ([]byte, error) {
	l = l.Normal()
	return edit(result, []string{meta, annotations}, func(out *editor) {
		for _, d := range dialects() {
			if d.writeResult != nil {
				d.writeResult(out, l)
			}
		}
	})
}

// WriteRequest returns the params of a request with what the agent has seen in their _meta.annotations: openWorldHint
// and, if asked for, attribution, which names the sources to the server (SEP-1913, Privacy Considerations). What the
// client wrote there is never lowered. The error says that params is no JSON object.
func WriteRequest(params []byte, l label.Label, withAttribution bool) ([]byte, error) {
	l = l.Normal()
	if !withAttribution {
		l.Attribution = label.Set[string]{}
	}
	return edit(params, []string{meta, annotations}, func(out *editor) {
		for _, d := range dialects() {
			if d.writeRequest != nil {
				d.writeRequest(out, l)
			}
		}
	})
}
