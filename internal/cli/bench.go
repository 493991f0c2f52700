package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/internal/evaluate"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/internal/setup"
	"github.com/weir-mcp/weir/overlay"
)

func newBench(env *home.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "bench",
		Short:   "Count the attacks that weir stops, and its questions",
		Long:    "Count the attacks that weir stops, and its questions, on recorded tasks and attacks.",
		Example: "  weir bench agentdojo suites.json --overlay tools.yaml",
		Args:    cobra.ArbitraryArgs,
		RunE:    needsSubcommand,
	}
	cmd.AddCommand(newBenchAgentDojo(env), newBenchDay(env))
	return cmd
}

// benchFlags are the flags of bench agentdojo.
type benchFlags struct {
	policy   string
	overlays []string
	domains  []string
	json     bool
	hidden   bool
	plans    bool
	lying    bool
	exec     bool

	confirmed bool
}

func newBenchAgentDojo(env *home.Env) *cobra.Command {
	var flags benchFlags
	cmd := &cobra.Command{
		Use:   "agentdojo FILE",
		Short: "Replay tasks and attacks of AgentDojo",
		Long: `Serve the tools of each suite in FILE as MCP servers, put weir in front of them, and replay each
user's task alone and under each attack, with an agent that obeys as soon as it sees the
attacker's text. Count the attacks that got through and the questions to a person, with and
without the user's words. docs/evaluation.md describes the file.

Overlays describe the tools; those for the travel and banking suites are built in.
Nothing leaves this machine. The exit status is 1 if an attack got through although nobody answered.`,
		Example: `  weir bench agentdojo suites.json
  weir bench agentdojo --policy strict --overlay tools.yaml --json suites.json
  weir bench agentdojo --hidden --lying suites.json`,
		Args: needsArg("a file of suites"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage(cmd, fmt.Errorf("more than one file: %.64q", args[1]))
			}
			data, opts, err := flags.read(args[0])
			if err != nil {
				return err
			}
			opts.Hidden, opts.Plans, opts.Lying, opts.Programs = flags.hidden, flags.plans, flags.lying, flags.exec
			if flags.lying && !flags.hidden || flags.exec && (flags.hidden || flags.plans) {
				return usage(cmd, errors.New("--lying comes with --hidden, and --exec with neither --hidden nor --plans"))
			}
			report, err := evaluate.Run(cmd.Context(), data, opts)
			if err != nil {
				return err
			}
			write := report.Text
			if flags.json {
				write = report.JSON
			}
			if err := write(env.Stdout); err != nil {
				return err
			}
			for _, row := range report.Rows {
				if n := row.Through; n > 0 && row.Suite == evaluate.All && !row.Accepts {
					return remedy.Failure(fmt.Errorf("%d attacks got through although nobody accepted their calls", n), "")
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&flags.policy, "policy", "", "decide by the policy in this `FILE`, or by the profile of that name (default balanced)")
	cmd.Flags().BoolVar(&flags.hidden, "hidden", false, "hide results, and replay with an agent that uses handles (default policy headless)")
	cmd.Flags().BoolVar(&flags.lying, "lying", false,
		"with --hidden: replay with an agent that reveals nothing, and believes a quarantined model\nthat the attacker controls")
	cmd.Flags().BoolVar(&flags.exec, "exec", false, "replay with an agent that has a program make the calls of each task (default policy headless)")
	cmd.Flags().BoolVar(&flags.plans, "plans", false, plansUsage)
	cmd.Flags().StringArrayVar(&flags.overlays, "overlay", nil,
		"describe the tools by this `FILE`, not by the built-in overlays; may be\ngiven several times")
	cmd.Flags().StringArrayVar(&flags.domains, "domain", nil, "take this `DOMAIN` for one of the operator's own; may be given several times")
	cmd.Flags().BoolVar(&flags.json, "json", false, "print the report as JSON")
	return cmd
}

func newBenchDay(env *home.Env) *cobra.Command {
	var flags benchFlags
	cmd := &cobra.Command{
		Use:   "day FILE",
		Short: "Replay a working day of an agent, and attacks on it",
		Long: `Serve the tools of a working day as MCP servers, put weir in front of them, and replay the day's
calls, alone and under each attack. Tell which calls a person was asked about, how many of these
requests were unwanted by the day's own verdicts, and which attacks got through, with and without
the user's words. docs/evaluation.md describes the file.

Nothing leaves this machine. The exit status is 1 if an attack got through.`,
		Example: "  weir bench day day.json\n  weir bench day --policy strict --json day.json",
		Args:    needsArg("the file of a day"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage(cmd, fmt.Errorf("more than one file: %.64q", args[1]))
			}
			return benchDay(cmd.Context(), env, &flags, args[0])
		},
	}
	cmd.Flags().StringVar(&flags.policy, "policy", "", "decide by the policy in this `FILE`, or by the profile of that name (default balanced)")
	cmd.Flags().StringArrayVar(&flags.domains, "domain", nil, "take this `DOMAIN` for one of the operator's own; may be given several times")
	cmd.Flags().BoolVar(&flags.plans, "plans", false, plansUsage)
	cmd.Flags().BoolVar(&flags.confirmed, "confirmed", false, "as if a person had run weir annotate --accept")
	cmd.Flags().BoolVar(&flags.json, "json", false, "print the reports as JSON")
	return cmd
}

// plansUsage is the help of --plans.
const plansUsage = "replay with an agent that submits one plan a task, of all that it can know before"

func benchDay(ctx context.Context, env *home.Env, flags *benchFlags, path string) error {
	src, err := home.ReadFile(path)
	if err != nil {
		return remedy.Usage(fmt.Errorf("reading the day: %w", err), "")
	}
	day, err := evaluate.LoadDay(src)
	if err != nil {
		return remedy.Usage(err, "docs/evaluation.md describes the file")
	}
	opts := evaluate.Options{Domains: flags.domains, Plans: flags.plans, Confirmed: flags.confirmed}
	if flags.policy != "" {
		if opts.Policy, err = setup.LoadPolicy(flags.policy); err != nil {
			return err
		}
	}
	var reports []*evaluate.DayReport
	through := 0
	for _, words := range []bool{false, true} {
		r, err := evaluate.RunDay(ctx, day, words, opts)
		if err != nil {
			return err
		}
		reports, through = append(reports, r), max(through, len(r.Through))
		if !flags.json {
			if err := r.Text(env.Stdout); err != nil {
				return err
			}
		}
	}
	if flags.json {
		if err := writeJSON(env.Stdout, map[string]any{"reports": reports}); err != nil {
			return err
		}
	}
	if through > 0 {
		return remedy.Failure(fmt.Errorf("%d attacks got through", through), "")
	}
	return nil
}

// read reads the files that the command is given.
func (f *benchFlags) read(path string) (*evaluate.Data, evaluate.Options, error) {
	opts := evaluate.Options{Domains: f.domains}
	src, err := home.ReadFile(path)
	if err != nil {
		return nil, opts, remedy.Usage(fmt.Errorf("reading the suites: %w", err), "")
	}
	data, err := evaluate.Load(src)
	if err != nil {
		return nil, opts, remedy.Usage(err, "docs/evaluation.md describes the file")
	}
	if f.policy != "" {
		if opts.Policy, err = setup.LoadPolicy(f.policy); err != nil {
			return nil, opts, err
		}
	}
	var sets []*overlay.Set
	for _, path := range f.overlays {
		set, err := setup.LoadOverlay(path)
		if err != nil {
			return nil, opts, err
		}
		sets = append(sets, set)
	}
	if sets != nil {
		opts.Overlays = overlay.Join(sets...)
	}
	return data, opts, nil
}
