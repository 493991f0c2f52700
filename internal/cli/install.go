package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/internal/app"
	"github.com/weir-mcp/weir/internal/files"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/hosts"
	"github.com/weir-mcp/weir/internal/install"
	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/internal/remedy"
)

// installFlags are the flags of weir install and weir uninstall.
type installFlags struct {
	yes, dry, json, project, noHooks bool
}

func (f *installFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.yes, "yes", false, "change the files without asking")
	cmd.Flags().BoolVar(&f.dry, "dry-run", false, "show the changes, and make none")
	cmd.Flags().BoolVar(&f.json, "json", false, "print the changes as JSON; needs --yes or --dry-run")
	cmd.ValidArgs = hosts.IDs()
}

// check refuses flags and hosts that do not fit.
func (f *installFlags) check(args []string) error {
	for _, a := range args {
		if _, ok := hosts.Lookup(a); !ok {
			return remedy.Usage(fmt.Errorf("unknown host %.64q", a), "use "+strings.Join(hosts.IDs(), ", "))
		}
	}
	if f.json && !f.yes && !f.dry {
		return remedy.Usage(errors.New("--json asks nobody"), "add --dry-run, or --yes")
	}
	return nil
}

func newInstall(env *home.Env) *cobra.Command {
	var flags installFlags
	cmd := &cobra.Command{
		Use:   "install [HOST…]",
		Short: "Put the servers of your hosts behind weir",
		Long: `Find the MCP hosts of this machine, or those that are named, and put the servers of each behind
one weir: its configuration gets one entry that runs weir, and the servers move to a weir.yaml that
only you can read. You see each change and are asked before it is made. Entries that weir
cannot carry over stay where they are, with the reason.

Hosts with hooks (Claude Code, Codex CLI and others) get one before and after each of their own tools, so that weir
decides on their shell, files and fetches too: see weir hook.

Comments, formatting and other members of the files stay. weir uninstall restores them byte for
byte. Run weir install again for servers that were added later; weir doctor notices them.

Files of a project are changed only with --project, for the working directory. Files of
an administrator are never changed.

Hosts: ` + wrapWords(hosts.IDs(), 84),
		Example: `  weir install
  weir install --dry-run
  weir install claude-code codex --yes
  weir install --project`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := flags.check(args); err != nil {
				return err
			}
			return installIn(cmd.Context(), env, args, &flags)
		},
	}
	flags.add(cmd)
	cmd.Flags().BoolVar(&flags.noHooks, "no-hooks", false, "leave the hooks of hosts, by which weir decides on their own tools, as they are")
	cmd.Flags().BoolVar(&flags.project, "project", false, "change the files of the project in the working directory too")
	return cmd
}

// wrapWords returns words separated by commas, in lines of about a width.
func wrapWords(words []string, width int) string {
	var b strings.Builder
	line := 7
	for i, w := range words {
		if i > 0 {
			b.WriteByte(',')
			if line += len(w) + 2; line > width {
				b.WriteString("\n")
				line = len(w)
			} else {
				b.WriteByte(' ')
			}
		}
		b.WriteString(w)
	}
	return b.String()
}

// installer returns the installer, which changes the files of hosts.
func installer(env *home.Env) (*install.Installer, error) {
	state, err := env.StateDir()
	if err != nil {
		return nil, err
	}
	exe, err := stableExecutable()
	if err != nil {
		return nil, err
	}
	vars, err := placeVariables(env)
	if err != nil {
		return nil, err
	}
	return install.New(install.Options{Machine: hosts.Here(env.Getenv), State: state, Exe: exe, Env: vars}), nil
}

// stableExecutable returns the path of this program: that by which it is found on the PATH, which outlives updates, if
// it is there.
func stableExecutable() (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", err
	}
	if strings.Contains(filepath.ToSlash(exe), "/go-build") {
		return "", remedy.Usage(errors.New("this weir was built for one run: hosts could not start it later"), "install it with go install")
	}
	own, err := os.Stat(exe)
	if err != nil {
		return "", err
	}
	if found, err := exec.LookPath("weir"); err == nil && filepath.IsAbs(found) {
		if info, err := os.Stat(found); err == nil && os.SameFile(own, info) {
			return found, nil
		}
	}
	return exe, nil
}

// An installView is a file of a host as it is shown.
type installView struct {
	Path    string     `json:"path"`
	Lists   []listView `json:"lists"`
	Diff    []string   `json:"diff,omitempty"`
	Changed bool       `json:"changed"` // it was written
	Error   string     `json:"error,omitempty"`
}

// installViews are all files as they are shown.
type installViews struct {
	files []*installView
	hooks []*hookView
}

// A listView is one list of servers in a file of a host.
type listView struct {
	Host    string          `json:"host"`
	Scope   hosts.Scope     `json:"scope"`
	Project string          `json:"project,omitempty"`
	Entry   string          `json:"entry"`
	Config  string          `json:"config"`
	Taken   []install.Taken `json:"taken"`
	Left    []install.Left  `json:"left"`
	Behind  int             `json:"behind"`
	Repairs string          `json:"repairs,omitempty"`
}

func installViewOf(f *install.File) *installView {
	v := &installView{Path: f.Path, Lists: []listView{}}
	for _, p := range f.Parts {
		v.Lists = append(v.Lists, listView{p.Host, p.Scope, p.Project, p.Entry, p.Config,
			append([]install.Taken{}, p.Taken...), append([]install.Left{}, p.Left...), len(p.Behind), p.Stale})
	}
	if f.Changes() {
		v.Diff = f.Diff()
	}
	return v
}

func installIn(ctx context.Context, env *home.Env, ids []string, flags *installFlags) error {
	in, err := installer(env)
	if err != nil {
		return err
	}
	chosen := install.Selection{Hosts: ids}
	project, err := filepath.Abs(".")
	if err != nil {
		return err
	}
	if flags.project {
		if why := files.New(files.Options{Confirmed: env.Confirmed()}).Cloned(filepath.Join(project, ".mcp.json")); why != "" {
			return remedy.Usage(fmt.Errorf("the working directory is %s, whose authors may have written its servers", why),
				"if it is yours: weir folders confirm .")
		}
		chosen.Project = project
	}
	plan, err := in.Plan(chosen)
	if err != nil {
		return err
	}
	views := []*installView{}
	failed := false
	for _, f := range plan.Files {
		v := installViewOf(f)
		views = append(views, v)
		if !flags.json {
			printInstall(env, v)
		}
		if !f.Changes() || flags.dry {
			continue
		}
		if err := agree(ctx, env, flags, "Change "+plain.Text(f.Path, maxError)+"?"); err != nil {
			return err
		}
		if err := in.Apply(f); err != nil {
			v.Error, failed = err.Error(), true
			printError(env.Stderr, err.Error(), "run weir install again")
			continue
		}
		v.Changed = true
		if !flags.json {
			printInstalled(env, f)
		}
	}
	hooked, notes, err := installHooks(ctx, env, in, chosen, flags)
	plan.Notes = append(plan.Notes, notes...)
	if err != nil {
		return err
	}
	failed = failed || slices.ContainsFunc(hooked, func(v *hookView) bool { return v.Error != "" })
	var lying []string
	if !flags.project {
		lying = in.ProjectFiles(project)
	}
	if err := printPlan(env, plan, installViews{views, hooked}, lying, flags); err != nil {
		return err
	}
	passed := func(n install.Note) bool { return n.Bad && slices.Contains(ids, n.Host) }
	if failed || slices.ContainsFunc(plan.Notes, passed) {
		return remedy.Silent(remedy.Failed) // said above
	}
	return nil
}

// agree asks whether to change a file, unless that was said beforehand.
func agree(ctx context.Context, env *home.Env, flags *installFlags, question string) error {
	if flags.yes {
		return nil
	}
	ok, err := consents(ctx, env, "agree to the change", question, "make it with --yes")
	if err == nil && !ok {
		return remedy.Failure(errors.New("nothing more was changed"), "")
	}
	return err
}

// printInstall shows how a file would change.
func printInstall(env *home.Env, v *installView) {
	var b strings.Builder
	for _, l := range v.Lists {
		fmt.Fprintf(&b, "%s, %s: %s\n", l.Host, l.Scope, plain.Text(v.Path, maxError))
		if l.Scope == hosts.Local {
			fmt.Fprintf(&b, "  for %s\n", plain.Text(l.Project, maxError))
		}
		for _, t := range l.Taken {
			fmt.Fprintf(&b, "  goes behind weir: %s\n", plain.Text(t.Name, app.MaxTold))
		}
		for _, t := range l.Left {
			fmt.Fprintf(&b, "  stays as it is: %s: %s\n", plain.Text(t.Name, app.MaxTold), plain.Text(t.Why, app.MaxTold))
		}
		switch {
		case l.Repairs != "":
			fmt.Fprintf(&b, "  repairs %s: %s\n", plain.Text(l.Entry, app.MaxTold), plain.Text(l.Repairs, app.MaxTold))
		case len(l.Taken) == 0:
			b.WriteString("  nothing to change\n")
		}
	}
	printDiff(&b, v.Diff)
	_, _ = io.WriteString(env.Stdout, b.String())
}

// How much is shown of a diff.
const (
	maxDiffLines = 400
	maxDiffLine  = 300
)

// printDiff shows lines that differ. They may be anybody's.
func printDiff(w io.Writer, lines []string) {
	for i, line := range lines {
		if i == maxDiffLines {
			fmt.Fprintf(w, "    … %d lines more\n", len(lines)-i)
			return
		}
		line = strings.ReplaceAll(line, "\t", "    ")
		fmt.Fprintf(w, "    %s\n", plain.Text(line, maxDiffLine))
	}
}

// printInstalled prints the steps that are left to do after a change.
func printInstalled(env *home.Env, f *install.File) {
	for _, p := range f.Parts {
		if len(p.Taken) == 0 && p.Stale == "" {
			continue
		}
		host, _ := hosts.Lookup(p.Host)
		fmt.Fprintf(env.Stdout, "%s runs weir with %s now; restart %[1]s\n"+
			"  rules of %[1]s that name its servers or their tools do not fit %[3]s\n",
			host.Name, plain.Text(p.Config, maxError), plain.Text(p.Entry, app.MaxTold))
		for _, t := range p.Taken {
			if t.Login {
				fmt.Fprintf(env.Stdout, "  if %s wants a login: weir login --config %s %s\n", plain.Text(t.As, app.MaxTold), plain.Text(p.Config, maxError), t.As)
			}
		}
	}
}

// printPlan prints the entries that are not changed.
func printPlan(env *home.Env, plan *install.Plan, views installViews, lying []string, flags *installFlags) error {
	if flags.json {
		return writeJSON(env.Stdout, map[string]any{"files": views.files, "hooks": views.hooks,
			"notes": append([]install.Note{}, plan.Notes...), "project_files": append([]string{}, lying...)})
	}
	var b strings.Builder
	for _, n := range plan.Notes {
		fmt.Fprintf(&b, "%s: %s: %s\n", n.Host, plain.Text(n.Path, maxError), plain.Text(n.Text, maxError))
		if n.Hint != "" {
			fmt.Fprintf(&b, "  %s\n", plain.Text(n.Hint, maxError))
		}
	}
	for _, path := range lying {
		fmt.Fprintf(&b, "%s: a file of this project, left alone; weir install --project\n", plain.Text(path, maxError))
	}
	if len(views.files)+len(views.hooks)+len(plan.Notes) == 0 {
		b.WriteString("no host with servers was found\n")
	}
	_, err := io.WriteString(env.Stdout, b.String())
	return err
}
