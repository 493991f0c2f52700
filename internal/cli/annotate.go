package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/internal/draft"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/lint"
)

func newAnnotate(env *home.Env) *cobra.Command {
	var flags targetFlags
	var parts partsFlags
	var output string
	var all bool
	cmd := &cobra.Command{
		Use:   "annotate [-- COMMAND [ARGUMENT…] | -- URL]",
		Short: "Propose descriptions of tools that nothing is said of",
		Long: `Ask the servers of the configuration, or the one that is named as for weir wrap, for their
tools, and guess the effect of each from names, descriptions, schemas and hints. The guesses are
written as an overlay, each with its confidence and its reason. It is marked as a draft, and only
makes Weir more careful until a person has corrected it and removed the mark.

--accept writes no overlay. It shows which arguments of the tools of known and trusted servers are
drafted as destinations and as content, where no overlay says so, and keeps these parts beside the
pins of the tools if a person confirms them at a terminal, or a script with --yes. They count for calls to
destinations that the user's own words name, and for no others. A definition that changes has to be
confirmed anew; --forget takes them back.`,
		Example: "  weir annotate -- npx -y @example/server > overlay.yaml\n  weir annotate --output overlay.yaml\n  weir annotate --accept",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := parts.check(output, all); err != nil {
				return err
			}
			t, err := flags.target(env, args)
			if err != nil {
				return err
			}
			if parts.accept || parts.forget {
				return runParts(cmd.Context(), env, &parts, t)
			}
			servers, err := lintServers(cmd.Context(), env, t)
			if err != nil {
				return err
			}
			if all {
				for i := range servers {
					servers[i].Overlay = nil
				}
			}
			if output != "" {
				return writeDraftsTo(env, output, servers)
			}
			return writeDrafts(env.Stdout, servers)
		},
	}
	flags.add(cmd)
	cmd.Flags().StringVar(&output, "output", "", "write to this `FILE`, which must not exist (default standard output)")
	cmd.Flags().BoolVar(&all, "all", false, "propose something for tools that an overlay knows, too")
	cmd.Flags().BoolVar(&parts.accept, "accept", false, "confirm the drafted parts of arguments, and pin them")
	cmd.Flags().BoolVar(&parts.forget, "forget", false, "take back the confirmed parts of arguments")
	parts.flag(cmd, env, "yes", "with --accept: confirm them")
	cmd.Flags().StringVar(&parts.pins, "pins", "", "the `FILE` that weir wrap was given with --pins")
	cmd.Flags().BoolVar(&parts.asJSON, "json", false, "with --accept or --forget: print JSON")
	return cmd
}

// writeDraftsTo writes drafts to a new file, and says so.
func writeDraftsTo(env *home.Env, path string, servers []lint.Server) error {
	f, err := createNew(path)
	if err != nil {
		return err
	}
	if err := errors.Join(writeDrafts(f, servers), f.Close()); err != nil {
		return err
	}
	fmt.Fprintf(env.Stderr, "weir: wrote a draft to %s: correct it, remove draft: true, and name it below overlays: in weir.yaml\n", path)
	return nil
}

// writeDrafts writes an overlay with a draft for each tool that no overlay speaks of.
func writeDrafts(w io.Writer, servers []lint.Server) error {
	var all []draft.Server
	for _, s := range servers {
		about := draft.Server{Name: s.Name, Package: s.As.Package(), URL: s.As.URL}
		for _, tool := range s.Unsaid() {
			about.Drafts = append(about.Drafts, draft.Of(tool))
		}
		if len(about.Drafts) > 0 {
			all = append(all, about)
		}
	}
	if len(all) == 0 {
		_, err := io.WriteString(w, "# Every tool is known to an overlay already.\nversion: 1\noverlays: []\n")
		return err
	}
	return draft.Write(w, all)
}
