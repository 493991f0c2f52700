package guard

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/speech"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/overlay"
	"github.com/weir-mcp/weir/policy"
)

// RuleOwnFiles is the rule that a verdict names when a call would touch what is Weir's own. No policy and no mode lifts it.
const RuleOwnFiles = "weir:own-files"

// Files knows the files of this machine, which the guard does not touch. It may be used concurrently.
type Files interface {
	// Own says what of Weir's own a call would touch: a file, a socket, a process; "" if nothing.
	Own(Touch) string

	// Runs says what a stranger has put where a call works and it may run, beside what it is called to do; "" if nothing is known.
	Runs(Touch) string

	// Locate returns what a path, or a file URI, means to a server.
	Locate(server, path string) Place

	// Foreign says why strangers may have written a file; "" if it is the user's own work.
	Foreign(server, path string) string
}

// A Touch is a call as it may touch files.
type Touch struct {
	Server  string
	Name    string // of the tool
	Changes bool   // by its contract, it may change something
	Texts   []Text // all of the call's values and names
}

// A Text is a scalar among what an agent chose, a member's name, or the URI of a resource.
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

// ownFiles says what of Weir's own a call would touch.
func (g *Guard) ownFiles(c *Call) string {
	if g.opts.Files == nil {
		return ""
	}
	return g.opts.Files.Own(g.touch(c))
}

// touch returns the call as it may touch files.
func (g *Guard) touch(c *Call) Touch {
	t := Touch{Server: c.Server, Name: c.Name, Changes: c.Effective.ReadOnly != contract.Yes}
	content := map[string]bool{}
	for _, a := range c.Overlay.Roles(c.Arguments).Contents {
		content[a.Path] = true
	}
	add := func(path, text string, name bool) {
		t.Texts = append(t.Texts, Text{path, text, name, content[path]})
	}
	everyText(c.Arguments, "", add)
	everyText(rawjson.Delete(rawjson.Delete(c.Params, "_meta"), "arguments"), "", func(path, text string, name bool) {
		if !name && !(path == "name" && text == c.Name) {
			add(path, text, name)
		}
	})
	resources := c.Overlay.Resources(c.Arguments)
	for _, uri := range slices.Concat(resources.Reads, resources.Writes) {
		t.Texts = append(t.Texts, Text{Path: "resource", Text: uri, Content: true})
	}
	return t
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

// forms returns the arguments as the server may read them where that differs from how they are written: with each path
// replaced by where it leads. Unsure is whether one may lead elsewhere too.
func (g *Guard) forms(c *Call) (forms []json.RawMessage, unsure bool) {
	if g.opts.Files == nil || c.asked {
		return nil, false
	}
	content := map[string]bool{}
	for _, a := range c.Overlay.Roles(c.Arguments).Contents {
		content[a.Path] = true
	}
	found := finder{files: g.opts.Files, server: c.Server, content: content}
	first := found.replace(c.Arguments, "", 0)
	for n := range min(found.most, maxForms) {
		if n > 0 {
			first = found.replace(c.Arguments, "", n)
		}
		forms = append(forms, first)
	}
	return forms, found.unsure || found.most > maxForms
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

// refine returns what the operator says of the call for its arguments: for each reading of its paths, the worst of them all.
func (c *Call) refine() (contract.Contract, []overlay.Note) {
	said, notes := c.Overlay.Refine(c.Arguments)
	if c.read.unsure && c.Overlay.Refines() {
		return c.Overlay.Static(), append(notes, overlay.Note{Why: "a path of the call may lead elsewhere"})
	}
	if name, ok := c.unnamed(); ok && c.Overlay.Refines() {
		return c.Overlay.Static(), append(notes, overlay.Note{
			Entry: "input schema", Why: fmt.Sprintf("nothing is said of the argument %+.80q", name),
		})
	}
	for _, form := range c.read.forms {
		more, why := c.Overlay.Refine(form)
		said = contract.Join(said, more)
		for _, note := range why {
			if !slices.Contains(notes, note) {
				notes = append(notes, note)
			}
		}
	}
	return said, notes
}

// unnamed returns a member of the arguments that neither the schema nor the overlay names, if it may change what others mean.
func (c *Call) unnamed() (path string, ok bool) {
	i := slices.IndexFunc(c.Undeclared.Beside, func(path string) bool { return !c.Overlay.Names(path) })
	if i < 0 {
		return "", false
	}
	return c.Undeclared.Beside[i], true
}

// located returns the call with the readings of its paths at this moment.
func (g *Guard) located(c *Call) *Call {
	if g.opts.Files == nil {
		return c
	}
	there := *c
	there.read.forms, there.read.unsure = g.forms(c)
	if !c.asked {
		there.read.runs = g.opts.Files.Runs(g.touch(c))
	}
	return &there
}

// foreign returns the label of what strangers may have written among the files that a call reads.
func (g *Guard) foreign(c *Call, reads []string) (l label.Label) {
	if g.opts.Files == nil {
		return l
	}
	for _, uri := range reads {
		if scheme, _, ok := strings.Cut(uri, ":"); !ok || !strings.EqualFold(scheme, "file") {
			continue
		}
		if path, _, open := strings.Cut(uri, "{"); open || g.opts.Files.Foreign(c.Server, path) != "" {
			return strangers()
		}
	}
	return l
}

// strangers returns the label of a file of which nobody knows who wrote it.
func strangers() label.Label {
	return label.Label{Untrusted: true, Sources: label.SetOf(label.UntrustedPublic)}.Normal()
}

// readsOf returns the resources whose contents a call may return or pass on. A tool whose contract says that it returns
// the user's data, and of which nobody says what it reads, reads what its arguments name.
func (g *Guard) readsOf(c *Call, r policy.Resources) []string {
	reads := slices.Clip(r.Reads)
	if c.Method == "resources/read" {
		reads = append(reads, c.Name)
	}
	if r.Known || g.opts.Files == nil || c.Overlay == nil || !c.Effective.Sources.Has(label.UserSource) {
		return reads
	}
	everyText(c.Arguments, "", func(path, text string, name bool) {
		if !name && isPath(path, text) {
			reads = append(reads, fileURI(text))
		}
	})
	return reads
}

// fileURI returns the URI of a path.
func fileURI(path string) string {
	if len(path) >= 5 && strings.EqualFold(path[:5], "file:") {
		return path
	}
	return "file://" + path
}
