package record

import "github.com/weir-mcp/weir/label"

// Bounds of the findings of one event.
const (
	MaxFindings = 16
	MaxPath     = 256 // bytes of one Path
)

// Detection is the outcome of searching an answer, or before there is one the params of a call in their canonical form,
// for sensitive values and for text that speaks to the agent. It holds none of these.
type Detection struct {
	Findings   []Finding `json:"findings,omitempty"`   // the most certain ones, MaxFindings at most
	Incomplete string    `json:"incomplete,omitempty"` // why a part of the text was not searched; empty if all of it was
	Reached    string    `json:"reached,omitempty"`    // stands for how the server is reached; empty: without exceptions
	Changed    bool      `json:"changed,omitempty"`    // whether hosts get another answer, or the server other arguments, by the effects of findings
}

// A Finding is a sensitive value, or text that speaks to the agent, by its place. The path is made of names that the
// server or the agent chose.
type Finding struct {
	Kind       string      `json:"kind"`             // the rule, such as "github-token"
	Class      label.Class `json:"class,omitempty"`  // of a value
	Level      string      `json:"level,omitempty"`  // of text that speaks to the agent: "untrusted" or "malicious"
	Confidence string      `json:"confidence"`       // "high" or "medium"
	Offset     int         `json:"offset"`           // of the first byte, in the answer as its server sent it, or in the params as the agent wrote them
	Size       int         `json:"size"`             // in bytes
	Path       string      `json:"path,omitempty"`   // of the member, as a JSON Pointer; empty if it is longer than MaxPath
	Digest     string      `json:"digest,omitempty"` // of the value, with the salt of the event's Content; empty for numbers, which could be guessed

	// Raw is the digest of the bytes of the value as they stand in the text, unless it is Digest; of text that speaks
	// to the agent, of its place in its members and of these with the text beside them. It is empty for numbers.
	Raw string `json:"raw,omitempty"`

	Exception string `json:"exception,omitempty"` // the ID of the exception by which it counts for nothing; empty if it counts
}
