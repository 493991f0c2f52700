// Package annotation reads the trust and sensitivity annotations of MCP messages into contracts and labels, and
// splices them back in.
//
// Servers in the field speak several vocabularies. Each has a file here, a dialect, and all of them are read into one
// model: a [contract.Contract] of a tool, a [label.Label] of data. In the annotations of a tool and the
// _meta.annotations of results and requests:
//
//	mcp               the hints of MCP: title, readOnlyHint, destructiveHint, idempotentHint, openWorldHint
//	sep-1913          Trust and Sensitivity Annotations: maliciousActivityHint, attribution, inputMetadata, returnMetadata;
//	                  of results openWorldHint, maliciousActivityHint, attribution; of requests openWorldHint, attribution
//	sep-1913-2025-11  its first draft: privateHint, sensitiveHint
//	sep-2061          inputMetadata and returnMetadata in PascalCase
//	sep-1487          trustedHint
//	sep-1560          secretHint
//	sep-1561          unsafeOutputHint
//	sep-1984          aiProcessingHint, slowExecutionHint, resourceIntensiveHint, sensitiveDataHint,
//	                  privilegedAccessHint, reversibleHint
//
// In the _meta of tools, results, content blocks and requests:
//
//	trust-annotations  io.modelcontextprotocol/trust-annotations of results and content blocks, with evidence
//	action-metadata    io.modelcontextprotocol/action-metadata of tools
//	ifc                ifc of results, as GitHub's server writes it
//	ifc-readers        com.github.ifc/labels of results and requests, as the FIDES gateway writes it
//	organization       members such as com.example/label, whose words an operator maps to classes: see [NewReader]
//
// All are read, and a [Writer] says which are written. Members that are carried only, such as the requires of SEP-1385,
// [Notes] lists.
//
// For example, this tool (SEP-1913, Action Metadata Examples) sends its input to the public, accepts personal and user
// data, and cannot be undone; of the classic hints it says nothing:
//
//	{"name": "send_email", "annotations": {
//	  "inputMetadata": {"destination": "public", "sensitivity": ["pii", "user"], "outcomes": "irreversible"},
//	  "returnMetadata": {"source": "system", "sensitivity": "none"}}}
//
// Reading is lenient on unknown members and strict on known ones. Unknown members are left alone. A known member
// with a value that its schema does not allow is a [Defect] of who wrote it, and counts as absent: unknown, never safe.
//
// Writing splices into the raw document: it touches the members that it means to change, and every other byte, unknown
// members at every depth included, stays as it is. A label that is written to a result or a request only raises.
//
// The documents are parts of JSON-RPC messages that were checked as a whole when they came in: see [Check]. Nothing
// here panics on other documents, and work and memory are bounded by the size of the document; the part that gets into
// the result is bounded by constants. There is no state: everything is safe for concurrent use.
package annotation

import (
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/label"
)

// Check reports whether every parser reads the document alike: exactly one JSON value, in valid UTF-8, without
// duplicate member names, nested not too deep. Documents that did not come through Weir's own transports, which do
// this, should pass it before anything is decided by their annotations. The error says where it fails.
func Check(document []byte) error { return rawjson.Check(document) }

// ReadTool returns the declaration of a tool: document is a Tool of a tools/list result.
func ReadTool(tool []byte) (contract.Contract, []Defect) { return Reader{}.ReadTool(tool) }

// ReadResolved returns the contract of a tool resolved for the arguments of one call: document is the result of
// tools/resolve, either {tool: {name, annotations}} as SEP-1913 quotes it (Integration with Tool Resolution) or {name,
// annotations} as the extension io.modelcontextprotocol/tool-resolution has it. A result in both forms is a defect and
// says as much as both together.
func ReadResolved(result []byte) (contract.Contract, []Defect) { return Reader{}.ReadResolved(result) }

// ReadResult returns what a server claims of a result, for the whole response (SEP-1913, Response Annotations Scope).
// What a content block claims of itself is joined in.
func ReadResult(result []byte) (Claim, []Defect) { return Reader{}.ReadResult(result) }

// ReadRequest returns a client's statement about the data that the agent saw before a request (SEP-1913, Tool Call
// Request Extension): document is the request's params.
func ReadRequest(params []byte) (label.Label, []Defect) { return Reader{}.ReadRequest(params) }
