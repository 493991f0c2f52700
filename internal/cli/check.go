package cli

import (
	"encoding/json"
	"io"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/remedy"
)

// writeJSON writes v as indented JSON.
func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// A fileReport is the result of a check of one file.
type fileReport interface {
	// print writes the summary for people.
	print(env *home.Env) error
}

// checkFiles makes cmd a command that checks files one by one. The error of a check names the defect of the file, and
// is in its report too.
func checkFiles[R fileReport](env *home.Env, cmd *cobra.Command, check func(path string) (R, error)) *cobra.Command {
	var asJSON bool
	cmd.Use, cmd.Args = "check FILE…", needsArg("a file")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		reports := []R{}
		ok := true
		for _, path := range args {
			r, err := check(path)
			ok = ok && err == nil
			reports = append(reports, r)
			switch {
			case asJSON:
			case err != nil:
				finish(env.Stderr, err)
			default:
				if err := r.print(env); err != nil {
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
			return remedy.Silent(remedy.Misused) // said above
		}
		return nil
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the findings as JSON")
	return cmd
}
