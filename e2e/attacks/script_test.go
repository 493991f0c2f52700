package attacks

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

// scriptVariable is the environment variable that turns the test binary into a scripted server; it holds the path of the script.
const scriptVariable = "WEIR_ATTACKS_SCRIPT"

// results are the results of a server's tools, prompts and resources, by name.
type results map[string]json.RawMessage

// A script holds the answers of a hostile or harmless server. Every line that the server receives is appended to Log.
type script struct {
	Log          string            `json:"log"`
	Instructions string            `json:"instructions,omitempty"`
	Welcome      json.RawMessage   `json:"welcome,omitempty"` // the whole result of initialize, instead of the usual one
	Tools        []json.RawMessage `json:"tools,omitempty"`
	Prompts      []json.RawMessage `json:"prompts,omitempty"`
	Resources    []json.RawMessage `json:"resources,omitempty"`
	Templates    []json.RawMessage `json:"templates,omitempty"`
	Results      results           `json:"results,omitempty"` // by name of the tool or prompt, by URI of the resource, else by method
	Start        []string          `json:"start,omitempty"`   // lines written behind the handshake

	// Before holds lines written before the answer to a name or method, and Raw the line written in its place. $ID is the
	// request's id, $TOKEN its progress token.
	Before map[string][]string `json:"before,omitempty"`
	Raw    map[string]string   `json:"raw,omitempty"`
}

// serveScript is the scripted server.
func serveScript(file string, in io.Reader, out io.Writer) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var s script
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	log, err := os.OpenFile(s.Log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	lines := bufio.NewReaderSize(in, 1<<20)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return nil
		}
		if _, err := log.WriteString(line); err != nil {
			return err
		}
		next := func() error {
			line, err := lines.ReadString('\n')
			if err == nil {
				_, err = log.WriteString(line)
			}
			return err
		}
		if err := s.respond(out, line, next); err != nil {
			return err
		}
	}
}

// A request is the part of a line that the scripted server reads. Names are matched without regard to case, as
// encoding/json does.
type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name            string `json:"name"`
		URI             string `json:"uri"`
		ProtocolVersion string `json:"protocolVersion"`
		Meta            struct {
			Token json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	} `json:"params"`
}

// respond answers one line. Behind a request of its own it waits for the next line, which is the host's answer.
func (s *script) respond(out io.Writer, line string, next func() error) error {
	var r request
	if err := json.Unmarshal([]byte(line), &r); err != nil {
		return nil // an answer of the host, or nothing that could be answered
	}
	if r.Method == "notifications/initialized" {
		for _, l := range s.Start {
			fmt.Fprintln(out, l)
		}
	}
	if r.ID == nil || r.Method == "" {
		return nil
	}
	key := r.Params.Name + r.Params.URI
	if key == "" {
		key = r.Method
	}
	fill := strings.NewReplacer("$ID", string(r.ID), "$TOKEN", string(r.Params.Meta.Token))
	for _, l := range s.Before[key] {
		fmt.Fprintln(out, fill.Replace(l))
		if strings.Contains(l, `"id":`) {
			if err := next(); err != nil {
				return err
			}
		}
	}
	if raw, ok := s.Raw[key]; ok {
		_, err := fmt.Fprintln(out, fill.Replace(raw))
		return err
	}
	_, err := fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", r.ID, s.result(key, &r))
	return err
}

// result returns the result of a request.
func (s *script) result(key string, r *request) json.RawMessage {
	if given, ok := s.Results[key]; ok {
		return given
	}
	list := func(member string, entries []json.RawMessage) json.RawMessage {
		if entries == nil {
			entries = []json.RawMessage{}
		}
		return must(json.Marshal(map[string]any{member: entries}))
	}
	switch r.Method {
	case "initialize":
		if s.Welcome != nil {
			return s.Welcome
		}
		return must(json.Marshal(map[string]any{
			"protocolVersion": r.Params.ProtocolVersion, "instructions": s.Instructions,
			"serverInfo":   map[string]string{"name": "scripted", "version": "1"},
			"capabilities": map[string]any{"tools": args{"listChanged": true}, "prompts": args{}, "resources": args{}, "logging": args{}, "completions": args{}},
		}))
	case "tools/list":
		return list("tools", s.Tools)
	case "prompts/list":
		return list("prompts", s.Prompts)
	case "resources/list":
		return list("resources", s.Resources)
	case "resources/templates/list":
		return list("resourceTemplates", s.Templates)
	case "prompts/get":
		return json.RawMessage(`{"messages":[{"role":"user","content":{"type":"text","text":"done"}}]}`)
	case "resources/read":
		return json.RawMessage(`{"contents":[{"uri":"a:b","text":"done"}]}`)
	case "completion/complete":
		return json.RawMessage(`{"completion":{"values":["done"]}}`)
	case "tools/call":
		return text("done")
	}
	return json.RawMessage(`{}`)
}

// text returns the result of a tool that says the text.
func text(s string) json.RawMessage {
	return must(json.Marshal(map[string]any{"content": []any{map[string]string{"type": "text", "text": s}}}))
}

// tools returns definitions of tools; an inputSchema is added where there is none.
func tools(definitions ...string) []json.RawMessage {
	var all []json.RawMessage
	for _, d := range definitions {
		if !strings.Contains(d, `"inputSchema"`) {
			d = strings.TrimSuffix(strings.TrimSpace(d), "}") + `,"inputSchema":{"type":"object"}}`
		}
		all = append(all, json.RawMessage(d))
	}
	return all
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
