package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/analyze"
	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/label"
)

func newPolicyProve(env *Env) *cobra.Command {
	var flags targetFlags
	var policyPath string
	var flows []string
	var claims, anyone, asJSON bool
	cmd := &cobra.Command{
		Use:   "prove [-- COMMAND [ARGUMENT…] | -- URL]",
		Short: "Prove that data cannot leave unasked, or show how it can",
		Long: `Ask the servers of the configuration, or the one that is named as for weir wrap, for their
tools, and go through everything that an agent can do with them: every label that a sequence of
allowed calls can give a session. If a call that must not go out unasked does, print a shortest such
sequence, with the rules that may stop it by what it is called with; else that there is none.

Without --flow that is the trifecta: a call that may publish, out of a session that has read what
strangers wrote and holds private data. --flow CLASS:DESTINATION asks for data of a class, or private
for any, that gets to a destination. Where calls go is an attacker's choice; with --any-arguments it
may be the user's too. The exit status is 1 if something is not proved.`,
		Example: `  weir policy prove
  weir policy prove --flow credentials:public --flow private:internal
  weir policy prove --policy policy.yaml --claims`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			goals, err := goalsOf(flows)
			if err != nil {
				return usage(cmd, err)
			}
			t, err := flags.target(env, args)
			if err != nil {
				return err
			}
			if policyPath != "" {
				if err := t.loadPolicy(policyPath); err != nil {
					return err
				}
			}
			tools, err := env.toolsOf(cmd.Context(), t)
			if err != nil {
				return err
			}
			var results []analyze.Result
			for _, g := range goals {
				r, err := analyze.Explore(cmd.Context(), analyze.Question{Policy: t.policy, Tools: tools, Goal: g, Claims: claims, Attacker: !anyone})
				if err != nil {
					return err
				}
				results = append(results, r)
			}
			if asJSON {
				err = writeJSON(env.Stdout, map[string]any{"tools": len(tools), "results": results})
			} else {
				err = printProofs(env.Stdout, results, len(tools))
			}
			if err == nil && slices.ContainsFunc(results, func(r analyze.Result) bool { return !r.Proved }) {
				return &failure{status: exitFailure} // said above
			}
			return err
		},
	}
	flags.add(cmd)
	cmd.Flags().StringVar(&policyPath, "policy", "", "decide by the policy in this `FILE` (default that of the configuration)")
	cmd.Flags().StringArrayVar(&flows, "flow", nil, "ask whether data of a `CLASS:DESTINATION` gets there; may be given several times")
	cmd.Flags().BoolVar(&claims, "claims", false, "let results claim more than their tool's contract says")
	cmd.Flags().BoolVar(&anyone, "any-arguments", false, "let arguments come from anywhere, the user included, and not from an attacker")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the results as JSON")
	return cmd
}

// goalsOf returns what is to be proved: the flows, or without any the trifecta.
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

func printProofs(w io.Writer, results []analyze.Result, tools int) error {
	var b strings.Builder
	for _, r := range results {
		if r.Proved {
			fmt.Fprintf(&b, "%s: proved impossible unasked, over %d tools (%d kinds), %d states and %d decisions\n", r.Goal, tools, r.Classes, r.States, r.Decisions)
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
