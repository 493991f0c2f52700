package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/internal/home"
)

func newVersion(env *home.Env) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Long:    "Print the version of weir, of the Go that built it, and the platform.",
		Example: "  weir version",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(env.Stdout, "weir %s (%s, %s/%s)\n", home.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
