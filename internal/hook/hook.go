// Package hook decides on the tools that a host has itself, such as its shell, which no MCP server offers. The host runs Weir before
// and after each of its tools (a hook), with a JSON object that describes the event, and takes the decision from the answer:
//
//	e, err := hook.Parse("claude-code", "PreToolUse", input)
//	a, err := decider.Decide(ctx, e)
//	out := a.For(e) // to print, with the exit status
//
// The tools are those of a server called host, with an overlay for each host that comes with this package. Its calls are decided on by
// the guard, under the agent session of the conversation that the host names.
//
// Promises:
//
//   - Events are hostile: bounded, and read as every JSON parser reads them. One that is not understood is an error, and whoever
//     asks denies the call then.
//   - An event only raises. That a conversation is new is believed of a session id of which nothing is known yet; any other
//     conversation whose beginning was not seen has the worst label.
//   - The event after a call may come late, or never. So all that a call may return by its contract counts once it was let go or asked
//     about; the event afterwards adds the findings in the result. Until then each value of another call may be private data of it.
//   - A command of the agent can tell of events, so no result that an event tells of vouches for a value.
package hook

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/internal/rawjson"
)

// Server is the name of the server whose tools are those of the host.
const Server = "host"

// MaxInput bounds an event, in bytes.
const MaxInput = 64 << 20

// The events that are understood, as hosts name them.
const (
	SessionStart = "SessionStart"
	PreToolUse   = "PreToolUse"
	PostToolUse  = "PostToolUse"
	PostFailure  = "PostToolUseFailure"
)

// A Host is a program whose hooks Weir understands.
type Host struct {
	ID     string
	Kind   string   // of its keys of agent sessions
	Events []string // in the order in which they come

	asks     bool // it puts a question to its user for a hook
	replaces bool // it shows the agent another result for a hook
	roams    bool // it does not tell in which folder a command of its shell runs

	shell  string // the tool that runs a command of the Bourne shell; "" on systems where it is another shell
	search string // the tool that searches the contents of files

	overlay []byte
	tools   map[string][]string // the arguments that are known of each tool that the overlay names
}

// Lookup returns the host with an id, which is that of package hosts.
func Lookup(id string) (*Host, bool) {
	i := slices.IndexFunc(table, func(h *Host) bool { return h.ID == id })
	if i < 0 {
		return nil, false
	}
	return table[i], true
}

// IDs returns the ids of all hosts.
func IDs() (ids []string) {
	for _, h := range table {
		ids = append(ids, h.ID)
	}
	return ids
}

// An Event is one step of a conversation, as a host tells it.
type Event struct {
	Host       *Host
	Name       string
	Session    string          // the id of the conversation
	Transcript string          // the file of the conversation; "" if the host has none
	Folder     string          // the working directory of the conversation
	Source     string          // of SessionStart: how the conversation goes on
	Tool       string          // the name of the tool
	Input      json.RawMessage // its arguments, an object
	Response   json.RawMessage // its result; nil before the call
	Call       string          // the id of the call
	Unread     string          // why not all of the result could be read; "" if it could
}

// maxName bounds ids and names, in bytes.
const maxName = 512

// Parse reads an event that a host tells under a name.
func Parse(host, name string, input []byte) (*Event, error) {
	h, ok := Lookup(host)
	if !ok {
		return nil, fmt.Errorf("no hooks of the host %.64q are known", host)
	}
	if !slices.Contains(h.Events, name) {
		return nil, fmt.Errorf("%s has no event %.64q that is known", host, name)
	}
	e := &Event{Host: h, Name: name}
	err := rawjson.Check(input)
	if err != nil && (name == PostToolUse || name == PostFailure) {
		input, e.Unread, err = salvage(input)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the event: %w", err)
	}
	if rawjson.Kind(input) != '{' {
		return nil, errors.New("reading the event: it is no object")
	}
	r := reader{object: input}
	if told := r.text("hook_event_name", maxName); r.err == nil && told != name {
		return nil, fmt.Errorf("reading the event: it says to be %.64q", told)
	}
	e.Session, e.Folder = r.text("session_id", maxName), r.text("cwd", 1<<16)
	e.Transcript = r.optional("transcript_path")
	switch name {
	case SessionStart:
		e.Source = r.text("source", maxName)
	default:
		e.Tool, e.Call, e.Input = r.text("tool_name", maxName), r.text("tool_use_id", maxName), r.value("tool_input")
		if rawjson.Kind(e.Input) != '{' && r.err == nil {
			e.Input = slices.Concat([]byte(`{"input":`), e.Input, []byte("}"))
		}
	}
	switch name {
	case PostToolUse:
		e.Response = r.value("tool_response")
	case PostFailure:
		e.Response = r.value("error")
	}
	return e, r.err
}

// A reader reads members until the first that is missing or of another kind.
type reader struct {
	object []byte
	err    error
}

func (r *reader) value(name string) []byte {
	v, ok := rawjson.Get(r.object, name)
	if !ok && r.err == nil {
		r.err = fmt.Errorf("reading the event: it has no %s", name)
	}
	return v
}

func (r *reader) text(name string, most int) string {
	s, ok := rawjson.String(r.value(name))
	if r.err == nil && (!ok || s == "" || len(s) > most || strings.ContainsRune(s, 0)) {
		r.err = fmt.Errorf("reading the event: %s is not a text of 1 to %d bytes", name, most)
	}
	return s
}

// optional returns a text; "" if it is null or not there.
func (r *reader) optional(name string) string {
	if v, ok := rawjson.Get(r.object, name); !ok || rawjson.Kind(v) == 'n' {
		return ""
	}
	return r.text(name, 1<<16)
}
