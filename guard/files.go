package guard

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/speech"
)

// RuleOwnFiles is the rule that a verdict names when a call would touch a thing of Weir's own. No policy and no mode
// lifts it.
const RuleOwnFiles = "weir:own-files"

// Files knows the files of this machine, which the guard does not touch. It may be used concurrently.
type Files interface {
	// Own names a thing of Weir's own that a call would touch: a file, a socket, a process; "" if none.
	Own(Touch) string

	// Runs names untrusted content where a call works that it may run beside its purpose; "" if none is known.
	Runs(Touch) string

	// Locate returns where a path, or a file URI, leads for a server.
	Locate(server, path string) Place

	// Foreign says why a file may hold untrusted content; "" if it is the user's own work.
	Foreign(server, path string) string

	// Inside says why a file below a folder may hold untrusted content; "" if all of it is the user's own work, or
	// there is no such folder. Of names that are skipped nothing counts; nil: none is.
	Inside(server, path string, skipped func(name string) bool) string
}

// A Touch is a call as it may touch files.
type Touch struct {
	Server  string
	Name    string // of the tool
	Changes bool   // by its contract, it may change something
	Texts   []Text // all of the call's values and names
}

// A Text is a scalar that an agent chose, a member's name, or the URI of a resource.
type Text struct {
	Path    string // as in a [policy.Argument]
	Text    string
	Name    bool // it is a member's name
	Content bool // the operator says that it is content: no path and no command
}

// A Place is where a path leads. The zero Place is not known.
type Place struct {
	Names  []string // absolute, with links followed; several if the server may take the path for any of them
	Unsure bool     // it may lead elsewhere too, or have other names
}

// everyText visits every scalar and every member name, however many there are.
func everyText(value json.RawMessage, path string, visit func(path, text string, name bool)) {
	switch rawjson.Kind(value) {
	case '{':
		for name, inner := range rawjson.Members(value) {
			inside := strings.TrimPrefix(path+"."+name, ".")
			visit(inside, name, true)
			everyText(inner, inside, visit)
		}
	case '[':
		for inner := range rawjson.Elements(value) {
			everyText(inner, path, visit)
		}
	case 'n', 0:
	case '"':
		text, _ := rawjson.String(value)
		visit(path, text, false)
	default:
		visit(path, strings.TrimSpace(string(value)), false)
	}
}

// maxForms is how many readings of one call are decided on.
const maxForms = 8

// A finder finds paths among arguments.
type finder struct {
	files   Files
	server  string
	content map[string]bool
	unsure  bool
	most    int // readings of one path
}

// replace returns a value with its paths as they lead in the nth reading.
func (f *finder) replace(value json.RawMessage, path string, n int) json.RawMessage {
	switch rawjson.Kind(value) {
	case '{':
		for name, inner := range rawjson.Members(value) {
			if after := f.replace(inner, strings.TrimPrefix(path+"."+name, "."), n); string(after) != string(inner) {
				value, _ = rawjson.Set(value, after, name)
			}
		}
	case '[':
		var all []json.RawMessage
		changed := false
		for inner := range rawjson.Elements(value) {
			after := f.replace(inner, path, n)
			changed = changed || string(after) != string(inner)
			all = append(all, after)
		}
		if changed {
			value, _ = json.Marshal(all)
		}
	case '"':
		text, _ := rawjson.String(value)
		if f.content[path] || !isPath(path, text) {
			return value
		}
		p := f.files.Locate(f.server, text)
		f.unsure = f.unsure || p.Unsure
		names := slices.DeleteFunc(slices.Clone(p.Names), func(name string) bool { return name == text })
		if len(names) == 0 {
			return value
		}
		f.most = max(f.most, len(names))
		value, _ = json.Marshal(names[min(n, len(names)-1)])
	}
	return value
}

// pathWords are words in the names of arguments that hold paths.
var pathWords = []string{"path", "paths", "file", "files", "filename", "filepath", "folder", "folders", "dir", "directory", "directories",
	"source", "src", "destination", "dest", "target", "uri", "from", "to"}

// isPath reports whether a text has the form of a path, or stands where paths do.
func isPath(at, text string) bool {
	if text == "" || strings.ContainsAny(text, "\n\r") {
		return false
	}
	lower := strings.ToLower(text)
	if scheme, _, ok := strings.Cut(lower, "://"); ok && scheme != "file" {
		return false
	}
	if strings.HasPrefix(text, "/") || strings.HasPrefix(text, "~") || strings.HasPrefix(text, `\\`) || strings.HasPrefix(text, "./") ||
		strings.HasPrefix(text, "../") || strings.HasPrefix(lower, "file:") || len(text) > 2 && text[1] == ':' && (text[2] == '\\' || text[2] == '/') {
		return true
	}
	return slices.ContainsFunc(speech.NameWords(at), func(w string) bool { return slices.Contains(pathWords, w) })
}
