package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/hosts"
	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/internal/service"
	"github.com/weir-mcp/weir/internal/setup"
)

func newService(env *home.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "service",
		Short: "Have the system keep weir run going",
		Long: `Keep weir run going in the background while you are logged in, on HTTP: as a unit of systemd on Linux, an
agent of launchd on macOS, a task on Windows. It belongs to your account and needs no administrator.`,
		Example: "  weir service install --config weir.yaml --listen 127.0.0.1:8080\n  weir service status\n  weir service uninstall",
		Args:    cobra.ArbitraryArgs,
		RunE:    needsSubcommand,
	}
	cmd.AddCommand(newServiceInstall(env), newServiceUninstall(env), newServiceStatus(env))
	return cmd
}

// serviceFlags are the flags of weir service install and uninstall.
type serviceFlags struct {
	change         installFlags
	config, listen string
	env            []string
	idle           bool
}

func (f *serviceFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.change.yes, "yes", false, "make the change without asking")
	cmd.Flags().BoolVar(&f.change.dry, "dry-run", false, "show the change, and make none")
	cmd.Flags().BoolVar(&f.change.json, "json", false, "print the change as JSON; needs --yes or --dry-run")
}

func newServiceInstall(env *home.Env) *cobra.Command {
	var flags serviceFlags
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Write the service, and start it",
		Long: `Write the file by which the system runs weir run --listen with a configuration, and start it. You see the
file and are asked before it is written. A file at its place that weir did not write stays, and is an error; one of weir's
that was changed since is kept beside it.

The configuration is checked first, with the variables that the service will have: PATH, those of the system, and
those that --env names.`,
		Example: `  weir service install --config weir.yaml --listen 127.0.0.1:8080
  weir service install --config weir.yaml --env GITHUB_TOKEN --yes
  weir service install --dry-run`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := flags.change.check(nil); err != nil {
				return err
			}
			job, shown, err := serviceOf(env, &flags)
			if err != nil {
				return err
			}
			return serviceChange(cmd.Context(), env, job, shown, &flags)
		},
	}
	flags.add(cmd)
	cmd.Flags().StringVar(&flags.config, "config", "", "run with this `FILE` (default ./weir.yaml, else ./.mcp.json)")
	cmd.Flags().StringVar(&flags.listen, "listen", "", "serve at this `ADDRESS`, host:port (default that of the configuration)")
	cmd.Flags().StringArrayVar(&flags.env, "env", nil, "give the service the variable `NAME`, with its value of now; may be given several times")
	cmd.Flags().BoolVar(&flags.idle, "no-start", false, "only write the file")
	return cmd
}

func newServiceUninstall(env *home.Env) *cobra.Command {
	var flags serviceFlags
	cmd := &cobra.Command{
		Use:     "uninstall",
		Short:   "Stop the service, and remove its file",
		Long:    "Stop the service and remove the file that weir service install wrote. One that was changed since is kept beside it.",
		Example: "  weir service uninstall\n  weir service uninstall --yes",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := flags.change.check(nil); err != nil {
				return err
			}
			return serviceRemoval(cmd.Context(), env, &flags)
		},
	}
	flags.add(cmd)
	cmd.Flags().BoolVar(&flags.idle, "no-stop", false, "only remove the file")
	return cmd
}

func newServiceStatus(env *home.Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "status",
		Short:   "Tell whether the service is there and runs",
		Long:    "Tell whether the file of the service is there, whose it is, and whether the system runs it. The exit status is 1 if it does not run.",
		Example: "  weir service status\n  weir service status --json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serviceStatus(cmd.Context(), env, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// placeVariables are the variables that name the places of Weir's files. Neither variables of a host or of the system
// nor those of a project may move them.
func placeVariables(env *home.Env) (map[string]string, error) {
	state, err := env.StateDir()
	if err != nil {
		return nil, err
	}
	anchors, err := env.AnchorsDir()
	if err != nil {
		return nil, err
	}
	vars := map[string]string{"XDG_STATE_HOME": filepath.Dir(state), "XDG_DATA_HOME": filepath.Dir(filepath.Dir(anchors))}
	if dir, _ := env.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		vars["XDG_RUNTIME_DIR"] = dir
	}
	return vars, nil
}

// servicePlace returns where the system looks for the file of a service.
func servicePlace(env *home.Env) (at service.Place, err error) {
	if at.Home = hosts.Here(env.Getenv).Home; !filepath.IsAbs(at.Home) {
		return at, remedy.Usage(errors.New("your home directory is not known"), "set HOME")
	}
	if at.State, err = env.StateDir(); err != nil {
		return at, err
	}
	if at.Config, _ = env.Getenv("XDG_CONFIG_HOME"); !filepath.IsAbs(at.Config) {
		at.Config = filepath.Join(at.Home, ".config")
	}
	at.User = fmt.Sprint(os.Getuid())
	if runtime.GOOS == "windows" {
		me, err := user.Current()
		if err != nil {
			return at, err
		}
		at.User = me.Username
	}
	return at, nil
}

// serviceOf returns the job that the flags ask for, and the text of its file without the values of variables.
func serviceOf(env *home.Env, flags *serviceFlags) (job *service.Job, shown string, err error) {
	at, err := servicePlace(env)
	if err != nil {
		return nil, "", err
	}
	vars, hidden, err := serviceVariables(env, flags.env)
	if err != nil {
		return nil, "", err
	}
	places, err := placeVariables(env)
	if err != nil {
		return nil, "", err
	}
	path, err := checkService(env, flags, vars, places)
	if err != nil {
		return nil, "", err
	}
	c := service.Command{Args: []string{"run", "--config", path}, Folder: filepath.Dir(path), Env: vars}
	if c.Exe, err = stableExecutable(); err != nil {
		return nil, "", err
	}
	if flags.listen != "" {
		c.Args = append(c.Args, "--listen", flags.listen)
	}
	for _, name := range []string{"XDG_DATA_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"} {
		if v, ok := places[name]; ok {
			c.Args = append(c.Args, "--env", name+"="+v)
		}
	}
	if job, err = service.For(runtime.GOOS, at, c); err != nil {
		return nil, "", remedy.Usage(fmt.Errorf("writing the service: %w", err), "")
	}
	c.Env = hidden
	masked, err := service.For(runtime.GOOS, at, c)
	if err != nil {
		return nil, "", err
	}
	return job, masked.Text, nil
}

// serviceVariables returns the variables of a service, and the same without the values of those that were named.
func serviceVariables(env *home.Env, names []string) (vars, hidden []string, err error) {
	if runtime.GOOS != "windows" { // there a task has those of the account
		var path []string
		all, _ := env.Getenv("PATH")
		for _, dir := range filepath.SplitList(all) {
			if filepath.IsAbs(dir) {
				path = append(path, dir)
			}
		}
		vars = []string{"PATH=" + strings.Join(path, string(filepath.ListSeparator))}
		hidden = append(hidden, vars...)
	}
	for _, name := range names {
		value, ok := env.Getenv(name)
		if !ok || name == "" || strings.Contains(name, "=") {
			return nil, nil, remedy.Usage(fmt.Errorf("--env: there is no variable %.64q", before(name)), "name one that is set; its value is taken over")
		}
		vars, hidden = append(vars, name+"="+value), append(hidden, name+"=…")
	}
	return vars, hidden, nil
}

// before returns the name of a variable, of what may be NAME=value.
func before(text string) string {
	name, _, _ := strings.Cut(text, "=")
	return name
}

// checkService reads the configuration as the service will, and returns its path.
func checkService(env *home.Env, flags *serviceFlags, vars []string, places map[string]string) (string, error) {
	with := *env
	with.Environ = append([]string{}, vars...)
	for _, name := range []string{"HOME", "USER", "LOGNAME", "LANG", "SHELL"} { // which every system gives
		if v, ok := env.Getenv(name); ok {
			with.Environ = append(with.Environ, name+"="+v)
		}
	}
	for name, v := range places {
		with.Environ = append(with.Environ, name+"="+v)
	}
	s, err := setup.Load(&with, flags.config, "")
	if err != nil {
		return "", err
	}
	if err := setup.CheckSecured(&with, s); err != nil {
		return "", err
	}
	if err := setListen(s.Config, flags.listen); err != nil {
		return "", err
	}
	if s.Config.Listen == "" {
		return "", remedy.Usage(errors.New("a service serves HTTP, and the configuration names no address"),
			"give --listen 127.0.0.1:8080, or listen: in the configuration")
	}
	return home.Absolute(s.Path), nil
}

// A serviceView is a change of the service as it is shown.
type serviceView struct {
	Path    string   `json:"path"`
	Change  string   `json:"change"` // create, replace, remove, none
	Kept    string   `json:"kept,omitempty"`
	Text    string   `json:"text,omitempty"`
	Steps   []string `json:"steps"`
	Changed bool     `json:"changed"`
}

func stepsOf(steps ...service.Step) []string {
	lines := []string{}
	for _, s := range steps {
		lines = append(lines, strings.Join(s.Words, " "))
	}
	return lines
}

// print shows a change before it is made, or as JSON after it.
func (v *serviceView) print(env *home.Env) {
	fmt.Fprintf(env.Stdout, "%s: %s\n", plain.Text(v.Path, maxError), map[string]string{
		"create": "is new", "replace": "is written anew", "remove": "goes", "none": "nothing to change",
	}[v.Change])
	if v.Kept != "" {
		fmt.Fprintf(env.Stdout, "  it was changed since weir wrote it, and is kept as %s\n", plain.Text(v.Kept, maxError))
	}
	for line := range strings.Lines(v.Text) {
		fmt.Fprintf(env.Stdout, "    %s\n", plain.Text(strings.TrimRight(line, "\r\n"), 0)) // whole: it is agreed to
	}
	for _, step := range v.Steps {
		fmt.Fprintf(env.Stdout, "  then: %s\n", plain.Text(step, maxDiffLine))
	}
}

// foreignService is the error for a file at the place of the service that weir did not write.
func foreignService(job *service.Job) error {
	return remedy.Failure(fmt.Errorf("%s: %w", job.Path, service.ErrForeign), "move it away, if it is not needed")
}

// serviceChange writes the file of a service and starts it.
func serviceChange(ctx context.Context, env *home.Env, job *service.Job, shown string, flags *serviceFlags) error {
	whose, text, err := job.Look()
	if err != nil {
		return err
	}
	v := &serviceView{Path: job.Path, Text: shown, Steps: []string{}}
	switch {
	case whose == service.Foreign:
		return foreignService(job)
	case whose == service.Ours && text == job.Text:
		v.Change, v.Text = "none", ""
	case whose == service.Absent:
		v.Change = "create"
	default:
		v.Change = "replace"
	}
	if whose == service.Changed {
		v.Kept = job.Old()
	}
	if !flags.idle {
		v.Steps = stepsOf(job.Start...)
	}
	done := func() error {
		if v.Change != "none" {
			if err := job.Write(); err != nil {
				return fmt.Errorf("writing %s: %w", job.Path, err)
			}
			v.Changed = true
		}
		if flags.idle {
			return nil
		}
		return takeSteps(ctx, env, job.Start)
	}
	return v.make(env, flags, "Write "+plain.Text(job.Path, maxError)+"?", done, "weir runs now, and whenever you log in; its log: "+job.Log)
}

// make shows a change, asks, and makes it.
func (v *serviceView) make(env *home.Env, flags *serviceFlags, question string, do func() error, after string) error {
	if !flags.change.json {
		v.print(env)
	}
	if !flags.change.dry {
		if err := agree(env, &flags.change, question); err != nil {
			return err
		}
		if err := do(); err != nil {
			return err
		}
	}
	switch {
	case flags.change.json:
		return writeJSON(env.Stdout, v)
	case !flags.change.dry && !flags.idle:
		fmt.Fprintln(env.Stdout, after)
	}
	return nil
}

// takeSteps runs commands of the system, until one fails that may not.
func takeSteps(ctx context.Context, env *home.Env, steps []service.Step) error {
	for _, s := range steps {
		out, err := systemCommand(ctx, env, s.Words)
		if err != nil && !s.May {
			return remedy.Failure(fmt.Errorf("%s: %w: %s", strings.Join(s.Words, " "), err, plain.Text(strings.TrimSpace(out), maxError)),
				"the file is as it was shown; run the rest yourself once the system can")
		}
	}
	return nil
}

// stepTime is how long a command of the system may take.
const stepTime = time.Minute

func systemCommand(ctx context.Context, env *home.Env, words []string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Env = env.Environ
	out, err := cmd.CombinedOutput()
	return string(out[:min(len(out), maxStepOutput)]), err
}

const maxStepOutput = 4096

// serviceHere returns the job with the place and the commands of this system, without its text.
func serviceHere(env *home.Env) (*service.Job, error) {
	at, err := servicePlace(env)
	if err != nil {
		return nil, err
	}
	return service.For(runtime.GOOS, at, service.Command{})
}

// serviceRemoval stops the service and removes its file.
func serviceRemoval(ctx context.Context, env *home.Env, flags *serviceFlags) error {
	job, err := serviceHere(env)
	if err != nil {
		return err
	}
	whose, _, err := job.Look()
	if err != nil {
		return err
	}
	v := &serviceView{Path: job.Path, Change: "remove", Steps: []string{}}
	switch whose {
	case service.Foreign:
		return foreignService(job)
	case service.Absent:
		v.Change = "none"
		if flags.change.json {
			return writeJSON(env.Stdout, v)
		}
		_, err := io.WriteString(env.Stdout, "there is no service of weir\n")
		return err
	case service.Changed:
		v.Kept = job.Old()
	}
	if !flags.idle {
		v.Steps = stepsOf(append(job.Stop, job.Forget...)...)
	}
	done := func() error {
		if !flags.idle {
			if err := takeSteps(ctx, env, job.Stop); err != nil {
				return err
			}
		}
		if err := job.Remove(); err != nil {
			return fmt.Errorf("removing %s: %w", job.Path, err)
		}
		v.Changed = true
		if flags.idle {
			return nil
		}
		return takeSteps(ctx, env, job.Forget)
	}
	return v.make(env, flags, "Remove "+plain.Text(job.Path, maxError)+"?", done, "weir does not run any more")
}

// serviceStatus tells of the service.
func serviceStatus(ctx context.Context, env *home.Env, asJSON bool) error {
	job, err := serviceHere(env)
	if err != nil {
		return err
	}
	whose, _, err := job.Look()
	if err != nil {
		return err
	}
	state := map[service.Standing]string{
		service.Absent: "absent", service.Ours: "installed", service.Changed: "changed", service.Foreign: "foreign",
	}[whose]
	active := false
	said := ""
	if whose != service.Absent {
		said, err = systemCommand(ctx, env, job.Query)
		active = err == nil
	}
	if asJSON {
		if err := writeJSON(env.Stdout, map[string]any{"path": job.Path, "file": state, "active": active, "log": job.Log}); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(env.Stdout, "%s: %s\n", plain.Text(job.Path, maxError), map[string]string{
			"absent": "not there; weir service install", "installed": "as weir wrote it",
			"changed": "changed since weir wrote it", "foreign": "not written by weir",
		}[state])
		if first, _, _ := strings.Cut(strings.TrimSpace(said), "\n"); whose != service.Absent {
			fmt.Fprintf(env.Stdout, "active: %t (%s)\nlog: %s\n", active, plain.Text(first, maxError), plain.Text(job.Log, maxError))
		}
	}
	if !active {
		return remedy.Silent(remedy.Failed) // said above
	}
	return nil
}
