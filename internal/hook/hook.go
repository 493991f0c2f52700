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
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/internal/cmdline"
	"github.com/weir-mcp/weir/internal/rawjson"
)

// Server is the name of the server whose tools are those of the host.
const Server = "host"

// MaxInput bounds an event, in bytes.
const MaxInput = 64 << 20

// The events that are understood. Hosts may name theirs otherwise.
const (
	SessionStart = "SessionStart"
	PreToolUse   = "PreToolUse"
	PostToolUse  = "PostToolUse"
	PostFailure  = "PostToolUseFailure"
)

// A Host is a program whose hooks Weir understands.
type Host struct {
	ID     string
	Kind   string   // of its keys of agent sessions; "" if its servers know no id of a conversation
	Events []string // as it names them, in the order in which they come

	steps    map[string]string // its events by their names here, where these are others
	form     form
	begins   []string // the sources of a conversation that begins
	answered string   // the mark of an answer of the model in the file of a conversation

	shared string // the agent session of all its conversations, see hosts.Host; "" if each, or each folder, has its own
	detail detail

	asks    bool // it puts a question to its user for a hook
	roams   bool // it does not tell in which folder a command of its shell runs
	streams bool // it tells the output of a command apart from its errors
	answer  func(Answer, *Event) map[string]any
	serves  func(e *Event, entry string) bool // whether the tool is one of the server that has an entry

	shell     shell
	search    string   // the tool that searches the contents of files, if its results are understood
	resources []string // tools that read resources of MCP servers
	searches  map[string]search
	paths     map[string]string // the argument of a tool for its file
	expands   []string          // tools in whose texts it puts files in the place of @PATH, with no tool of their own
	finds     string            // the tool that looks elsewhere for a file that is not there

	overlay []byte
	tools   map[string][]string // the arguments that are known of each tool that the overlay names
}

// A shell is the tool that runs a command.
type shell struct {
	tool   string
	reads  func(line string) (cmdline.Deed, bool) // a line that it does not understand may do anything
	folder string                                 // the argument for another working directory; "" if there is none
}

// A search is a tool that looks through folders.
type search struct {
	path       string   // the argument for its folder; severalPaths for one path or a list of them
	patterns   []string // arguments for patterns of paths below the folder
	everywhere bool     // without a folder it looks through every one that the host was given; else through the working directory
	flat       bool     // it names the files directly in the folder alone
}

// A detail is an event before calls of tools of MCP servers that says of which server they are. Other events of these
// calls do not, and have a prefix before the names of tools.
type detail struct{ event, prefix string }

// A form is how a host names the members of its events; "" for one that it does not have.
type form struct {
	event, session, source, tool, input, call, response string

	failure string   // "" is error
	roots   string   // a list with the working directory; "" is the text cwd
	server  []string // the members that lead to the MCP server of the tool
	fresh   bool     // an event of a beginning tells of new conversations alone
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
	Name       string          // one of the constants
	Told       string          // its name as the host has it
	Session    string          // the id of the conversation
	Transcript string          // the file of the conversation; "" if the host has none
	Folder     string          // the working directory of the conversation
	Source     string          // of SessionStart: how the conversation goes on
	Tool       string          // the name of the tool
	Input      json.RawMessage // its arguments, an object
	Response   json.RawMessage // its result; nil before the call
	Call       string          // the id of the call; "" if the host gives it none
	Server     string          // the MCP server of the tool, where the host tells it; else ""
	Unread     string          // why not all of the result could be read; "" if it could
}

// An Effect says how the host goes on.
type Effect int

// The effects. The zero value denies.
const (
	Deny Effect = iota // the call does not happen, or the agent should not see its result
	Ask                // the host asks its user
	Pass               // the host goes on as it would without the hook
)

// An Answer tells a host how to go on after an event.
type Answer struct {
	Effect Effect
	Text   string // why, unless it passes
	Notice string // for the user alone; "" for none
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
	e := &Event{Host: h, Name: name, Told: name}
	if step, other := h.steps[name]; other {
		e.Name = step
	}
	err := rawjson.Check(input)
	if err != nil && (e.Name == PostToolUse || e.Name == PostFailure) {
		input, e.Unread, err = salvage(input, h.form)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the event: %w", err)
	}
	if rawjson.Kind(input) != '{' {
		return nil, errors.New("reading the event: it is no object")
	}
	r := &reader{object: input}
	if told := r.text(h.form.event, maxName); h.form.event != "" && r.err == nil && told != name {
		return nil, fmt.Errorf("reading the event: it says to be %.64q", told)
	}
	e.Session, e.Folder = r.text(h.form.session, maxName), r.folder(h.form.roots)
	e.Transcript = r.optional("transcript_path")
	r.tell(e)
	return e, r.err
}

// again is the source of a first event of a turn that no message of the user began.
const again = "again"

// tell reads the members of the step of an event.
func (r *reader) tell(e *Event) {
	f := e.Host.form
	switch e.Name {
	case SessionStart:
		e.Source = r.text(f.source, maxName)
		if said, ok := rawjson.Get(r.object, "prompt"); f.source == "" && ok && string(said) == `""` {
			e.Source = again
		}
		return
	case PostToolUse:
		e.Response = r.value(f.response)
	case PostFailure:
		e.Response = r.value(f.failed())
	}
	e.Tool, e.Call, e.Input = r.text(f.tool, maxName), r.text(f.call, maxName), r.value(f.input)
	if rawjson.Kind(e.Input) != '{' && r.err == nil {
		e.Input = slices.Concat([]byte(`{"input":`), e.Input, []byte("}"))
	}
	if len(f.server) > 0 {
		server, _ := rawjson.Get(r.object, f.server...)
		e.Server, _ = rawjson.String(server)
	}
	if d := e.Host.detail; d.event != "" && (e.Told == d.event || e.Server != "") && !strings.HasPrefix(e.Tool, d.prefix) {
		e.Tool = d.prefix + e.Tool // never a name of the host's own tools
	}
}

// failed is the member for the error of a call.
func (f form) failed() string { return cmp.Or(f.failure, "error") }

// A reader reads members until the first that is missing or of another kind.
type reader struct {
	object []byte
	err    error
}

func (r *reader) value(name string) []byte {
	if name == "" {
		return nil
	}
	v, ok := rawjson.Get(r.object, name)
	if !ok && r.err == nil {
		r.err = fmt.Errorf("reading the event: it has no %s", name)
	}
	return v
}

func (r *reader) text(name string, most int) string {
	s, ok := rawjson.String(r.value(name))
	if name != "" && r.err == nil && (!ok || s == "" || len(s) > most || strings.ContainsRune(s, 0)) {
		r.err = fmt.Errorf("reading the event: %s is not a text of 1 to %d bytes", name, most)
	}
	return s
}

// folder returns the working directory: the text cwd, or the one element of a list. In a window of several folders, or
// of none, it is not known where the host finds a file, nor whose servers it has.
func (r *reader) folder(roots string) string {
	if roots == "" {
		return r.text("cwd", 1<<16)
	}
	all, n := r.value(roots), 0
	var folder string
	for one := range rawjson.Elements(all) {
		folder, _ = rawjson.String(one)
		n++
	}
	if r.err == nil && (n != 1 || !filepath.IsAbs(folder) || strings.ContainsRune(folder, 0)) {
		r.err = fmt.Errorf("reading the event: %s is not one absolute path, so it is not known in which folder the host works", roots)
	}
	return folder
}

// optional returns a text; "" if it is null or not there.
func (r *reader) optional(name string) string {
	if v, ok := rawjson.Get(r.object, name); !ok || rawjson.Kind(v) == 'n' {
		return ""
	}
	return r.text(name, 1<<16)
}
