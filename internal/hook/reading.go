package hook

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/cmdline"
	"github.com/weir-mcp/weir/internal/expression"
	"github.com/weir-mcp/weir/internal/pattern"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/label"
)

// Ground knows the files of this machine.
type Ground interface {
	// Foreign says why a file may hold untrusted content; "" if it is the user's own work.
	Foreign(server, path string) string

	// Locate returns where a path leads.
	Locate(server, path string) guard.Place

	// Starts returns a program that git may start by the repository that a file is in, beside a plain clone; "" if
	// there is none.
	Starts(server, path string) string
}

// The members that a call of a shell or a search gets beside its arguments, for the overlay and for rules: the deed
// of the command (cmdline.Deed), with absolute paths. A call that has one of them already is one that nothing is
// known of: see strange.
const (
	memberDoes   = "does"   // the doing; "any" if it is not known
	memberWithin = "within" // files and folders that it looks at
	memberShows  = "shows"  // files whose contents the result may hold
	memberWrites = "writes" // files that it writes
	memberOthers = "others" // the result may hold text of commits outside of the history of the work tree
	memberNames  = "names"  // the result names each file of which it holds contents, so it tells whether it may hold credentials
)

// completed returns the arguments of a call with the members that its folder gives it.
func (e *Event) completed(known Ground) (json.RawMessage, error) {
	args, err := e.arguments(known)
	if err != nil || known == nil || e.strange(known) != "" || e.Tool == "" {
		return args, err
	}
	if e.Tool == e.Host.shell.tool {
		return e.understood(known, args)
	}
	if s, searches := e.Host.searches[e.Tool]; searches {
		shows, ok := e.located(known, e.folders(known, s))
		if !ok {
			shows = []string{everything}
		}
		args, err = withMembers(args, map[string]any{memberShows: withContents(known, shows)})
	}
	if err != nil || e.Tool != e.Host.search {
		return args, err
	}
	return e.searched(known, args)
}

// understood adds the deed of a command. A command that does more than read has to stay in folders of the user's
// own work.
func (e *Event) understood(known Ground, args json.RawMessage) (json.RawMessage, error) {
	e = e.inFolder(args)
	raw, _ := rawjson.Get(args, "command")
	line, _ := rawjson.String(raw)
	deed, ok := e.Host.shell.reads(line)
	if !ok || e.reachesHosts(known, deed) || deed.Hooks && e.isAnywhere() {
		return withMembers(args, anything)
	}
	if !e.isAnywhere() {
		deed.Writes = append(deed.Writes, e.into(known, deed)...)
	}
	for _, paths := range []*[]string{&deed.Within, &deed.Shows, &deed.Writes} {
		if *paths, ok = e.located(known, *paths); !ok {
			return withMembers(args, anything)
		}
	}
	if deed.Hooks && slices.ContainsFunc(deed.Within, func(p string) bool { return known.Starts(Server, p) != "" }) {
		deed.Does = cmdline.Building
	}
	if deed.Does != cmdline.Reading && slices.ContainsFunc(slices.Concat(deed.Within, deed.Writes), func(p string) bool {
		return known.Foreign(Server, p) != ""
	}) {
		return withMembers(args, anything)
	}
	members := map[string]any{
		memberDoes: deed.Does, memberWithin: deed.Within, memberShows: withContents(known, deed.Shows),
		memberWrites: deed.Writes, memberOthers: deed.Others,
	}
	_, apart := rawjson.Get(args, "run_in_background") // its output comes with other calls
	if deed.Names != "" && !apart && e.Host.streams && !slices.ContainsFunc(deed.Shows, func(p string) bool { return speaksOfSecrets(known, p) }) {
		members[memberNames] = deed.Names
	}
	return withMembers(args, members)
}

// isAnywhere reports whether a command may run in any folder, as far as the event tells.
func (e *Event) isAnywhere() bool { return e.Host.roams || e.Folder == "" }

// inFolder returns the event of a command with the folder in which the command runs; "" if it is not known.
func (e *Event) inFolder(args json.RawMessage) *Event {
	raw, given := rawjson.Get(args, e.Host.shell.folder)
	if e.Host.shell.folder == "" || !given {
		return e
	}
	at := *e
	dir, ok := rawjson.String(raw)
	switch {
	case !ok:
		at.Folder = ""
	case path.IsAbs(dir):
		at.Folder = dir
	default:
		at.Folder = e.Folder + "/" + dir
	}
	return &at
}

// anything are the members of a command that may do more than its words say, so it does not count as one that reads.
var anything = map[string]any{
	memberDoes: "any", memberWithin: []string{"/"}, memberShows: []string{"/"}, memberWrites: []string{}, memberOthers: true,
}

// reachesHosts reports whether a path may lead to another host: by a share of Windows, or a folder in which hosts are
// mounted when they are named, by its text or where its links lead. To look at it would be a connection already.
func (e *Event) reachesHosts(known Ground, deed cmdline.Deed) bool {
	return slices.ContainsFunc(slices.Concat(deed.Within, deed.Shows, deed.Writes, deed.Into), func(p string) bool {
		if share().MatchString(p) {
			return true
		}
		known := known
		if !strings.HasPrefix(p, "/") {
			p = e.Folder + "/" + p
			if e.isAnywhere() {
				known = nil
			}
		}
		return mounts().MatchString(path.Clean(p)) || known != nil && len(known.Locate(Server, p).Names) == 0
	})
}

var (
	share  = pattern.New(`^[/\\]{2}[^/ ]`)
	mounts = pattern.New(`(?i)^/(net|afs)(/|$)`)
)

// into returns the files that a copy writes below its target, unless that is a file.
func (e *Event) into(known Ground, deed cmdline.Deed) []string {
	return slices.DeleteFunc(slices.Clone(deed.Into), func(p string) bool {
		if !strings.HasPrefix(p, "/") {
			p = e.Folder + "/" + p
		}
		info, err := look(known, p[:strings.LastIndexByte(p, '/')])
		return err == nil && info.Mode().IsRegular()
	})
}

// withContents adds to each folder a file in it of which nothing is known, so that the name of the folder does not
// stand for them.
func withContents(known Ground, paths []string) []string {
	all := slices.Clone(paths)
	for _, p := range paths {
		if info, err := look(known, p); err == nil && info.IsDir() {
			all = append(all, filepath.Join(p, "*"))
		}
	}
	return all
}

// speaksOfSecrets reports whether a file, or some file in a folder, may hold credentials, whatever a result calls it.
// The path is the one that links lead to.
func speaksOfSecrets(known Ground, p string) bool {
	switch info, err := look(known, p); {
	case errors.Is(err, fs.ErrNotExist):
		return false
	case err == nil && info.IsDir() && p != "/":
		p = filepath.Join(p, "a.txt")
	}
	return !expression.PathNoSecrets(p)
}

// searched adds to a search of a folder that its result names each file, if it is to show lines.
func (e *Event) searched(known Ground, args json.RawMessage) (json.RawMessage, error) {
	var told struct {
		Path string
		Mode string `json:"output_mode"`
		Glob string
	}
	if json.Unmarshal(args, &told) != nil || told.Mode != "content" ||
		told.Glob != "" && !expression.PathNoSecrets(strings.ReplaceAll(told.Glob, "*", "x")) {
		return args, nil
	}
	if rest := strings.TrimPrefix(told.Path, e.Folder); told.Path == everything || otherName().MatchString(rest) {
		return args, nil
	}
	if !strings.HasPrefix(told.Path, "/") {
		told.Path = e.Folder + "/" + told.Path
	}
	if info, err := look(known, told.Path); err != nil || !info.IsDir() {
		return args, nil
	}
	return withMembers(args, map[string]any{memberNames: cmdline.Lines})
}

var (
	fileLine   = pattern.New(`^(.+?)[:-][0-9]+[:-]`)
	otherName  = pattern.New(`[:-][0-9]+[:-]|(^|/)\.\.(/|$)`) // of a folder: a line has the end of its name elsewhere
	fileHeader = pattern.New(`^diff --git a/(.+) b/(.+)$`)
	ofLog      = pattern.New(`^(commit [0-9a-f]+( .*)?|(Author|Date|Merge): .*|[0-9a-f]{4,64} .*|[0-9]+\t[0-9]+\t.*| .*|---)$`)
)

// mayTell returns the label of a result of which its call was decided on as one that names each file: that of
// credentials if it names one that may hold some, or if it cannot be read.
func (e *Event) mayTell(args json.RawMessage) (l label.Label) {
	raw, named := rawjson.Get(args, memberNames)
	if !named {
		return l
	}
	name, _ := rawjson.String(raw)
	form := cmdline.Form(name)
	var told struct {
		Content, Stdout *string
		Stderr          string

		// Where the rest of the output is.
		BackgroundTaskID, RawOutputPath, PersistedOutputPath string
	}
	if json.Unmarshal(e.Response, &told) == nil && told.Stderr+told.BackgroundTaskID+told.RawOutputPath+told.PersistedOutputPath == "" {
		text := told.Stdout
		if e.Tool == e.Host.search {
			text = told.Content
		}
		if text != nil && harmless(*text, form) {
			return l
		}
	}
	return label.Label{Private: true, Sensitivity: label.SetOf(label.Credentials, label.Unspecified)}.Normal()
}

// harmless reports whether an output of a form names files that hold no credentials, and no others.
func harmless(text string, form cmdline.Form) bool {
	switch form {
	case cmdline.Lines:
		return everyLine(text, func(line string) bool { return line == "--" || names(fileLine(), line) })
	case cmdline.Patch:
		before, _, found := strings.Cut("\n"+text, "\ndiff --git ")
		return text == "" || found && everyLine(before, ofLog().MatchString) && everyLine(text, func(line string) bool {
			return !strings.HasPrefix(line, "diff ") || names(fileHeader(), line)
		})
	}
	return false
}

func everyLine(text string, ok func(string) bool) bool {
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, "\r\n"); line != "" && !ok(line) {
			return false
		}
	}
	return true
}

// names reports whether a line names files, and none of them may hold credentials.
func names(form *regexp.Regexp, line string) bool {
	m := form.FindStringSubmatch(line)
	return m != nil && !slices.ContainsFunc(m[1:], func(name string) bool { return !expression.PathNoSecrets(name) })
}
