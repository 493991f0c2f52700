package guard

import (
	"encoding/json"
	"errors"

	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/policy"
)

// CodeRefused is the JSON-RPC error code of a request that Weir refused and that is no tool call. Its data is
// {"dev.weir/verdict": …}, as in MetaVerdict.
const CodeRefused = -32090

// MetaVerdict is the member of a result's _meta with Weir's decision, if that is no plain allow:
// {"effect": "block" | "ask" | "warn", "when": "call" | "result", "rule": string, "message": string}. Effect "ask" is a
// question that nobody accepted.
const MetaVerdict = ownMeta + "verdict"

// A Refusal is why a request did not happen, or why its answer was withheld.
type Refusal struct {
	Effect  policy.Effect `json:"effect"`
	When    policy.Phase  `json:"when"`
	Rule    string        `json:"rule,omitempty"`
	Message string        `json:"message"`

	suspicion string // the _meta that tells of signs of an attack; "" if it has other reasons
}

// String returns the refusal in words.
func (r Refusal) String() string {
	text := r.Effect.String()
	if r.Rule != "" {
		text += " (rule " + r.Rule + ")"
	}
	if r.Message != "" {
		text += ": " + r.Message
	}
	return text
}

// Answer returns the answer to the refused request. A model can read and act on the result of a tool call, so there
// the reason is a result with isError, with maliciousActivityHint if the call was refused because of signs of an
// attack (SEP-1913, Server Responsibilities); for any other method it is an error.
func (r Refusal) Answer(method string) Answer {
	text := "blocked by weir: " + r.Message
	if method != "tools/call" {
		return Answer{Error: must(json.Marshal(map[string]any{
			"code": CodeRefused, "message": text, "data": map[string]Refusal{MetaVerdict: r},
		}))}
	}
	return Answer{Result: must(json.Marshal(map[string]any{
		"content": []map[string]string{{"type": "text", "text": text}},
		"isError": true,
		"_meta":   r.withVerdict(),
	}))}
}

// WithVerdict adds the decision to a result that was handed on all the same, as with the effect warn.
func WithVerdict(result json.RawMessage, r Refusal) (json.RawMessage, error) {
	if rawjson.Kind(result) != '{' {
		return nil, errors.New("the result is not an object")
	}
	return rawjson.Set(result, must(json.Marshal(r)), "_meta", MetaVerdict)
}

// must returns the encoding of a value that is made of strings and numbers, and so always has one.
func must(b []byte, err error) json.RawMessage {
	if err != nil {
		panic(err)
	}
	return b
}
