package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/internal/files"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/hosts"
	"github.com/weir-mcp/weir/internal/install"
	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/internal/setup"
	"github.com/weir-mcp/weir/internal/status"
	"github.com/weir-mcp/weir/store/sqlstore"
)

func newDoctor(env *home.Env) *cobra.Command {
	var asJSON, start bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Find servers that bypass weir, and faults of the installation",
		Long: `Check this machine: hosts whose servers bypass weir, entries that do not run this weir, configurations
with mistakes, commands that are missing, hooks that are not there or that answer approval requests in the user's place, permissions
of weir's folders, the store and its log, certificate files, and running processes of another version. Each
finding has a remedy. Nothing is changed, and no server is started without --start.

The exit status is 1 if there are findings.`,
		Example: "  weir doctor\n  weir doctor --start\n  weir doctor --json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d := &doctor{Env: env, ctx: cmd.Context, start: start}
			if err := d.examine(); err != nil {
				return err
			}
			return d.print(asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the findings as JSON")
	cmd.Flags().BoolVar(&start, "start", false, "start every server of the hosts' configurations, and report those that fail")
	return cmd
}

// A diagnosis is one finding of weir doctor.
type diagnosis struct {
	Check   string `json:"check"`
	Where   string `json:"where,omitempty"`
	Problem string `json:"problem"`
	Remedy  string `json:"remedy"`
}

// A hostState is one list of servers of a host as weir doctor shows it.
type hostState struct {
	Host   string      `json:"host"`
	Scope  hosts.Scope `json:"scope"`
	Path   string      `json:"path"`
	Behind bool        `json:"behind"` // an entry runs Weir
	Bypass []string    `json:"bypass"` // servers that bypass Weir
}

// A doctor collects findings.
type doctor struct {
	*home.Env
	ctx      func() context.Context
	start    bool
	hosts    []hostState
	findings []diagnosis
	checked  []string // configurations and places that were read
}

func (d *doctor) find(check, where, remedy, format string, args ...any) {
	d.findings = append(d.findings, diagnosis{check, where, fmt.Sprintf(format, args...), remedy})
}

// examine makes every check.
func (d *doctor) examine() error {
	in, err := installer(d.Env)
	if err != nil {
		return err
	}
	here, err := filepath.Abs(".")
	if err != nil {
		return err
	}
	plan, err := in.Plan(install.Selection{Project: here})
	if err != nil {
		return err
	}
	for _, n := range plan.Notes {
		if n.Bad {
			d.find("host", n.Path, n.Hint, "%s: %s", n.Host, n.Text)
		}
	}
	projects := []string{here}
	for _, f := range plan.Files {
		for _, p := range f.Parts {
			d.list(f.Path, p)
			known := slices.Contains(projects, p.Project) || len(projects) == maxProjects
			if p.Scope == hosts.Local && filepath.IsAbs(p.Project) && !known {
				projects = append(projects, p.Project)
			}
		}
	}
	d.hooks(projects)
	d.hooksOf(in)
	d.permissions()
	d.certificates()
	d.store()
	d.running()
	return nil
}

// maxProjects is in how many projects of a user hooks are looked for.
const maxProjects = 500

// list checks one list of servers.
func (d *doctor) list(path string, p install.Part) {
	state := hostState{Host: p.Host, Scope: p.Scope, Path: path, Behind: len(p.Behind) > 0 && p.Stale == "", Bypass: []string{}}
	again := "weir install " + p.Host
	if p.Scope == hosts.Project {
		again += " --project"
	}
	for _, t := range p.Taken {
		state.Bypass = append(state.Bypass, t.Name)
		d.find("bypass", path, again, "%s (%s) reaches the server %q around weir", p.Host, p.Scope, t.Name)
	}
	for _, l := range p.Left {
		if !l.Disabled {
			state.Bypass = append(state.Bypass, l.Name)
			d.find("bypass", path, "change the server so that weir can take it, or remove it: see docs/install.md",
				"%s (%s) reaches the server %q around weir, since %s", p.Host, p.Scope, l.Name, l.Why)
		}
	}
	defer func() { d.hosts = append(d.hosts, state) }()
	if p.Stale != "" {
		state.Bypass = append(state.Bypass, p.Entry)
		d.find("entry", path, again, "%s (%s): %q: %s", p.Host, p.Scope, p.Entry, p.Stale)
	}
	if p.Installed && p.Scope != hosts.Project || p.Installed && p.Stale == "" {
		d.configuration(p)
	}
}

// configuration checks the configuration that Weir's entry runs.
func (d *doctor) configuration(p install.Part) {
	d.checked = append(d.checked, p.Config)
	with := *d.Env
	with.Environ = slices.Clone(d.Environ)
	hosted := map[string]bool{} // references that only the host resolves
	for name, value := range p.Vars {
		if strings.ContainsAny(value, "${") {
			hosted["${env:"+name+"}"], value = true, "https://host.invalid/"
		}
		with.Environ = append(with.Environ, name+"="+value)
	}
	s, err := setup.Load(&with, p.Config, "")
	if err != nil {
		for _, q := range setup.ProblemsOf(err, p.Config) {
			d.find("configuration", p.Config, orElse(q.Hint, "correct it"), "%s", q.String())
		}
		return
	}
	for _, q := range setup.MissingCommands(s.Config) {
		d.find("command", p.Config, q.Hint, "%s", q.Msg)
	}
	if err := setup.CheckSecured(d.Env, s); err != nil {
		var f *remedy.Error
		errors.As(err, &f)
		d.find("permissions", p.Config, f.Hint, "%v", err)
	}
	if info, err := os.Stat(p.Config); err == nil && info.Mode().Perm()&0o077 != 0 && p.Scope != hosts.Managed {
		d.find("permissions", p.Config, "chmod 600 "+p.Config, "others can read it, and the secrets of servers in it: its mode is %s", info.Mode())
	}
	if d.start {
		d.startServers(&with, s, p, len(hosted) > 0)
	}
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

// permissions checks the folders that Weir decides by.
func (d *doctor) permissions() {
	for _, place := range []func() (string, error){d.StateDir, d.AnchorsDir} {
		dir, err := place()
		if err != nil {
			continue
		}
		var insecure *files.Insecure
		if err := files.Secure(dir); errors.As(err, &insecure) {
			d.find("permissions", dir, insecure.Fix, "others can change it: %v", err)
		}
		info, err := os.Stat(dir)
		if err == nil && info.Mode().Perm()&0o077 != 0 && filepath.Separator == '/' {
			d.find("permissions", dir, "chmod 700 "+dir, "others can look into it: its mode is %s", info.Mode())
		}
	}
}

// certificates checks the files that servers read certificates from.
func (d *doctor) certificates() {
	for _, name := range home.CertificateVariables {
		path, _ := d.Getenv(name)
		if path == "" {
			continue
		}
		if _, err := os.Stat(path); err != nil {
			d.find("certificates", path, "correct or unset "+name, "%s names a file that cannot be read", name)
		}
	}
}

// verifyTime bounds how long verifying the log may take here.
const verifyTime = 10 * time.Second

// store opens the store, if there is one, and verifies its log.
func (d *doctor) store() {
	target, err := d.StorePlace("")
	if err != nil {
		d.find("store", "", "set HOME", "%v", err)
		return
	}
	if _, err := os.Stat(target); errors.Is(err, fs.ErrNotExist) {
		return
	}
	d.checked = append(d.checked, target)
	ctx, cancel := context.WithTimeout(d.ctx(), verifyTime)
	defer cancel()
	err = readStore(ctx, d.Env, target, func(db *sqlstore.DB, target string) error {
		opts, err := verifyOptions(d.Env, target, "", false)
		if err != nil {
			return err
		}
		report, err := audit.Verify(ctx, db.Log(), opts)
		if err == nil && !report.OK() {
			d.find("log", target, "see weir audit verify", "the log is damaged: %s", report.Findings[0].What)
		}
		return err
	})
	var f *remedy.Error
	switch {
	case err == nil || ctx.Err() != nil:
	case errors.As(err, &f):
		d.find("store", target, orElse(f.Hint, "see weir audit verify"), "%v", err)
	default:
		d.find("store", target, "see weir audit verify", "%v", err)
	}
}

// running checks the processes of Weir.
func (d *doctor) running() {
	dir, err := d.RunDir()
	if err != nil {
		return
	}
	all, err := status.List(d.ctx(), dir)
	if err != nil {
		return
	}
	for _, p := range all {
		if p.Error == "" && p.Version != home.Version() && p.Command != "weir serve" { // the next hook replaces that
			d.find("version", p.Config, "restart the host that started it", "process %d is weir %s, and this one is %s", p.PID, p.Version, home.Version())
		}
	}
}

// print shows the findings.
func (d *doctor) print(asJSON bool) error {
	if asJSON {
		err := writeJSON(d.Stdout, map[string]any{"ok": len(d.findings) == 0, "hosts": append([]hostState{}, d.hosts...),
			"checked": append([]string{}, d.checked...), "findings": append([]diagnosis{}, d.findings...)})
		if err != nil {
			return err
		}
	} else {
		var b strings.Builder
		for _, h := range d.hosts {
			state := "all servers are behind weir"
			if len(h.Bypass) > 0 {
				state = fmt.Sprintf("%d servers bypass weir", len(h.Bypass))
			} else if !h.Behind {
				state = "no server runs"
			}
			fmt.Fprintf(&b, "%s, %s: %s (%s)\n", h.Host, h.Scope, state, plain.Text(h.Path, maxError))
		}
		for _, f := range d.findings {
			fmt.Fprintf(&b, "%s: %s\n", f.Check, plain.Text(f.Problem, maxError))
			if f.Where != "" {
				fmt.Fprintf(&b, "  in      %s\n", plain.Text(f.Where, maxError))
			}
			fmt.Fprintf(&b, "  remedy  %s\n", plain.Text(f.Remedy, maxError))
		}
		if len(d.findings) == 0 {
			b.WriteString("no findings\n")
		}
		if _, err := io.WriteString(d.Stdout, b.String()); err != nil {
			return err
		}
	}
	if len(d.findings) > 0 {
		return remedy.Silent(remedy.Failed) // said above
	}
	return nil
}
