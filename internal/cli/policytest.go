package cli

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/internal/setup"
	"github.com/weir-mcp/weir/internal/trial"
	"github.com/weir-mcp/weir/policy"
)

// A testReport is the result of policy test for one file.
type testReport struct {
	File string `json:"file"`
	trial.Report
}

func newPolicyTest(env *home.Env) *cobra.Command {
	var policyPath string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "test FILE…",
		Short: "Try a policy on cases",
		Long: `Put the cases of YAML files before a policy, and say which are decided otherwise than they
expect, and which rules decide in none of them. A case is facts by their names, the effect and, if
one likes, the rules; docs/policy.md has the format. The policy is the one that the file names, or
that of --policy. The exit status is 1 if a case is decided otherwise, 2 if a file is no file of cases.`,
		Example: "  weir policy test cases.yaml\n  weir policy test --policy mine.yaml --json cases/*.yaml",
		Args:    needsArg("a file"),
		RunE: func(_ *cobra.Command, args []string) error {
			reports := []testReport{}
			ok := true
			for _, path := range args {
				p, f, err := loadCases(path, policyPath)
				if err != nil {
					return err
				}
				r := testReport{path, trial.Run(p, f.Cases)}
				ok = ok && r.OK
				reports = append(reports, r)
				if !asJSON {
					if err := r.print(env.Stdout); err != nil {
						return err
					}
				}
			}
			if asJSON {
				if err := writeJSON(env.Stdout, map[string]any{"ok": ok, "files": reports}); err != nil {
					return err
				}
			}
			if !ok {
				return remedy.Silent(remedy.Failed) // said above
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&policyPath, "policy", "",
		"try the policy in this `FILE`, or the profile of that name (default that which the file of cases names)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the findings as JSON")
	return cmd
}

// loadCases reads a file of cases and the policy that they are for.
func loadCases(path, policyPath string) (*policy.Policy, *trial.File, error) {
	src, err := home.ReadFile(path)
	if err != nil {
		return nil, nil, remedy.Usage(fmt.Errorf("reading the cases: %w", err), "")
	}
	f, err := trial.Load(home.Shorten(path), src)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case policyPath != "":
	case f.Policy == "":
		return nil, nil, remedy.Usage(fmt.Errorf("%s names no policy", path), "add policy: FILE, or name one with --policy")
	default:
		policyPath = f.Policy
		if _, profile := policy.ProfileSource(policyPath); !profile && !filepath.IsAbs(policyPath) {
			policyPath = filepath.Join(filepath.Dir(path), policyPath)
		}
	}
	p, err := setup.LoadPolicy(policyPath)
	return p, f, err
}

func (r *testReport) print(w io.Writer) error {
	var b strings.Builder
	failed := 0
	for _, c := range r.Cases {
		if c.OK {
			continue
		}
		failed++
		fmt.Fprintf(&b, "%s:%d: %s\n", r.File, c.Line, plain.Text(c.Name, 0))
		for _, wrong := range c.Wrong {
			fmt.Fprintf(&b, "  %s\n", plain.Text(wrong, 0))
		}
	}
	idle := r.Idle()
	fmt.Fprintf(&b, "%s: %d of %d cases as expected, %d of %d rules decide in one\n", r.File, len(r.Cases)-failed,
		len(r.Cases), len(r.Rules)-len(idle), len(r.Rules))
	for _, c := range r.Rules {
		switch {
		case c.Matched == 0:
			fmt.Fprintf(&b, "  %s matches in no case\n", c.Rule)
		case c.Decided == 0:
			fmt.Fprintf(&b, "  %s matches, but decides in no case\n", c.Rule)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
