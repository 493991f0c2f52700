package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/internal/setup"
	"github.com/weir-mcp/weir/policy"
)

func newPolicy(env *home.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "policy",
		Short:   "Check, test, explain and replay policies, or print a built-in one",
		Long:    "Check policy files, try them on cases and on recorded decisions, prove that they\nrule flows out, or print a policy that is built in.",
		Example: "  weir policy check policy.yaml\n  weir policy default > policy.yaml",
		Args:    cobra.ArbitraryArgs,
		RunE:    needsSubcommand,
	}
	cmd.AddCommand(newPolicyCheck(env), newPolicyDefault(env), newPolicyTest(env),
		newPolicyExplain(env), newPolicyReplay(env), newPolicyProve(env))
	return cmd
}

func newPolicyDefault(env *home.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "default [PROFILE]",
		Short: "Print a built-in policy",
		Long: `Print a built-in policy as a file to begin one's own with: the profile of that name, calm,
balanced, strict or read-only; without a name balanced, which decides when no other is configured.`,
		Example:   "  weir policy default > policy.yaml\n  weir policy default strict",
		ValidArgs: policy.Profiles(),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return noArgs(cmd, args[1:])
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			name := policy.Balanced
			if len(args) > 0 {
				name = args[0]
			}
			src, ok := policy.ProfileSource(name)
			if !ok {
				return remedy.Usage(fmt.Errorf("no profile is called %.64q", name), "use "+strings.Join(policy.Profiles(), ", "))
			}
			_, err := env.Stdout.Write(src)
			return err
		},
	}
}

// A policyReport is the result of policy check for one file.
type policyReport struct {
	File     string          `json:"file"`
	OK       bool            `json:"ok"`
	Default  string          `json:"default,omitempty"` // the effect when no rule matches
	Digest   string          `json:"digest,omitempty"`  // "sha256:" and that of the file, hexadecimal
	Rules    []ruleReport    `json:"rules,omitempty"`
	Problems []setup.Problem `json:"problems"`
	Warnings []setup.Problem `json:"warnings,omitempty"` // rules that never decide
}

type ruleReport struct {
	Name   string `json:"name"`
	When   string `json:"when"`
	Effect string `json:"effect"`
	Cost   uint64 `json:"cost"`
}

func newPolicyCheck(env *home.Env) *cobra.Command {
	return checkFiles(env, &cobra.Command{
		Short: "Check policy files",
		Long: `Load policy files as weir run does: every rule is parsed, its types are checked and its cost is
bounded. Print a summary of each, or all of its problems. The exit status is 2 if there are any.

Rules that never decide are warned of: those that no facts make match, and those beside which a
rule that goes first always matches too. Each warning is proved; there may be more such rules.`,
		Example: "  weir policy check policy.yaml\n  weir policy check --json *.yaml",
	}, checkPolicy)
}

func checkPolicy(path string) (policyReport, error) {
	p, err := setup.LoadPolicy(path)
	r := policyReport{File: path, OK: err == nil, Problems: setup.ProblemsOf(err, path)}
	if err != nil {
		return r, err
	}
	r.Default, r.Digest = p.Fallback().String(), "sha256:"+p.Digest()
	for _, rule := range p.Rules() {
		r.Rules = append(r.Rules, ruleReport{rule.Name, rule.When.String(), rule.Effect.String(), rule.Cost})
	}
	for _, idle := range p.Idle() {
		r.Warnings = append(r.Warnings, setup.NewProblem(idle))
	}
	return r, nil
}

func (r policyReport) print(env *home.Env) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: ok, %d rules, otherwise %s\n", r.File, len(r.Rules), r.Default)
	for _, rule := range r.Rules {
		fmt.Fprintf(&b, "  %-6s %-5s %s\n", rule.When, rule.Effect, rule.Name)
	}
	if _, err := env.Stdout.Write([]byte(b.String())); err != nil {
		return err
	}
	for _, w := range r.Warnings {
		if _, err := fmt.Fprintf(env.Stderr, "weir: warning: %s\nweir: hint: %s\n", w, w.Hint); err != nil {
			return err
		}
	}
	return nil
}
