package gateway

import (
	"encoding/json"

	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/policy"
)

// CodeRefused is the JSON-RPC error code of a request that Weir refused and that is no tool call. Its data holds the verdict.
const CodeRefused = -32090

// metaVerdict is the member of a result's _meta, and of a refusal's error data, that says what Weir decided:
// {"effect": "block" | "ask" | "warn", "rule": string, "message": string}.
const metaVerdict = "dev.weir/verdict"

// A verdict is the wire form of a decision that is no plain allow.
type verdict struct {
	Effect  string `json:"effect"`
	Rule    string `json:"rule,omitempty"`
	Message string `json:"message"`
}

// refused answers a request that may not happen, or whose answer the agent may not see. A model can read and act on the
// result of a tool call, so there the reason is a result; elsewhere it is an error.
func (x *exchange) refused(e policy.Effect, rule, message string) *rpc.Message {
	text := "blocked by weir: " + message
	if x.m.Method != "tools/call" {
		data, _ := json.Marshal(map[string]verdict{metaVerdict: {e.String(), rule, message}})
		return rpc.ReplyError(x.m.ID, &rpc.Error{Code: CodeRefused, Message: text, Data: data})
	}
	result, _ := json.Marshal(map[string]any{
		"content": []map[string]string{{"type": "text", "text": text}},
		"isError": true,
	})
	return rpc.Reply(x.m.ID, forHost(withVerdict(result, e, rule, message), x.who, false))
}

// withVerdict adds the verdict to a result's _meta.
func withVerdict(result json.RawMessage, e policy.Effect, rule, message string) json.RawMessage {
	v, err := json.Marshal(verdict{e.String(), rule, message})
	if err != nil {
		return result
	}
	out, err := rawjson.Set(result, v, "_meta", metaVerdict)
	if err != nil {
		return result
	}
	return out
}
