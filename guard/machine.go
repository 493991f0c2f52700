package guard

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/label"
)

// A machine finds out how calls touch the files of this machine.
type machine struct{ files Files } // nil: the text of a path is all that is known

// own returns the things of Weir's own that a call would touch.
func (m machine) own(r *request) string {
	if m.files == nil {
		return ""
	}
	return m.files.Own(touch(r))
}

// touch returns the call as it may touch files.
func touch(r *request) Touch {
	if r.texts == nil {
		r.texts = textsOf(r)
	}
	return Touch{Server: r.Server, Name: r.Name, Changes: r.Effective.ReadOnly != contract.Yes, Texts: r.texts}
}

// textsOf returns all of a call's values and names.
func textsOf(r *request) (texts []Text) {
	content := contentPaths(r)
	add := func(path, text string, name bool) {
		texts = append(texts, Text{path, text, name, content[path]})
	}
	everyText(r.Arguments, "", add)
	value := func(path, text string, name bool) {
		if !name && !(path == "name" && text == r.Name) {
			add(path, text, name)
		}
	}
	if rawjson.Kind(r.Params) != '{' {
		everyText(r.Params, "", value)
	}
	for member, inner := range rawjson.Members(r.Params) {
		if member != "_meta" && member != "arguments" {
			everyText(inner, member, value)
		}
	}
	for _, uri := range slices.Concat(r.resources.Reads, r.resources.Writes) {
		texts = append(texts, Text{Path: "resource", Text: uri, Content: true})
	}
	return texts
}

// contentPaths returns the paths of the arguments that the operator says are content.
func contentPaths(r *request) (content map[string]bool) {
	for _, a := range r.roles.Contents {
		if content == nil {
			content = map[string]bool{}
		}
		content[a.Path] = true
	}
	return content
}

// read returns how the server may read the paths of a call at this moment.
func (m machine) read(r *request) (at reading) {
	if m.files == nil || r.asked {
		return at
	}
	at.forms, at.unsure = m.forms(r)
	at.runs = m.files.Runs(touch(r))
	return at
}

// forms returns the arguments as the server may read them where that differs from their text: with each path replaced
// by where it leads. Unsure is whether one may lead elsewhere too.
func (m machine) forms(r *request) (forms []json.RawMessage, unsure bool) {
	found := finder{files: m.files, server: r.Server, content: contentPaths(r)}
	first := found.replace(r.Arguments, "", 0)
	for n := range min(found.most, maxForms) {
		if n > 0 {
			first = found.replace(r.Arguments, "", n)
		}
		forms = append(forms, first)
	}
	return forms, found.unsure || found.most > maxForms
}

// maxLooked is how many files and folders of one call are looked at for content of other authors. More count as such.
const maxLooked = 128

// foreign returns the label of untrusted content in the files that a call reads. A folder stands for all that lies
// below it, unless the overlay says that the call lists it alone. What tools of the host show is in the context of the
// call.
func (m machine) foreign(r *request, reads []string) (l label.Label) {
	if m.files == nil {
		return l
	}
	looked := map[string]bool{}
	for _, uri := range reads {
		if scheme, _, ok := strings.Cut(uri, ":"); !ok || !strings.EqualFold(scheme, "file") || looked[uri] {
			continue
		}
		looked[uri] = true
		path, _, open := strings.Cut(uri, "{")
		if open || len(looked) > maxLooked || m.files.Foreign(r.Server, path) != "" {
			return untrusted()
		}
		if !r.Host && !slices.Contains(r.resources.Folders, uri) && m.files.Inside(r.Server, path, nil) != "" {
			return untrusted()
		}
	}
	return l
}

// readsOf returns the resources whose contents a call may return or pass on. A tool whose contract says that it returns
// the user's data, and of which nobody says what it reads, reads the files that its arguments name.
func (m machine) readsOf(r *request) []string {
	reads := slices.Clip(r.resources.Reads)
	if r.Method == "resources/read" {
		reads = append(reads, r.Name)
	}
	if r.resources.Known || m.files == nil || r.Overlay == nil || !r.Effective.Sources.Has(label.UserSource) {
		return reads
	}
	everyText(r.Arguments, "", func(path, text string, name bool) {
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
