package hook

import (
	"context"
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/internal/cmdline"
	"github.com/weir-mcp/weir/internal/pattern"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/label"
)

// maxOrigins is of how many names in a result it is asked who may have written their files.
const maxOrigins = 4096

var (
	colon   = pattern.New(`:`)
	numbers = pattern.New(`^[0-9 \t]+$`)
)

// A sight is the folders of which a call shows files at any depth: their names, or their contents.
type sight struct {
	trees []cmdline.Tree
	form  cmdline.Form // how its result names each file below these; "" if that is not known
}

// sightOf returns the sight of a call, of a command in the folder where it runs. A tool that goes through folders
// leaves out those of version control.
func sightOf(e *Event, known Ground, args json.RawMessage) (s sight) {
	if e.Tool == e.Host.shell.tool {
		raw, _ := rawjson.Get(args, "command")
		line, _ := rawjson.String(raw)
		deed, ok := e.Host.shell.reads(line)
		if _, apart := rawjson.Get(args, "run_in_background"); ok && e.Host.streams && !apart && !isAnywhere(e) {
			s.form = deed.Told
		}
		s.trees = deed.Trees
		return s
	}
	var folders []string
	if found, searches := e.Host.searches[e.Tool]; searches && !found.flat {
		folders = e.folders(known, found)
	} else if raw, given := rawjson.Get(args, e.Host.paths[e.Tool]); given && !searches {
		if p, ok := rawjson.String(raw); ok { // some show a folder in the place of a file
			folders = []string{p}
		}
	}
	for _, p := range folders {
		s.trees = append(s.trees, cmdline.Tree{Path: p, Hidden: true, Except: versions})
	}
	if e.Host.search != "" {
		s.form = listing(e.Tool, args)
	}
	return s
}

// versions are the folders of version control.
var versions = []string{".git", ".hg", ".svn", ".jj", ".bzr", "_darcs"}

// listing returns how the result of a search of Claude Code names files.
func listing(tool string, args json.RawMessage) cmdline.Form {
	var told struct {
		Mode    string `json:"output_mode"`
		Numbers *bool  `json:"-n"`
		Context *int   `json:"context"`
		A       *int   `json:"-A"`
		B       *int   `json:"-B"`
		C       *int   `json:"-C"`
	}
	switch {
	case tool != "Grep" && tool != "Glob" || json.Unmarshal(args, &told) != nil:
		return ""
	case tool == "Glob" || told.Mode == "" || told.Mode == "files_with_matches":
		return cmdline.Paths
	case told.Mode == "count" || told.Numbers != nil && !*told.Numbers && told.Context == nil && told.A == nil && told.B == nil && told.C == nil:
		return cmdline.Named
	}
	return cmdline.Lines
}

// below returns the label of the untrusted content that a call shows of files below folders. Where the result names
// each file, it counts when it is there, and only if one of these is of another author, or if that is not known: it may
// be one that the call was to leave out.
func below(ctx context.Context, e *Event, known Ground, args json.RawMessage) (l label.Label) {
	if known == nil || e.Tool == "" || e.strange(known) != "" {
		return l // it counts as the worst
	}
	if e.Tool == e.Host.shell.tool {
		e = e.inFolder(args)
	}
	s := sightOf(e, known, args)
	if len(s.trees) == 0 {
		return l
	}
	after := e.Name == PostToolUse || e.Name == PostFailure
	if s.form != "" && (!after || e.Name == PostToolUse && namesOwn(e, known, args, s.form)) {
		return l
	}
	find := newFinder(e, known)
	if slices.ContainsFunc(s.trees, func(t cmdline.Tree) bool {
		return slices.ContainsFunc(find.located(ctx, []string{t.Path}), func(p string) bool {
			return known.Foreign(Server, p) == "" && known.Inside(Server, p, func(name string) bool {
				return s.form == "" && (!t.Hidden && strings.HasPrefix(name, ".") || slices.Contains(t.Except, name))
			}) != ""
		})
	}) {
		return label.Label{Untrusted: true, Sources: label.SetOf(label.UntrustedPublic)}.Normal()
	}
	return l
}

// namesOwn reports whether a result of a form names files of the user's own work alone.
func namesOwn(e *Event, known Ground, args json.RawMessage, form cmdline.Form) bool {
	var told struct {
		Content, Stdout *string
		Filenames       []string
		output
	}
	if json.Unmarshal(e.Response, &told) != nil || told.isElsewhere() {
		return false
	}
	o := origins{shelf: newShelf(e, args), known: known, seen: map[string]bool{}}
	text := told.Stdout
	if e.Tool != e.Host.shell.tool {
		if text = told.Content; text == nil && told.Filenames != nil {
			text = new(string)
		}
	}
	return text != nil && !slices.ContainsFunc(told.Filenames, func(name string) bool { return !o.own(name) }) &&
		everyLine(*text, func(line string) bool { return o.ownLine(line, form) })
}

// origins knows who may have written the files that a result names.
type origins struct {
	*shelf
	known Ground
	seen  map[string]bool // the names so far
}

// own reports whether a name is one of a file that is there, and of the user's own work in whichever folder it may be.
func (o *origins) own(name string) bool {
	own, ok := o.seen[name]
	if ok || len(o.seen) >= maxOrigins || strings.Contains(name, "\uFFFD") {
		return own
	}
	bases := o.bases
	if filepath.IsAbs(name) {
		bases = []string{""}
	}
	for _, base := range bases {
		p := base + "/" + name // not cleaned, since ".." may follow a link
		if o.known.Foreign(Server, p) != "" {
			own = false
			break
		}
		_, err := os.Lstat(p)
		own = own || err == nil
	}
	o.seen[name] = own
	return own
}

// ownLine is own for a line of a form. A name that may go on behind its first end is not known.
func (o *origins) ownLine(line string, form cmdline.Form) bool {
	switch form {
	case cmdline.Counts:
		return numbers().MatchString(line)
	case cmdline.Paths:
		return o.own(line)
	case cmdline.Lines:
		o.end = nameEnd()
	case cmdline.Named:
		o.end = colon()
	}
	at := o.end.FindStringIndex(line)
	if at == nil {
		return form == cmdline.Lines && line == "--"
	}
	dir, start := path.Split(line[:at[1]])
	return o.own(line[:at[0]]) && !o.goesOn(dir, start)
}
