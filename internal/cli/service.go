package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/internal/service"
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
	consent        installFlags
	config, listen string
	env            []string
	idle           bool
}

// run has a command show the change that it plans, and make it.
func (f *serviceFlags) run(cmd *cobra.Command, env *home.Env, plan func() (*serviceChange, error)) {
	cmd.Flags().BoolVar(&f.consent.yes, "yes", false, "make the change without asking")
	cmd.Flags().BoolVar(&f.consent.dry, "dry-run", false, "show the change, and make none")
	cmd.Flags().BoolVar(&f.consent.json, "json", false, "print the change as JSON; needs --yes or --dry-run")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := f.consent.check(nil); err != nil {
			return err
		}
		c, err := plan()
		if err != nil {
			return err
		}
		return c.make(cmd.Context(), env, f)
	}
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
	}
	flags.run(cmd, env, func() (*serviceChange, error) {
		job, shown, err := serviceOf(env, &flags)
		if err != nil {
			return nil, err
		}
		return planServiceInstall(job, shown)
	})
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
	}
	flags.run(cmd, env, func() (*serviceChange, error) {
		job, err := serviceHere(env)
		if err != nil {
			return nil, err
		}
		return planServiceRemoval(job)
	})
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
	said, active := "", false
	if whose != service.Absent {
		said, err = systemCommand(ctx, env, job.Query)
		active = err == nil
	}
	file := map[service.Standing]struct{ state, words string }{
		service.Absent: {"absent", "not there; weir service install"}, service.Ours: {"installed", "as weir wrote it"},
		service.Changed: {"changed", "changed since weir wrote it"}, service.Foreign: {"foreign", "not written by weir"},
	}[whose]
	if asJSON {
		err = writeJSON(env.Stdout, map[string]any{"path": job.Path, "file": file.state, "active": active, "log": job.Log})
	} else {
		_, err = fmt.Fprintf(env.Stdout, "%s: %s\n", plain.Text(job.Path, maxError), file.words)
		if first, _, _ := strings.Cut(strings.TrimSpace(said), "\n"); whose != service.Absent {
			fmt.Fprintf(env.Stdout, "active: %t (%s)\nlog: %s\n", active, plain.Text(first, maxError), plain.Text(job.Log, maxError))
		}
	}
	if err == nil && !active {
		return remedy.Silent(remedy.Failed) // said above
	}
	return err
}
