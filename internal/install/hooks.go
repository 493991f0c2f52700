package install

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/internal/hostfile"
	"github.com/weir-mcp/weir/internal/hosts"
	"github.com/weir-mcp/weir/internal/pattern"
	"github.com/weir-mcp/weir/internal/rawjson"
)

// A HookFile is the file in which a host keeps its hooks, and how it would change: one hook of Weir for each event.
type HookFile struct {
	Host   hosts.Host
	Path   string
	Added  []hostfile.Element // hooks of Weir that come
	Stale  []hostfile.Element // hooks of Weir that go, since they do not run this Weir as it should
	Absent bool               // there is no hook of Weir
	Off    bool               // the file says that no hook runs
	Plugin bool               // the file is a plugin that is written whole

	Setting *hosts.Setting // the file is one of settings, which have the host read the hooks; nil for others
	Borrows bool           // the settings have the host run the hooks of Claude Code too

	target string // where links lead
	before []byte // nil: the file is not there
	after  []byte
}

// Changes reports whether the file is to change.
func (f *HookFile) Changes() bool {
	return f.Plugin || f.Setting != nil && f.Absent || len(f.Added)+len(f.Stale) > 0
}

// format returns the syntax of the file.
func (f *HookFile) format() hosts.Format {
	if f.Setting != nil {
		return f.Setting.File.Format
	}
	return f.Host.Hooks.File.Format
}

// isHere reports whether a host is used on this machine: the folder of its hooks is there, or a file of its servers.
func isHere(i *Installer, h hosts.Host, path string) bool {
	paths := []string{filepath.Dir(path)}
	for _, f := range h.Files {
		if servers, ok := f.Resolve(i.opts.Machine); ok && f.Scope == hosts.User {
			paths = append(paths, servers)
		}
	}
	return slices.ContainsFunc(paths, func(p string) bool { _, err := os.Stat(p); return err == nil })
}

// planHooks reads the file of a host's hooks and says how it would change.
func planHooks(i *Installer, h hosts.Host, path string) (*HookFile, error) {
	if h.Hooks.Plugin {
		return planPlugin(i, h, path)
	}
	f := &HookFile{Host: h, Path: path, Absent: true}
	var err error
	f.target, f.before, err = read(path, "")
	src := f.before
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.target, src = path, []byte(cmp.Or(h.Hooks.New, "{\n}\n"))
		if info, err := os.Lstat(path); err == nil {
			return nil, fmt.Errorf("it is a %s that leads nowhere", info.Mode().Type())
		}
	case err != nil:
		return nil, err
	}
	f.Off = SwitchedOff(hostfile.Standard(src))
	args, err := hookArguments(i, h)
	if err != nil {
		return nil, err
	}
	for _, event := range h.Hooks.Events {
		want, err := hookOf(i, h, event, args)
		if err != nil {
			return nil, err
		}
		there, err := hostfile.Elements(h.Hooks.File.Format, src, want.Array)
		if err != nil {
			return nil, err
		}
		found := false
		for _, e := range there {
			switch same := string(rawjson.Canonical(e.Value)) == string(rawjson.Canonical(want.Value)); {
			case same && !found:
				found, f.Absent = true, false
			case same || runsHook(e.Value, h.ID):
				f.Stale = append(f.Stale, e)
				f.Absent = false
			}
		}
		if !found {
			f.Added = append(f.Added, want)
		}
	}
	if f.after, err = hostfile.Without(h.Hooks.File.Format, src, src, f.Stale); err == nil {
		f.after, err = hostfile.Append(h.Hooks.File.Format, f.after, f.Added)
	}
	return f, err
}

// planPlugin says how the file of a plugin would change.
func planPlugin(i *Installer, h hosts.Host, path string) (*HookFile, error) {
	f := &HookFile{Host: h, Path: path, Absent: true}
	var err error
	f.target, f.before, err = read(path, "")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.target = path
		if info, err := os.Lstat(path); err == nil {
			return nil, fmt.Errorf("it is a %s that leads nowhere", info.Mode().Type())
		}
	case err != nil:
		return nil, err
	case !isPlugin(f.before):
		return nil, errors.New("it is a plugin that weir install did not write; rename it")
	default:
		f.Absent = false
	}
	args, err := hookArguments(i, h)
	if err != nil {
		return nil, err
	}
	text, err := renderPlugin(i.opts.Exe, args)
	f.after, f.Plugin = text, string(f.before) != string(text)
	return f, err
}

// SwitchedOff reports whether a file may say that no hook runs, or not that of Weir: all but settings that are known to
// leave it on.
func SwitchedOff(src []byte) bool {
	if off, ok := rawjson.Get(src, "disableAllHooks"); ok && string(off) != "false" {
		return true
	}
	if keys, ok := rawjson.Get(src, "disabledHooks"); ok && string(rawjson.Canonical(keys)) != "[]" {
		return true
	}
	some, ok := rawjson.Get(src, "hooksConfig")
	if ok && rawjson.Kind(some) != '{' {
		return true
	}
	for member, v := range rawjson.Members(some) {
		switch {
		case member == "notifications", member == "enabled" && string(v) == "true":
		case member != "disabled" || rawjson.Kind(v) != '[':
			return true
		default:
			for name := range rawjson.Elements(v) {
				if text, ok := rawjson.String(name); !ok || !otherHook().MatchString(text) || strings.EqualFold(text, "weir") {
					return true
				}
			}
		}
	}
	return false
}

// otherHook is the name of a hook in which the host replaces nothing.
var otherHook = pattern.New(`^[A-Za-z0-9_-]+$`)

// hookArguments returns the arguments of weir hook that every event has: its places and the home directory, the configuration of the user's
// servers if there is one, and the entries that run Weir: those that weir install wrote, and those that the user wrote for every project.
func hookArguments(i *Installer, h hosts.Host) (args []string, err error) {
	vars := maps.Clone(i.opts.Env)
	if vars == nil {
		vars = map[string]string{}
	}
	if i.opts.Machine.Home != "" {
		vars["HOME"] = i.opts.Machine.Home // a project may set it, and folders of the user's own work begin with ~
	}
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		args = append(args, "--env", name+"="+vars[name])
	}
	plan, err := i.Plan(Selection{Hosts: []string{h.ID}})
	if err != nil {
		return nil, err
	}
	config, entries := "", []string{}
	for _, file := range plan.Files {
		for _, p := range file.Parts {
			if p.Installed && !slices.Contains(entries, p.Entry) {
				entries = append(entries, p.Entry)
			}
			for _, name := range p.Behind {
				if h.Session == "" && p.Scope == hosts.User && !slices.Contains(entries, name) {
					entries = append(entries, name)
				}
			}
			if p.Installed && p.Scope == hosts.User && config == "" {
				config = p.Config
			}
		}
	}
	if config != "" {
		args = append(args, "--config", config)
	}
	for _, name := range entries {
		args = append(args, "--entry", name)
	}
	return args, nil
}

// otherwise ends the command line of a hook whose host lets the tool run after any failure but one: with that one, and
// a reason. A beginning that nobody sees denies nothing by itself: the conversation counts as the worst then.
func otherwise(h hosts.Host, event string) string {
	if event == h.Hooks.Events[0] {
		return " || { echo 'weir gave no answer' >&2; exit 1; }"
	}
	return " || { echo 'weir gave no answer, so this is denied' >&2; exit 2; }"
}

// hookOf returns the hook of an event, as the host has it in its file.
func hookOf(i *Installer, h hosts.Host, event string, args []string) (e hostfile.Element, err error) {
	args = slices.Concat([]string{"hook", h.ID, event}, args)
	hook := map[string]any{"type": "command"}
	if h.Hooks.Listed {
		hook["command"], hook["args"] = i.opts.Exe, args
	} else {
		line, err := commandLine(i.opts.Machine.OS, append([]string{i.opts.Exe}, args...))
		if err != nil {
			return e, err
		}
		if h.Hooks.Guarded && i.opts.Machine.OS != "windows" {
			line += otherwise(h, event)
		}
		hook[cmp.Or(h.Hooks.Command, "command")] = line
	}
	for _, m := range h.Hooks.Extra {
		hook[m.Name] = json.RawMessage(m.Value)
	}
	value := any(hook)
	if !h.Hooks.Flat {
		value = map[string]any{"hooks": []any{hook}}
	}
	text, err := json.Marshal(value)
	return hostfile.Element{Array: slices.Concat(h.Hooks.File.List, []string{event}), Value: text}, err
}

// commandLine returns words for the shell of a host. On Windows that is cmd.exe or PowerShell, which quote differently: there no word may
// need quotes.
func commandLine(system string, words []string) (string, error) {
	signs := "-_./=:@%+,"
	if system == "windows" {
		signs = `-_./=:+\`
	}
	line := make([]string, len(words))
	for i, word := range words {
		special := strings.ContainsFunc(word, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune(signs, r)
		})
		switch {
		case word != "" && !special:
			line[i] = word
		case system == "windows":
			return "", &hostfile.Error{Msg: fmt.Sprintf("the shells of Windows read %+.200q in a hook differently", word),
				Hint: "put weir and its state in folders with names of letters, digits, - and _ without accents or spaces"}
		default:
			line[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(line, " "), nil
}

// runsHook reports whether a hook runs weir hook for a host, and nothing else.
func runsHook(value []byte, host string) bool {
	list, grouped := rawjson.Get(value, "hooks")
	if !grouped {
		return runsWeirFor(value, host)
	}
	n, ours := 0, false
	for one := range rawjson.Elements(list) {
		n++
		ours = runsWeirFor(one, host)
	}
	return n == 1 && ours
}

// runsWeirFor reports whether a program of a hook is weir hook for a host.
func runsWeirFor(one []byte, host string) bool {
	words := []string{}
	for _, name := range []string{"command", "bash"} {
		raw, _ := rawjson.Get(one, name)
		command, _ := rawjson.String(raw)
		words = append(words, strings.Fields(command)...)
	}
	rest, _ := rawjson.Get(one, "args")
	for arg := range rawjson.Elements(rest) {
		text, _ := rawjson.String(arg)
		words = append(words, text)
	}
	at := slices.Index(words, "hook")
	return at > 0 && at+1 < len(words) && words[at+1] == host &&
		strings.HasPrefix(filepath.Base(strings.Trim(filepath.ToSlash(words[at-1]), `'"`)), "weir")
}

// Diff returns the hooks that go and come, one in a line. The lines are not fit to be shown raw.
func (f *HookFile) Diff() (lines []string) {
	switch {
	case f.Plugin:
		return changedLines(f.before, f.after)
	case f.Setting != nil && f.Absent:
		return []string{settingDiff("+", member(f.Setting))}
	}
	for _, side := range []struct {
		sign string
		all  []hostfile.Element
	}{{"-", f.Stale}, {"+", f.Added}} {
		for _, e := range side.all {
			lines = append(lines, fmt.Sprintf("%s %s: %s", side.sign, strings.Join(e.Array, "."), e.Value))
		}
	}
	return lines
}
