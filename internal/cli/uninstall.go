package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/install"
	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/internal/remedy"
)

func newUninstall(env *home.Env) *cobra.Command {
	var flags installFlags
	cmd := &cobra.Command{
		Use:   "uninstall [HOST…]",
		Short: "Give hosts their own servers back",
		Long: `Undo weir install, for all hosts or those that are named. A file that nobody has changed since
becomes what it was, byte for byte. In one that its host has rewritten, weir's entry gives way to
the servers that were there, and everything else stays as it is now. You see each change and are asked
before it is made.`,
		Example: `  weir uninstall
  weir uninstall --dry-run
  weir uninstall vscode --yes`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := flags.check(args); err != nil {
				return err
			}
			return uninstallFrom(cmd.Context(), env, args, &flags)
		},
	}
	flags.add(cmd)
	return cmd
}

// A removalView is a file of a host as weir uninstall shows it.
type removalView struct {
	Hosts   []string `json:"hosts"`
	Path    string   `json:"path"`
	How     string   `json:"how"`
	Back    []string `json:"back"`
	Kept    []string `json:"kept,omitempty"` // configurations that were changed since
	Diff    []string `json:"diff,omitempty"`
	Changed bool     `json:"changed"`
	Error   string   `json:"error,omitempty"`
}

func removalOf(m *install.Removal) *removalView {
	v := &removalView{Hosts: m.Hosts, Path: m.Path, Back: append([]string{}, m.Back...)}
	switch {
	case m.Err != nil:
		v.How, v.Error = "cannot be changed: "+m.Err.Error(), m.Err.Error()
	case m.Gone:
		v.How = "is gone; nothing to undo"
	case !m.Changes():
		v.How = "has no change of weir any more"
	case m.Deletes():
		v.How = "was made by weir install, and goes"
	case m.Exact:
		v.How = "becomes what it was, byte for byte"
	case m.OfHooks():
		v.How = "was changed since: weir's hooks go, the rest stays"
	default:
		v.How = "was changed since: weir's entry gives way to the servers that were there, the rest stays"
	}
	if m.Changes() {
		v.Diff = m.Diff()
	}
	return v
}

func uninstallFrom(ctx context.Context, env *home.Env, ids []string, flags *installFlags) error {
	in, err := installer(env)
	if err != nil {
		return err
	}
	all, err := in.Removals(install.Selection{Hosts: ids})
	if err != nil {
		return err
	}
	views := []*removalView{}
	for _, m := range all {
		v := removalOf(m)
		views = append(views, v)
		if !flags.json {
			fmt.Fprintf(env.Stdout, "%s: %s %s\n", strings.Join(m.Hosts, ", "), plain.Text(m.Path, maxError), plain.Text(v.How, maxError))
			printDiff(env.Stdout, v.Diff)
		}
		if flags.dry || m.Err != nil {
			continue
		}
		if m.Changes() {
			if err := agree(ctx, env, flags, "Change "+plain.Text(m.Path, maxError)+"?"); err != nil {
				return err
			}
		}
		if v.Kept, err = in.Remove(m); err != nil {
			v.Error = err.Error()
			printError(env.Stderr, err.Error(), "run weir uninstall again")
			continue
		}
		v.Changed = m.Changes()
		for _, path := range v.Kept {
			if !flags.json {
				fmt.Fprintf(env.Stdout, "  %s was changed since weir install wrote it: kept\n", plain.Text(path, maxError))
			}
		}
	}
	if flags.json {
		if err := writeJSON(env.Stdout, map[string]any{"files": views}); err != nil {
			return err
		}
	} else if len(views) == 0 {
		fmt.Fprintln(env.Stdout, "weir install has changed nothing that could be undone")
	}
	if slices.ContainsFunc(views, func(v *removalView) bool { return v.Error != "" }) {
		return remedy.Silent(remedy.Failed) // said above
	}
	return nil
}
