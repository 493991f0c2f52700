package cli

import (
	"context"
	"encoding/json"
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
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/vault"
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
	policy     string
	template   string
	parameters []string // NAME=VALUE
	asJSON     bool
}

func newPlanCheck(env *home.Env) *cobra.Command {
	var flags planFlags
	cmd := &cobra.Command{
		Use:   "check (FILE | --template NAME) [-- COMMAND [ARGUMENT…] | -- URL]",
		Short: "Tell the decision on each step of a plan",
		Long: `Read a plan from a file, in YAML or JSON, ask the servers of the configuration, or the one that is
named as for weir wrap, for their tools, and tell the decision on each step: the effect at worst,
after all that the steps before may return, the rule and the reason, and whether an approval of the
plan would cover the call. Nothing is called, nobody is asked, and nothing is recorded or pinned.

With --template, check a template of the configuration in the place of a file, with the values that
--parameter gives: NAME=VALUE, once for each parameter.

The exit status is 1 if a step would be blocked, 2 if the file is no plan of these tools.
docs/patterns.md describes plans.`,
		Example: `  weir plan check rent.yaml
  weir plan check --policy strict --json rent.yaml -- ./bank-server
  weir plan check --template say-day --parameter to=ben@acme.example --parameter day=2025-11-28`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			files := len(args)
			if n := cmd.ArgsLenAtDash(); n >= 0 {
				files = n
			}
			switch {
			case files == 0 && flags.template == "":
				return usage(cmd, errors.New("weir plan check needs the file of a plan, or --template"))
			case files > 0 && flags.template != "":
				return usage(cmd, fmt.Errorf("a file and a template: %.64q", args[0]))
			case files > 1:
				return usage(cmd, fmt.Errorf("more than one file: %.64q", args[1]))
			case flags.template == "" && len(flags.parameters) > 0:
				return usage(cmd, errors.New("--parameter is for a template"))
			}
			r, err := checkPlan(cmd.Context(), env, &flags, args[:files], args[files:])
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
	cmd.Flags().StringVar(&flags.template, "template", "", "check the template of this `NAME`")
	cmd.Flags().StringArrayVar(&flags.parameters, "parameter", nil, "give a parameter of the template a value: `NAME=VALUE`")
	cmd.Flags().BoolVar(&flags.asJSON, "json", false, "print the decisions as JSON")
	return cmd
}

// A planReport is the decisions on the plan of a file.
type planReport struct {
	File  string       `json:"file"` // that of the configuration for a template
	OK    bool         `json:"ok"`   // no step would be blocked
	Asks  bool         `json:"asks"`
	Steps []stepReport `json:"steps"`
}

type stepReport struct {
	app.StepReport
	Tool string `json:"tool"`
	Line int    `json:"line,omitempty"` // in the file; 0 in a template
}

// checkPlan decides on the plan of a file, or on the template that the flags name, for the servers that the flags and
// further arguments name.
func checkPlan(ctx context.Context, env *home.Env, flags *planFlags, files, args []string) (*planReport, error) {
	var p *plan.Plan
	path := ""
	if len(files) > 0 {
		path = files[0]
		src, err := home.ReadFile(path)
		if err != nil {
			return nil, remedy.Usage(fmt.Errorf("reading the plan: %w", err), "")
		}
		if p, err = plan.Load(home.Shorten(path), src); err != nil {
			return nil, remedy.Usage(err, "docs/patterns.md describes plans")
		}
	}
	t, err := flags.target(env, args)
	if err != nil {
		return nil, err
	}
	if p == nil {
		path = t.Path
		if p, err = flags.chosen(t.Config.Templates); err != nil {
			return nil, remedy.Usage(fmt.Errorf("%s: %w", home.Shorten(path), err), "docs/patterns.md describes templates")
		}
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
		at := home.Shorten(path)
		if line := p.Steps[wrong.Step].Line; line > 0 {
			at += fmt.Sprintf(":%d", line)
		}
		return nil, remedy.Usage(fmt.Errorf("%s: %w", at, err), "")
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

// chosen returns the template that the flags name, with their values.
func (f *planFlags) chosen(templates map[string]*plan.Template) (*plan.Plan, error) {
	t := templates[f.template]
	if t == nil {
		return nil, fmt.Errorf("no template %.80q", f.template)
	}
	values := map[string]json.RawMessage{}
	for _, given := range f.parameters {
		name, text, ok := strings.Cut(given, "=")
		if _, twice := values[name]; !ok || twice {
			return nil, fmt.Errorf("--parameter %.80q: write NAME=VALUE, once for each", given)
		}
		switch t.Parameters[name].Type {
		case vault.Number, vault.Integer, vault.Boolean:
			values[name] = json.RawMessage(text)
		default:
			values[name] = rawjson.Quote(text)
		}
	}
	given, err := json.Marshal(values)
	if err != nil {
		return nil, fmt.Errorf("template %.80q: a value is none of its type", f.template)
	}
	return t.Fill(given)
}

func (r *planReport) print(w io.Writer) error {
	var b strings.Builder
	for _, s := range r.Steps {
		at := r.File
		if s.Line > 0 {
			at += fmt.Sprintf(":%d", s.Line)
		}
		fmt.Fprintf(&b, "%s: %-5s %s %s\n", at, s.Effect, s.ID, plain.Text(s.Tool, app.MaxName))
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
