package cli

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/hostfile"
	"github.com/weir-mcp/weir/internal/hosts"
	"github.com/weir-mcp/weir/internal/install"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/setup"
	"github.com/weir-mcp/weir/internal/survey"
	"github.com/weir-mcp/weir/internal/upstream"
)

// switchedOff is the remedy for a file that keeps hooks from running.
const switchedOff = "remove disableAllHooks, disabledHooks or hooksConfig"

// howOn says how to have a host run its hooks again.
func howOn(h hosts.Host) string {
	if s := h.Hooks.Setting; s != nil {
		return "remove " + s.Use + ", and " + s.Name + " from " + s.File.List[0]
	}
	return switchedOff
}

// ownCode is the remedy for code of a project that runs in a host.
const ownCode = "see whether it is yours, and remove it if not: a host with code of others asks nobody"

// hooks looks for files of projects that keep hooks from running, and for hooks of Claude Code that answer
// elicitations, and so approval requests, without the user.
func (d *doctor) hooks(projects []string) {
	type place struct{ path, project string }
	settings := func(p place) []byte {
		src, err := install.Read(p.path, p.project)
		if data := hostfile.Standard(src); err == nil && rawjson.Check(data) == nil {
			return data
		}
		return nil
	}
	for _, project := range projects {
		for _, h := range hosts.Table {
			if h.Hooks == nil {
				continue
			}
			d.brought(h, project)
			for _, file := range h.Hooks.Offs {
				d.switchedOff(h, project, file)
			}
			for _, folder := range h.Hooks.Code {
				path := filepath.Join(project, filepath.FromSlash(folder))
				if all, err := os.ReadDir(path); len(all) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
					d.find("hook", path, ownCode, "its programs run in %s, and may keep it from asking weir", h.Name)
				}
			}
		}
	}
	var places []place
	m := hosts.Here(d.Env.Getenv)
	dir := filepath.Join(m.Home, ".claude")
	if own, _ := d.Getenv("CLAUDE_CONFIG_DIR"); filepath.IsAbs(own) {
		dir = own
	}
	for _, p := range []string{filepath.Join(dir, "settings.json"), "/etc/claude-code/managed-settings.json"} {
		places = append(places, place{p, ""})
	}
	for _, project := range projects {
		for _, name := range []string{"settings.json", "settings.local.json"} {
			places = append(places, place{filepath.Join(project, ".claude", name), project})
		}
	}
	for _, p := range places {
		data := settings(p)
		for _, event := range []string{"Elicitation", "ElicitationResult"} {
			if v, ok := rawjson.Get(data, "hooks", event); ok && string(v) != "[]" && string(v) != "null" {
				d.find("hook", p.path, "remove the hook, unless it is yours and answers nothing",
					"a hook of Claude Code runs at %s: it can approve calls in the user's place", event)
			}
		}
	}
}

// brought reports files of a project by which a host puts files into conversations, and files of the user that say
// something else to the host than to weir.
func (d *doctor) brought(h hosts.Host, project string) {
	m := hosts.Here(d.Env.Getenv)
	by, _ := install.Brought(m, h, project)
	for _, path := range by {
		d.find("hook", path, "see whether it is yours: docs/hooks.md says which settings and texts do so",
			"by it %s may put any file of yours into conversations, unseen by weir: they count as ones with credentials and untrusted content", h.Name)
	}
	for _, f := range slices.Concat(h.Files, h.Agents) {
		path, ok := f.Resolve(m)
		if src, err := install.Read(path, ""); ok && f.Scope == hosts.User && err == nil && install.Substitutes(h, src) {
			reported := func(found diagnosis) bool { return found.Where == path && found.Remedy == ownText }
			if !slices.ContainsFunc(d.findings, reported) {
				d.find("hook", path, ownText,
					"%s puts files or variables into it, so weir does not know the names of its servers, and decides on all of their calls", h.Name)
			}
		}
	}
}

// ownText is the remedy for settings that refer to files and variables.
const ownText = "write the values themselves, or keep them where the host keeps its credentials"

// switchedOff reports a file of a project that may keep the hooks of a host from running.
func (d *doctor) switchedOff(h hosts.Host, project, file string) {
	path := filepath.Join(project, filepath.FromSlash(file))
	if s, ok := h.Hooks.File.Resolve(hosts.Here(d.Env.Getenv)); ok && s == path {
		return // the user's own: see hooksOf
	}
	src, err := install.Read(path, project)
	data := hostfile.Standard(src)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
	case err != nil || !strings.HasSuffix(file, ".toml") && rawjson.Check(data) != nil:
		d.find("hook", path, "correct it", "it cannot be read, so it may keep the hooks of %s from running", h.Name)
	case strings.HasSuffix(file, ".toml"):
		if bytes.Contains(src, []byte("hooks")) || bytes.Contains(src, []byte(`\`)) {
			d.find("hook", path, "remove its settings of hooks, unless they are yours", "it may keep the hooks of %s from running", h.Name)
		}
	case h.Hooks.Plugin && install.LoadsCode(data):
		d.find("hook", path, ownCode, "it has %s load plugins, which may keep it from asking weir", h.Name)
	case h.Hooks.Steers && hasHooks(data):
		d.find("hook", path, "see whether they are yours, and remove them if not", "its hooks in %s may change a call after weir has decided on it", h.Name)
	case install.SwitchedOff(data), install.Unread(h, data):
		d.find("hook", path, howOn(h), "%s runs no hooks there, so its own tools pass weir by", h.Name)
	}
}

// hasHooks reports whether a file has a hook, or members that could be some.
func hasHooks(data []byte) bool {
	all, ok := rawjson.Get(data, "hooks")
	for _, list := range rawjson.Members(all) {
		if string(rawjson.Canonical(list)) != "[]" {
			return true
		}
	}
	return ok && rawjson.Kind(all) != '{'
}

// lastBytes is how much is kept of the output of a server.
const lastBytes = 2000

// A tail keeps the end of a text. It is safe for concurrent use.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if n := len(t.text) - lastBytes; n > 0 {
		t.text = bytes.Clone(t.text[n:])
	}
	return len(p), nil
}

// lines returns the last lines, as one.
func (t *tail) lines() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := strings.Split(strings.TrimSpace(string(t.text)), "\n")
	return strings.Join(all[max(0, len(all)-5):], " | ")
}

// startServers starts or reaches each server of a configuration, and asks for its lists.
func (d *doctor) startServers(with *home.Env, s *setup.Setup, p install.Part, hosted bool) {
	base, servers := with.BaseEnv(), setup.NewKeychain(with, s).Upstreams(s.Config)
	failures := make([]string, len(servers))
	var wg sync.WaitGroup
	for i, server := range servers {
		wg.Go(func() {
			var said tail
			opts := survey.Options{BaseEnv: base, MaxMessage: s.Config.Limits.Message, Stderr: &said}
			l := survey.Ask(d.ctx(), []upstream.Spec{server.Spec}, opts)[0]
			if l.Err == nil {
				return
			}
			failures[i] = l.Err.Error()
			if last := said.lines(); last != "" {
				failures[i] += "; its last output: " + last
			}
		})
	}
	wg.Wait()
	remedy := "run its command by hand, and see its output"
	if hosted {
		remedy += "; a value that only the host resolves is missing here"
	}
	for _, failed := range failures {
		if failed != "" {
			d.find("start", p.Config, remedy, "%s", failed)
		}
	}
}
