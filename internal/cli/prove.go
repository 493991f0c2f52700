package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/analyze"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
)

// proveFlags are the flags of weir policy prove.
type proveFlags struct {
	targetFlags
	policy         string
	flows          []string
	claims, anyone bool
	asJSON         bool
}

func newPolicyProve(env *home.Env) *cobra.Command {
	var flags proveFlags
	cmd := &cobra.Command{
		Use:   "prove [-- COMMAND [ARGUMENT…] | -- URL]",
		Short: "Prove that data cannot leave unasked, or show how it can",
		Long: `Ask the servers of the configuration, or the one that is named as for weir wrap, for their
tools, and go through everything that an agent can do with them: every label that a sequence of
allowed calls can give a session. If a call that must not go out unasked does, print a shortest such
sequence, with the rules that may stop it by its arguments; else that there is none.

Without --flow that is the trifecta: a call that may publish, out of a session that has read
untrusted content and holds private data. --flow CLASS:DESTINATION asks for data of a class, or private
for any, that gets to a destination. Where calls go is an attacker's choice; with --any-arguments it
may be the user's too. The exit status is 1 if something is not proved.`,
		Example: `  weir policy prove
  weir policy prove --flow credentials:public --flow private:internal
  weir policy prove --policy policy.yaml --claims`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			goals, err := goalsOf(flags.flows)
			if err != nil {
				return usage(cmd, err)
			}
			results, tools, err := proveGoals(cmd.Context(), env, &flags, goals, args)
			if err != nil {
				return err
			}
			if flags.asJSON {
				err = writeJSON(env.Stdout, map[string]any{"tools": tools, "results": results})
			} else {
				err = printProofs(env.Stdout, results, tools)
			}
			if err == nil && slices.ContainsFunc(results, func(r analyze.Result) bool { return !r.Proved }) {
				return remedy.Silent(remedy.Failed) // said above
			}
			return err
		},
	}
	flags.add(cmd)
	cmd.Flags().StringVar(&flags.policy, "policy", "", "decide by the policy in this `FILE` (default that of the configuration)")
	cmd.Flags().StringArrayVar(&flags.flows, "flow", nil, "ask whether data of a `CLASS:DESTINATION` gets there; may be given several times")
	cmd.Flags().BoolVar(&flags.claims, "claims", false, "let results claim more than their tool's contract says")
	cmd.Flags().BoolVar(&flags.anyone, "any-arguments", false, "let arguments come from anywhere, the user included, and not from an attacker")
	cmd.Flags().BoolVar(&flags.asJSON, "json", false, "print the results as JSON")
	return cmd
}

// proveGoals explores the goals over the tools of a target, and returns the results and how many tools there are.
func proveGoals(ctx context.Context, env *home.Env, flags *proveFlags, goals []analyze.Goal, args []string) ([]analyze.Result, int, error) {
	t, err := flags.target(env, args)
	if err != nil {
		return nil, 0, err
	}
	if flags.policy != "" {
		if err := t.UsePolicy(flags.policy); err != nil {
			return nil, 0, err
		}
	}
	tools, err := toolsOf(ctx, env, t)
	if err != nil {
		return nil, 0, err
	}
	var results []analyze.Result
	for _, g := range goals {
		r, err := analyze.Explore(ctx, analyze.Question{Policy: t.Policy(), Tools: tools, Goal: g, Claims: flags.claims, Attacker: !flags.anyone})
		if err != nil {
			return nil, 0, err
		}
		results = append(results, r)
	}
	return results, len(tools), nil
}

// goalsOf returns the goals to prove: the flows, or without any the trifecta.
func goalsOf(flows []string) ([]analyze.Goal, error) {
	if len(flows) == 0 {
		return []analyze.Goal{analyze.Trifecta()}, nil
	}
	classes := []label.Class{analyze.AnyPrivate, label.User, label.PII, label.Financial, label.Credentials, label.Regulated, label.Unspecified}
	destinations := []contract.Destination{contract.Ephemeral, contract.System, contract.User, contract.Internal, contract.Public}
	var goals []analyze.Goal
	for _, flow := range flows {
		i := strings.LastIndexByte(flow, ':')
		if i < 0 {
			return nil, errors.New("--flow: write CLASS:DESTINATION, like credentials:public")
		}
		class, to := label.Class(flow[:i]), contract.Destination(flow[i+1:])
		if _, scoped := class.Scope(); !scoped && !slices.Contains(classes, class) {
			return nil, fmt.Errorf("--flow: unknown class %.40q: use %s", class, list(classes))
		}
		if !slices.Contains(destinations, to) {
			return nil, fmt.Errorf("--flow: unknown destination %.40q: use %s", to, list(destinations))
		}
		goals = append(goals, analyze.Flow(class, to))
	}
	return goals, nil
}

func list[T ~string](words []T) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(w))
	}
	return b.String()
}

// leak tells the bits that small values and choices may disclose unasked.
func leak(bits int) string {
	if bits >= policy.MostBits {
		return "small values and choices are not bounded: no rule reads call.leak.total"
	}
	return fmt.Sprintf("small values and choices may tell one destination up to %d bits before a person is asked", max(bits, 0))
}

func printProofs(w io.Writer, results []analyze.Result, tools int) error {
	var b strings.Builder
	for _, r := range results {
		if r.Proved {
			fmt.Fprintf(&b, "%s: proved impossible unasked, over %d tools (%d kinds), %d states and %d decisions\n",
				r.Goal, tools, r.Classes, r.States, r.Decisions)
			b.WriteString("  " + leak(r.Bits) + "\n")
			continue
		}
		fmt.Fprintf(&b, "%s: possible unasked\n", r.Goal)
		for i, line := range r.Lines() {
			fmt.Fprintf(&b, "  %d. %s\n", i+1, plain.Text(line, 0))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
