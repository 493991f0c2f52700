package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/internal/rulefile"
)

func newDetectTest(env *home.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "test RULES…",
		Short: "Check files of rules for weir detect --rules",
		Long: `Check TOML files of rules for weir detect --rules, and print the rules. A mistake is told with its file, and its
line or rule.`,
		Example: "  weir detect test rules.toml",
		Args:    needsArg("a file of RULES"),
		RunE: func(_ *cobra.Command, args []string) error {
			rules, err := loadRules(args)
			if err != nil {
				return err
			}
			for _, r := range rules {
				fmt.Fprintf(env.Stdout, "%s\t%s\n", r.ID, r.Description)
			}
			return nil
		},
	}
}

// loadRules reads files of rules.
func loadRules(paths []string) (all rulefile.Rules, err error) {
	for _, path := range paths {
		src, err := os.ReadFile(path)
		if err != nil {
			return nil, remedy.Usage(fmt.Errorf("reading rules: %w", err), "")
		}
		rules, err := rulefile.Load(path, src)
		if err != nil {
			return nil, remedy.Usage(err, "")
		}
		all = append(all, rules...)
	}
	return all, nil
}
