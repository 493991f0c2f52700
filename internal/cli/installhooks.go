package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/install"
	"github.com/weir-mcp/weir/internal/plain"
)

// A hookView is the file of a host's hooks as it is shown.
type hookView struct {
	Host    string   `json:"host"`
	Path    string   `json:"path"`
	Diff    []string `json:"diff,omitempty"`
	Changed bool     `json:"changed"` // it was written
	Error   string   `json:"error,omitempty"`
}

// installHooks has the selected hosts run weir hook, as far as they have hooks.
func installHooks(ctx context.Context, env *home.Env, in *install.Installer, chosen install.Selection, flags *installFlags) (
	[]*hookView, []install.Note, error) {
	views := []*hookView{}
	if flags.noHooks {
		return views, nil, nil
	}
	all, notes := in.Hooks(chosen)
	for _, f := range all {
		v := &hookView{Host: f.Host.ID, Path: f.Path, Diff: f.Diff()}
		views = append(views, v)
		if !flags.json {
			fmt.Fprintf(env.Stdout, "%s, hooks: %s\n", v.Host, plain.Text(f.Path, maxError))
			if !f.Changes() {
				fmt.Fprintln(env.Stdout, "  nothing to change")
			}
			printDiff(env.Stdout, v.Diff)
		}
		if !f.Changes() || flags.dry {
			continue
		}
		if err := agree(ctx, env, flags, "Change "+plain.Text(f.Path, maxError)+"?"); err != nil {
			return views, notes, err
		}
		if err := in.ApplyHooks(f); err != nil {
			v.Error = err.Error()
			printError(env.Stderr, v.Error, "run weir install again")
			continue
		}
		v.Changed = true
		if !flags.json {
			fmt.Fprintf(env.Stdout, "%s asks weir before its own tools run; restart it\n", f.Host.Name)
			if f.Host.Hooks.Trust != "" {
				fmt.Fprintf(env.Stdout, "  %s\n", f.Host.Hooks.Trust)
			}
		}
	}
	return views, notes, nil
}

// hooksOf reports hooks of hosts that are not as weir install would have them.
func (d *doctor) hooksOf(in *install.Installer) {
	all, notes := in.Hooks(install.Selection{})
	for _, n := range notes {
		d.find("hook", n.Path, orElse(n.Hint, "correct it"), "%s: %s", n.Host, n.Text)
	}
	lends := slices.ContainsFunc(all, func(f *install.HookFile) bool { return f.Host.ID == "claude-code" && !f.Absent })
	for _, f := range all {
		again := "weir install " + f.Host.ID
		if f.Borrows && lends {
			d.find("hook", f.Path, "set "+f.Setting.Also+" to false",
				"%s runs weir's hooks of Claude Code too: they decide on each call a second time, as on one of a tool of which nothing is known", f.Host.ID)
		}
		switch {
		case f.Off:
			d.find("hook", f.Path, howOn(f.Host), "%s runs no hooks, so its own tools pass weir by", f.Host.ID)
		case f.Absent && f.Setting != nil:
			d.find("hook", f.Path, again, "%s does not read the file of weir's hooks: its terminal, files and fetches pass weir by", f.Host.ID)
		case f.Absent:
			d.find("hook", f.Path, again, "%s does not run weir before its own tools: its shell, files and fetches pass weir by", f.Host.ID)
		case f.Changes():
			d.find("hook", f.Path, again, "%s does not run weir before and after its own tools as it should", f.Host.ID)
		}
	}
}
