package hook

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/internal/cmdline"
	"github.com/weir-mcp/weir/internal/expression"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/label"
)

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
func (e *Event) completed(ctx context.Context, known Ground) (json.RawMessage, error) {
	args, err := e.arguments(known)
	if err != nil || known == nil || e.strange(known) != "" || e.Tool == "" {
		return args, err
	}
	if e.Tool == e.Host.shell.tool {
		return e.understood(ctx, known, args)
	}
	if s, searches := e.Host.searches[e.Tool]; searches {
		shows := newFinder(e, known).located(ctx, e.folders(known, s))
		args, err = withMembers(args, map[string]any{memberShows: withContents(known, shows)})
	}
	if err != nil || e.Tool != e.Host.search {
		return args, err
	}
	return e.searched(known, args)
}

// understood adds the deed of a command. A command that does more than read has to stay in folders of the user's
// own work.
func (e *Event) understood(ctx context.Context, known Ground, args json.RawMessage) (json.RawMessage, error) {
	e = e.inFolder(args)
	raw, _ := rawjson.Get(args, "command")
	line, _ := rawjson.String(raw)
	deed, ok := e.Host.shell.reads(line)
	if !ok || e.reachesHosts(known, deed) || deed.Hooks && isAnywhere(e) {
		return withMembers(args, anything)
	}
	find := newFinder(e, known)
	if slices.ContainsFunc(deed.Goes, find.mayDiffer) || find.passesLinks(ctx, deed.Moves) {
		return withMembers(args, anything)
	}
	deed.Within, deed.Shows, deed.Writes = find.located(ctx, deed.Within), find.located(ctx, deed.Shows), find.located(ctx, deed.Writes)
	if !isAnywhere(e) {
		deed.Writes = append(deed.Writes, find.located(ctx, e.into(known, deed))...)
	}
	if find.elsewhere {
		return withMembers(args, anything)
	}
	if deed.Hooks && find.runs(ctx, deed) {
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
		output
	}
	if json.Unmarshal(e.Response, &told) == nil && !told.isElsewhere() {
		text := told.Stdout
		if e.Tool == e.Host.search {
			text = told.Content
		}
		if text != nil && harmless(*text, form, newShelf(e, args)) {
			return l
		}
	}
	return label.Label{Private: true, Sensitivity: label.SetOf(label.Credentials, label.Unspecified)}.Normal()
}

// An output is the part of a result beside its text.
type output struct {
	Stderr string

	// Where the rest of the text is.
	BackgroundTaskID, RawOutputPath, PersistedOutputPath string
}

// isElsewhere reports whether there is more than the text.
func (o output) isElsewhere() bool {
	return o.Stderr+o.BackgroundTaskID+o.RawOutputPath+o.PersistedOutputPath != ""
}
