//go:build unix

package hosts

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A step is one tool call of a script.
type step struct {
	Tool string // the name of a tool of the host, or the end of the name of another, which hosts prefix with that of the server
	Args map[string]any
}

// A model is an endpoint that hosts take for the API of a language model. A user message "Play SCRIPT as RUN." makes it call the
// tools of a script in order, whatever they return. It keeps no state of conversations: the step is the number of tool results
// after that message.
type model struct {
	*httptest.Server
	scripts map[string][]step

	mu      sync.Mutex
	results map[string][]string // of each run, in order
	asked   map[string]int      // how often each run asked for the next step
	lost    []string            // requests that no protocol knows
}

// final is the answer of the model after the last step.
const final = "That was all."

// waiting is the prefix of the ids of calls that only pass time, until the tool of the step is there.
const waiting = "wait_"

// waits bounds the calls that only pass time.
const waits = 200

var play = regexp.MustCompile(`Play ([a-z-]+) as ([a-z0-9-]+)\.`)

// newModel starts an endpoint that plays the scripts.
func newModel(t *testing.T, scripts map[string][]step) *model {
	m := &model{scripts: scripts, results: map[string][]string{}, asked: map[string]int{}}
	m.Server = httptest.NewServer(m)
	t.Cleanup(m.Close)
	return m
}

// A dialect is the form of one API: how it tells tools and messages, and how an answer is written.
type dialect interface {
	read(body []byte) (turn, error)
	write(w http.ResponseWriter, body []byte, r reply)
}

// A turn is the state of a conversation, as a request tells it.
type turn struct {
	tools   []string
	prompt  string   // the last message of the user that starts a script; "" if there is none
	results []string // of tools, after it
	waited  int      // calls that only passed time, after it
}

// A reply is the answer of the model: a call, or a text.
type reply struct {
	id, tool string
	args     map[string]any
	text     string
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	d := dialectOf(r.URL.Path)
	switch {
	case strings.HasSuffix(r.URL.Path, "/count_tokens"):
		fmt.Fprint(w, `{"input_tokens": 10}`)
	case strings.HasSuffix(r.URL.Path, "/models"):
		fmt.Fprint(w, `{"object": "list", "data": [], "models": []}`)
	case d == nil || r.Method != http.MethodPost:
		w.WriteHeader(http.StatusNotFound)
	default:
		t, err := d.read(body)
		if err != nil {
			m.mu.Lock()
			m.lost = append(m.lost, fmt.Sprintf("%s: %v: %.500s", r.URL.Path, err, body))
			m.mu.Unlock()
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		d.write(w, body, m.next(t))
	}
}

// dialectOf returns the form of the API at a path; nil if there is none.
func dialectOf(path string) dialect {
	switch {
	case strings.HasSuffix(path, "/messages"):
		return messages{}
	case strings.HasSuffix(path, "/responses"):
		return responses{}
	case strings.HasSuffix(path, "/chat/completions"):
		return completions{}
	case strings.HasSuffix(path, ":generateContent"), strings.HasSuffix(path, ":streamGenerateContent"):
		return generate{streams: strings.HasSuffix(path, ":streamGenerateContent")}
	}
	return nil
}

// next plays the next step of the script that the conversation is in.
func (m *model) next(t turn) reply {
	names := play.FindStringSubmatch(t.prompt)
	if names == nil || len(t.tools) == 0 {
		return reply{text: "ok"}
	}
	steps, run := m.scripts[names[1]], names[2]
	m.mu.Lock()
	if len(t.results) > len(m.results[run]) {
		m.results[run] = slices.Clone(t.results)
	}
	m.asked[run]++
	tired := m.asked[run] > waits+2*len(steps)
	m.mu.Unlock()
	if tired {
		return reply{text: "The conversation goes on and on."}
	}
	if len(t.results) >= len(steps) {
		return reply{text: final}
	}
	s := steps[len(t.results)]
	id := fmt.Sprintf("%s_%d", run, len(t.results))
	if name := find(t.tools, s.Tool); name != "" {
		return reply{id: id, tool: name, args: s.named(t.results)}
	}
	if pass, ok := pastime(t.tools, s.Tool); ok && t.waited < waits {
		time.Sleep(50 * time.Millisecond)
		pass.id = fmt.Sprintf("%s%s_%d", waiting, id, t.waited)
		return pass
	}
	return reply{text: fmt.Sprintf("There is no tool %s among %s.", s.Tool, strings.Join(t.tools, ", "))}
}

// pastime returns a call of a tool of the host that brings the tool that a script wants: by a search, or by passing time, since servers
// may still be starting.
func pastime(tools []string, want string) (reply, bool) {
	for _, r := range []reply{
		{tool: "tool_search", args: map[string]any{"query": want}},
		{tool: "WaitForMcpServers", args: map[string]any{}},
		{tool: "TaskList", args: map[string]any{}},
		{tool: "get_goal", args: map[string]any{}},
	} {
		if slices.Contains(tools, r.tool) {
			return r, true
		}
	}
	return reply{}, false
}

// find returns the host's own tool that a script wants, or else the tool of an MCP server whose name ends with it, after a mark; "" if there
// is neither.
func find(tools []string, want string) string {
	if slices.Contains(tools, want) {
		return want
	}
	for _, name := range tools {
		rest, ok := strings.CutSuffix(name, want)
		if ok && rest != "" && strings.ContainsAny(rest[len(rest)-1:], "_-./ ") {
			return name
		}
	}
	return ""
}

// of returns the results of the tools in a run.
func (m *model) of(run string) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.results[run])
}

// unknown returns requests that were not understood.
func (m *model) unknown() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.lost)
}

// stream writes events of an answer as a host reads them.
func stream(w http.ResponseWriter, events ...map[string]any) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range events {
		if kind, ok := e["type"].(string); ok {
			fmt.Fprintf(w, "event: %s\n", kind)
		}
		fmt.Fprintf(w, "data: %s\n\n", encode(e))
	}
}

func encode(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // maps of texts and numbers have a JSON form
	}
	return string(text)
}

// plainText returns a text, or the texts of a list of parts.
func plainText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var parts []struct{ Text string }
	if json.Unmarshal(raw, &parts) != nil {
		return string(raw)
	}
	var all []string
	for _, p := range parts {
		all = append(all, p.Text)
	}
	return strings.Join(all, "\n")
}

// said begins the turn anew if the user's message starts another run: hosts repeat messages.
func (t *turn) said(text string) {
	if started := play.FindString(text); started != "" && started != t.prompt {
		t.prompt, t.results, t.waited = started, nil, 0
	}
}

// got notes the result of a call.
func (t *turn) got(id, text string) {
	if strings.HasPrefix(id, waiting) {
		t.waited++
		return
	}
	t.results = append(t.results, text)
}
