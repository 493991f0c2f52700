package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/internal/setup"
)

func newConfig(env *home.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "config",
		Short:   "Check configurations",
		Long:    "Check configuration files.",
		Example: "  weir config check\n  weir config check --json .mcp.json",
		Args:    cobra.ArbitraryArgs,
		RunE:    needsSubcommand,
	}
	cmd.AddCommand(newConfigCheck(env))
	return cmd
}

// A configReport is the result of config check. It holds no value that can be a secret.
type configReport struct {
	File     string          `json:"file"`
	OK       bool            `json:"ok"`
	Mode     string          `json:"mode,omitempty"`
	Policy   string          `json:"policy,omitempty"` // path, or "built-in"
	Listen   string          `json:"listen,omitempty"` // address, or "stdio"
	Servers  []serverReport  `json:"servers,omitempty"`
	Problems []setup.Problem `json:"problems"`
	Warnings []setup.Problem `json:"warnings"`
}

type serverReport struct {
	Name      string   `json:"name"`
	Transport string   `json:"transport"`
	Trust     string   `json:"trust"`
	Disabled  bool     `json:"disabled,omitempty"`
	Env       []string `json:"env,omitempty"`     // names only
	Headers   []string `json:"headers,omitempty"` // names only
}

func newConfigCheck(env *home.Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check [FILE]",
		Short: "Check a configuration and its policy",
		Long: `Load a configuration as weir run does, with its policy, and print a summary or all of its problems.
Without FILE it is ./weir.yaml, else ./.mcp.json. Nothing is started. Values of arguments,
variables and headers are not printed. The exit status is 2 if there are problems.`,
		Example: "  weir config check\n  weir config check --json .mcp.json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := setup.Load(env, strings.Join(args, ""), "")
			if err != nil && !asJSON {
				return err
			}
			r := newConfigReport(s, err, args)
			if !asJSON {
				return r.print(env)
			}
			if err := writeJSON(env.Stdout, r); err != nil {
				return err
			}
			if !r.OK {
				return remedy.Silent(remedy.Misused) // said in the report
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the findings as JSON")
	return cmd
}

func newConfigReport(s *setup.Setup, err error, args []string) *configReport {
	file := strings.Join(args, "")
	if s != nil {
		file = s.Path
	}
	r := &configReport{File: file, OK: err == nil, Problems: setup.ProblemsOf(err, file), Warnings: []setup.Problem{}}
	if err != nil {
		return r
	}
	c := s.Config
	r.Mode, r.Policy, r.Listen = c.Mode.String(), setup.PolicyName(c), setup.ListenName(c)
	for _, s := range c.Servers {
		r.Servers = append(r.Servers, serverReport{
			Name: s.Name, Transport: string(s.Transport), Trust: s.Trust.String(), Disabled: s.Disabled,
			Env: slices.Sorted(maps.Keys(s.Env)), Headers: slices.Sorted(maps.Keys(s.Headers)),
		})
	}
	for _, p := range slices.Concat(c.Warnings, setup.MissingCommands(c), c.ListenProblems()) {
		r.Warnings = append(r.Warnings, setup.NewProblem(p))
	}
	return r
}

// print writes the summary for people, and the warnings to standard error.
func (r *configReport) print(env *home.Env) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: ok, mode %s, policy %s, on %s\n", r.File, r.Mode, r.Policy, r.Listen)
	for _, s := range r.Servers {
		state := ""
		if s.Disabled {
			state = " disabled"
		}
		fmt.Fprintf(&b, "  %-5s %-9s %s%s\n", s.Transport, s.Trust, s.Name, state)
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(env.Stderr, "weir: warning: %s\n", w)
		if w.Hint != "" {
			fmt.Fprintf(env.Stderr, "weir: hint: %s\n", w.Hint)
		}
	}
	_, err := env.Stdout.Write([]byte(b.String()))
	return err
}
