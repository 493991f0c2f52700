//go:build unix

package hosts

import (
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"strings"
)

// messages is the Messages API of Anthropic.
type messages struct{}

func (messages) read(body []byte) (t turn, err error) {
	var req struct {
		Tools    []struct{ Name string }
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return t, err
	}
	for _, tool := range req.Tools {
		t.tools = append(t.tools, tool.Name)
	}
	for _, m := range req.Messages {
		if m.Role != "user" {
			continue
		}
		var parts []struct {
			Type, Text string
			ID         string `json:"tool_use_id"`
			Content    json.RawMessage
		}
		if json.Unmarshal(m.Content, &parts) != nil {
			t.said(plainText(m.Content))
		}
		for _, p := range parts {
			if t.said(p.Text); p.Type == "tool_result" {
				t.got(p.ID, plainText(p.Content))
			}
		}
	}
	return t, nil
}

func (messages) write(w http.ResponseWriter, _ []byte, r reply) {
	usage := map[string]any{"input_tokens": 10, "output_tokens": 10}
	block := map[string]any{"type": "text", "text": ""}
	delta, stop := map[string]any{"type": "text_delta", "text": r.text}, "end_turn"
	if r.tool != "" {
		block = map[string]any{"type": "tool_use", "id": r.id, "name": r.tool, "input": map[string]any{}}
		delta, stop = map[string]any{"type": "input_json_delta", "partial_json": encode(r.args)}, "tool_use"
	}
	stream(w,
		map[string]any{"type": "message_start", "message": map[string]any{"id": "msg_" + rand.Text(), "type": "message", "role": "assistant",
			"model": "scripted", "content": []any{}, "stop_reason": nil, "stop_sequence": nil, "usage": usage}},
		map[string]any{"type": "content_block_start", "index": 0, "content_block": block},
		map[string]any{"type": "content_block_delta", "index": 0, "delta": delta},
		map[string]any{"type": "content_block_stop", "index": 0},
		map[string]any{"type": "message_delta", "delta": map[string]any{"stop_reason": stop, "stop_sequence": nil}, "usage": usage},
		map[string]any{"type": "message_stop"})
}

// responses is the Responses API of OpenAI.
type responses struct{}

// A listedTool is a function, or a namespace of functions.
type listedTool struct {
	Type, Name string
	Tools      []listedTool
}

// names returns the functions; those of a namespace with the namespace before a mark.
func names(tools []listedTool) (all []string) {
	for _, tool := range tools {
		if tool.Type != "namespace" {
			all = append(all, tool.Name)
			continue
		}
		for _, inner := range tool.Tools {
			all = append(all, tool.Name+"."+inner.Name)
		}
	}
	return all
}

func (responses) read(body []byte) (t turn, err error) {
	var req struct {
		Tools []listedTool
		Input []struct {
			Type, Role string
			CallID     string `json:"call_id"`
			Content    json.RawMessage
			Output     json.RawMessage
			Tools      []listedTool
		}
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return t, err
	}
	t.tools = names(req.Tools)
	for _, item := range req.Input {
		switch {
		case item.Role == "user":
			t.said(plainText(item.Content))
		case item.Type == "additional_tools":
			t.tools = append(t.tools, names(item.Tools)...)
		case item.Output != nil:
			t.got(item.CallID, plainText(item.Output))
		}
	}
	return t, nil
}

func (responses) write(w http.ResponseWriter, _ []byte, r reply) {
	item := map[string]any{"id": "msg_" + rand.Text(), "type": "message", "status": "completed", "role": "assistant",
		"content": []any{map[string]any{"type": "output_text", "text": r.text, "annotations": []any{}}}}
	if r.tool != "" {
		item = map[string]any{"id": "fc_" + r.id, "type": "function_call", "status": "completed", "call_id": r.id, "name": r.tool,
			"arguments": encode(r.args)}
		if space, name, ok := cutLast(r.tool); ok {
			item["namespace"], item["name"] = space, name
		}
	}
	response := map[string]any{"id": "resp_" + rand.Text(), "object": "response", "created_at": 1, "status": "completed",
		"model": "scripted", "output": []any{item}, "usage": map[string]any{"input_tokens": 10, "output_tokens": 10, "total_tokens": 20,
			"input_tokens_details": map[string]any{"cached_tokens": 0}, "output_tokens_details": map[string]any{"reasoning_tokens": 0}}}
	stream(w,
		map[string]any{"type": "response.created", "sequence_number": 0, "response": response},
		map[string]any{"type": "response.output_item.added", "sequence_number": 1, "output_index": 0, "item": item},
		map[string]any{"type": "response.output_item.done", "sequence_number": 2, "output_index": 0, "item": item},
		map[string]any{"type": "response.completed", "sequence_number": 3, "response": response})
}

// cutLast splits a name at its last point.
func cutLast(name string) (before, after string, ok bool) {
	i := strings.LastIndexByte(name, '.')
	if i < 0 {
		return "", name, false
	}
	return name[:i], name[i+1:], true
}

// completions is the Chat Completions API of OpenAI.
type completions struct{}

func (completions) read(body []byte) (t turn, err error) {
	var req struct {
		Tools []struct {
			Function struct{ Name string }
		}
		Messages []struct {
			Role    string
			CallID  string `json:"tool_call_id"`
			Content json.RawMessage
		}
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return t, err
	}
	for _, tool := range req.Tools {
		t.tools = append(t.tools, tool.Function.Name)
	}
	for _, m := range req.Messages {
		switch m.Role {
		case "user":
			t.said(plainText(m.Content))
		case "tool":
			t.got(m.CallID, plainText(m.Content))
		}
	}
	return t, nil
}

func (completions) write(w http.ResponseWriter, body []byte, r reply) {
	message, finish := map[string]any{"role": "assistant", "content": r.text}, "stop"
	if r.tool != "" {
		call := map[string]any{"index": 0, "id": r.id, "type": "function", "function": map[string]any{"name": r.tool, "arguments": encode(r.args)}}
		message, finish = map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{call}}, "tool_calls"
	}
	answer := func(object, member string, message map[string]any, finish any) map[string]any {
		return map[string]any{"id": "chatcmpl-" + rand.Text(), "object": object, "created": 1, "model": "scripted",
			"choices": []any{map[string]any{"index": 0, member: message, "finish_reason": finish}},
			"usage":   map[string]any{"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}}
	}
	var req struct{ Stream bool }
	if json.Unmarshal(body, &req) != nil || !req.Stream {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, encode(answer("chat.completion", "message", message, finish)))
		return
	}
	stream(w, answer("chat.completion.chunk", "delta", message, nil), answer("chat.completion.chunk", "delta", map[string]any{}, finish))
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}

// generate is the generateContent API of Gemini.
type generate struct{ streams bool }

func (generate) read(body []byte) (t turn, err error) {
	var req struct {
		Tools []struct {
			FunctionDeclarations []struct{ Name string }
		}
		Contents []struct {
			Role  string
			Parts []struct {
				Text             string
				FunctionResponse *struct {
					ID       string
					Response json.RawMessage
				}
			}
		}
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return t, err
	}
	for _, tool := range req.Tools {
		for _, f := range tool.FunctionDeclarations {
			t.tools = append(t.tools, f.Name)
		}
	}
	for _, c := range req.Contents {
		for _, p := range c.Parts {
			if p.FunctionResponse != nil {
				t.got(p.FunctionResponse.ID, string(p.FunctionResponse.Response))
			} else if c.Role == "user" {
				t.said(p.Text)
			}
		}
	}
	return t, nil
}

func (g generate) write(w http.ResponseWriter, _ []byte, r reply) {
	part := map[string]any{"text": r.text}
	if r.tool != "" {
		part = map[string]any{"functionCall": map[string]any{"id": r.id, "name": r.tool, "args": r.args}}
	}
	answer := map[string]any{"modelVersion": "scripted",
		"candidates":    []any{map[string]any{"index": 0, "finishReason": "STOP", "content": map[string]any{"role": "model", "parts": []any{part}}}},
		"usageMetadata": map[string]any{"promptTokenCount": 10, "candidatesTokenCount": 10, "totalTokenCount": 20}}
	if g.streams {
		stream(w, answer)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, encode(answer))
}
