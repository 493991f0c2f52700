package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/guard/plan"
	"github.com/weir-mcp/weir/internal/app"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/internal/remedy"
)

func newPlan(env *home.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "plan",
		Short:   "Check the plans of agents",
		Long:    "Check plans: lists of calls that an agent intends to make, which a person may approve at once.",
		Example: "  weir plan check rent.yaml",
		Args:    cobra.ArbitraryArgs,
		RunE:    needsSubcommand,
	}
	cmd.AddCommand(newPlanCheck(env))
	return cmd
}

// planFlags are the flags of weir plan check.
type planFlags struct {
	targetFlags
	policy string
	asJSON bool
}

func newPlanCheck(env *home.Env) *cobra.Command {
	var flags planFlags
	cmd := &cobra.Command{
		Use:   "check FILE [-- COMMAND [ARGUMENT…] | -- URL]",
		Short: "Tell the decision on each step of a plan",
		Long: `Read a plan from a file, in YAML or JSON, ask the servers of the configuration, or the one that is
named as for weir wrap, for their tools, and tell the decision on each step: the effect at worst,
after all that the steps before may return, the rule and the reason, and whether an approval of the
plan would cover the call. Nothing is called, nobody is asked, and nothing is recorded or pinned.

The exit status is 1 if a step would be blocked, 2 if the file is no plan of these tools.
docs/patterns.md describes plans.`,
		Example: `  weir plan check rent.yaml
  weir plan check --policy strict --json rent.yaml -- ./bank-server`,
		Args: needsArg("the file of a plan"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if n := cmd.ArgsLenAtDash(); n > 1 || n < 0 && len(args) > 1 {
				return usage(cmd, fmt.Errorf("more than one file: %.64q", args[1]))
			}
			r, err := checkPlan(cmd.Context(), env, &flags, args[0], args[1:])
			if err != nil {
				return err
			}
			if flags.asJSON {
				err = writeJSON(env.Stdout, r)
			} else {
				err = r.print(env.Stdout)
			}
			if err == nil && !r.OK {
				return remedy.Silent(remedy.Failed) // said above
			}
			return err
		},
	}
	flags.targetFlags.add(cmd)
	cmd.Flags().SetInterspersed(true) // a command for a server comes after --
	cmd.Flags().StringVar(&flags.policy, "policy", "",
		"decide by the policy in this `FILE`, or by the profile of that name (default that of the configuration)")
	cmd.Flags().BoolVar(&flags.asJSON, "json", false, "print the decisions as JSON")
	return cmd
}

// A planReport is the decisions on the plan of a file.
type planReport struct {
	File  string       `json:"file"`
	OK    bool         `json:"ok"` // no step would be blocked
	Asks  bool         `json:"asks"`
	Steps []stepReport `json:"steps"`
}

type stepReport struct {
	app.StepReport
	Tool string `json:"tool"`
	Line int    `json:"line"`
}

// checkPlan decides on the plan of a file, for the servers that the flags and further arguments name.
func checkPlan(ctx context.Context, env *home.Env, flags *planFlags, path string, args []string) (*planReport, error) {
	src, err := home.ReadFile(path)
	if err != nil {
		return nil, remedy.Usage(fmt.Errorf("reading the plan: %w", err), "")
	}
	p, err := plan.Load(home.Shorten(path), src)
	if err != nil {
		return nil, remedy.Usage(err, "docs/patterns.md describes plans")
	}
	t, err := flags.target(env, args)
	if err != nil {
		return nil, err
	}
	if flags.policy != "" {
		if err := t.UsePolicy(flags.policy); err != nil {
			return nil, err
		}
	}
	log := slog.New(slog.NewTextHandler(env.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	checked, err := app.CheckPlan(ctx, env, &app.Service{Setup: t.Setup, BaseEnv: t.baseEnv, Log: log}, p)
	var wrong *plan.StepError
	if errors.As(err, &wrong) {
		return nil, remedy.Usage(fmt.Errorf("%s:%d: %w", home.Shorten(path), p.Steps[wrong.Step].Line, err), "")
	}
	if err != nil {
		return nil, fmt.Errorf("deciding on the plan: %w", err)
	}
	r := &planReport{File: path, OK: true}
	for i, s := range checked.Steps {
		r.OK, r.Asks = r.OK && s.Effect != "block", r.Asks || s.Effect == "ask"
		r.Steps = append(r.Steps, stepReport{s, p.Steps[i].Tool, p.Steps[i].Line})
	}
	return r, nil
}

func (r *planReport) print(w io.Writer) error {
	var b strings.Builder
	for _, s := range r.Steps {
		fmt.Fprintf(&b, "%s:%d: %-5s %s %s\n", r.File, s.Line, s.Effect, s.ID, plain.Text(s.Tool, app.MaxName))
		if s.Rule != "" {
			fmt.Fprintf(&b, "  %s (rule %s)\n", plain.Text(s.Reason, 0), s.Rule)
		}
		if s.Asked != "" {
			fmt.Fprintf(&b, "  not covered by an approval of the plan: %s\n", plain.Text(s.Asked, 0))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
