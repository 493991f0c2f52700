package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/policy"
)

func newConfig(env *Env) *cobra.Command {
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

// A configReport is what config check finds out. It holds no value that can be a secret.
type configReport struct {
	File     string         `json:"file"`
	OK       bool           `json:"ok"`
	Mode     string         `json:"mode,omitempty"`
	Policy   string         `json:"policy,omitempty"` // path, or "built-in"
	Listen   string         `json:"listen,omitempty"` // address, or "stdio"
	Servers  []serverReport `json:"servers,omitempty"`
	Problems []problem      `json:"problems"`
	Warnings []problem      `json:"warnings"`
}

type serverReport struct {
	Name      string   `json:"name"`
	Transport string   `json:"transport"`
	Trust     string   `json:"trust"`
	Disabled  bool     `json:"disabled,omitempty"`
	Env       []string `json:"env,omitempty"`     // names only
	Headers   []string `json:"headers,omitempty"` // names only
}

func newConfigCheck(env *Env) *cobra.Command {
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
			s, err := env.load(strings.Join(args, ""), "")
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

func newConfigReport(s *setup, err error, args []string) *configReport {
	file := strings.Join(args, "")
	if s != nil {
		file = s.path
	}
	r := &configReport{File: file, OK: err == nil, Problems: problemsOf(err, file), Warnings: []problem{}}
	if err != nil {
		return r
	}
	c := s.config
	r.Mode, r.Policy, r.Listen = c.Mode.String(), policyName(c), listenName(c)
	for _, s := range c.Servers {
		r.Servers = append(r.Servers, serverReport{
			Name: s.Name, Transport: string(s.Transport), Trust: s.Trust.String(), Disabled: s.Disabled,
			Env: slices.Sorted(maps.Keys(s.Env)), Headers: slices.Sorted(maps.Keys(s.Headers)),
		})
	}
	for _, p := range slices.Concat(c.Warnings, missing(c), c.ListenProblems()) {
		r.Warnings = append(r.Warnings, newProblem(p))
	}
	return r
}

// policyName says which policy decides.
func policyName(c *config.Config) string {
	if c.Policy == "" {
		return "built-in"
	}
	if _, ok := policy.Profile(c.Policy); ok {
		return c.Policy
	}
	return shorten(c.Policy)
}

// listenName says where hosts are served.
func listenName(c *config.Config) string {
	if c.Listen == "" {
		return "stdio"
	}
	return c.Listen
}

// print writes the summary for people, and the warnings to standard error.
func (r *configReport) print(env *Env) error {
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
