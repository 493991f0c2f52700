package vault

import (
	"encoding/json"
	"strings"

	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/label"
)

// A Value is the answer of a server, or a part of one, that the agent was not shown. It does not change.
type Value struct {
	ID        string          `json:"id"`   // no other value ever has it; the vault gives it, and no agent knows it
	Name      string          `json:"name"` // as handles have it; a much later value may have it again
	Server    string          `json:"server"`
	Method    string          `json:"method"`
	Tool      string          `json:"tool"`                // on its server; the URI of a resource
	Arguments json.RawMessage `json:"arguments,omitempty"` // of the call that it answers
	Result    json.RawMessage `json:"result,omitempty"`    // one of Result and Error is set
	Error     json.RawMessage `json:"error,omitempty"`
	Part      json.RawMessage `json:"part,omitempty"`     // of the answer that the value is; nil if it is all of it
	Of        string          `json:"of,omitempty"`       // ID of the value whose part it is; "" if it is an answer
	Label     label.Label     `json:"label"`              // of the answer
	Composed  bool            `json:"composed,omitempty"` // hidden values, or what agents wrote earlier, may have a part in it
	From      string          `json:"from,omitempty"`     // key of the session below that returned it
	Output    json.RawMessage `json:"output,omitempty"`   // schema by which its shape was told; nil: it was not
	Setup     string          `json:"setup,omitempty"`    // the setup of the process that hid it, as its guard names it
}

// size is the memory that a value takes, about.
func (v *Value) size() int64 {
	return int64(len(v.Arguments)+len(v.Result)+len(v.Error)+len(v.Part)+len(v.Output)+len(v.Tool)) + 512
}

// Failed reports whether the value is the answer to a call that went wrong.
func (v *Value) Failed() bool {
	failed, _ := rawjson.Get(v.Result, "isError")
	return v.Error != nil || string(failed) == "true"
}

// Handle returns the text that stands for the value in the arguments of a call.
func (v *Value) Handle() string { return "[[" + v.Name + "]]" }

// Document returns the JSON value in which the pointers of handles select: the part; else the structured content of a result; else
// its text, parsed if it is one JSON object or array, and a string if not; else the result without metadata.
func (v *Value) Document() json.RawMessage {
	if v.Part != nil {
		return v.Part
	}
	if v.Error != nil {
		return v.Error
	}
	if structured, ok := rawjson.Get(v.Result, "structuredContent"); ok && compound(structured) {
		return structured
	}
	texts, only := v.texts()
	switch {
	case !only:
		return rawjson.Delete(v.Result, "_meta")
	case len(texts) == 1 && compound([]byte(strings.TrimSpace(texts[0]))) && rawjson.Check([]byte(texts[0])) == nil:
		return json.RawMessage(strings.TrimSpace(texts[0]))
	}
	return rawjson.Quote(strings.Join(texts, "\n"))
}

// Text returns the text for which a handle without a pointer stands: that of the result; JSON, if it has none.
func (v *Value) Text() string {
	if v.Part == nil && v.Error == nil {
		if texts, _ := v.texts(); len(texts) > 0 {
			return strings.Join(texts, "\n")
		}
	}
	return textOf(v.Document())
}

// texts returns the blocks of text in a result, and whether there is nothing else in it.
func (v *Value) texts() (texts []string, only bool) {
	only = true
	for _, list := range []string{"content", "contents"} {
		blocks, _ := rawjson.Get(v.Result, list)
		for block := range rawjson.Elements(blocks) {
			raw, _ := rawjson.Get(block, "text")
			if text, ok := rawjson.String(raw); ok {
				texts = append(texts, text)
			} else {
				only = false
			}
		}
	}
	return texts, only && len(texts) > 0
}

// compound reports whether raw JSON begins as an object or an array.
func compound(raw []byte) bool {
	return len(raw) > 0 && (raw[0] == '{' || raw[0] == '[')
}

// textOf returns the text of a string, and the JSON of any other value.
func textOf(raw json.RawMessage) string {
	if s, ok := rawjson.String(raw); ok {
		return s
	}
	return string(raw)
}
