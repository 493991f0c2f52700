package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/lint"
	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/internal/report"
	"github.com/weir-mcp/weir/internal/setup"
	"github.com/weir-mcp/weir/internal/upstream"
)

// lintFlags are the flags of weir lint.
type lintFlags struct {
	targetFlags
	list   string
	format choice
	failOn choice
	fix    string
}

func newLint(env *home.Env) *cobra.Command {
	flags := lintFlags{
		format: choice{"text", []string{"text", "json", "sarif"}},
		failOn: choice{"error", []string{"error", "warning", "note", "never"}},
	}
	cmd := &cobra.Command{
		Use:   "lint [-- COMMAND [ARGUMENT…] | -- URL]",
		Short: "Find missing, wrong and dangerous definitions of tools",
		Long: `Ask the servers of the configuration, or the one that is named as for weir wrap, for their
tools, and check the definitions: annotations that are missing, invalid, contradictory,
suspicious or worth nothing; descriptions that hold hidden characters or instructions; names that
collide; and the flows that the servers make possible together. Nothing is called.

--list reads a saved result of tools/list instead. --fix writes an overlay with a draft for each
tool that nothing is said of. The exit status is 1 if a finding is as bad as --fail-on.`,
		Example: `  weir lint
  weir lint --format sarif > weir.sarif
  weir lint --fix overlay.yaml -- npx -y @example/server
  weir lint --list tools.json`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			servers, err := flags.servers(cmd.Context(), env, args)
			if err != nil {
				return err
			}
			found := lint.Check(servers)
			found.Version = home.Version()
			found.Sort()
			if err := report.Write(env.Stdout, report.Format(flags.format.value), found); err != nil {
				return err
			}
			if flags.fix != "" {
				if err := writeDraftsTo(env, flags.fix, servers); err != nil {
					return err
				}
			}
			return flags.status(found)
		},
	}
	flags.add(cmd)
	cmd.Flags().StringVar(&flags.list, "list", "", "look at this `FILE`, a result of tools/list, or - for standard input")
	cmd.Flags().StringVar(&flags.fix, "fix", "", "write an overlay with drafts to this `FILE`, which must not exist")
	addChoice(cmd, &flags.format, "format", "how to write the findings")
	addChoice(cmd, &flags.failOn, "fail-on", "the least severity that fails")
	return cmd
}

// status returns the failure that the findings are, if they are one.
func (f *lintFlags) status(found report.Findings) error {
	if f.failOn.value == "never" {
		return nil
	}
	least, err := report.ParseSeverity(f.failOn.value)
	if err != nil {
		return remedy.Usage(err, "")
	}
	if worst, any := found.Worst(); any && worst <= least {
		return remedy.Silent(remedy.Failed) // said above
	}
	return nil
}

// servers returns the servers to check.
func (f *lintFlags) servers(ctx context.Context, env *home.Env, args []string) ([]lint.Server, error) {
	if f.list != "" {
		if len(args) > 0 {
			return nil, remedy.Usage(errors.New("--list, and a server beside it"), "give one of them")
		}
		return readList(env, f.list)
	}
	t, err := f.target(env, args)
	if err != nil {
		return nil, err
	}
	return lintServers(ctx, env, t)
}

// lintServers asks the servers of a target for their definitions, and adds the trust and the overlay of each.
func lintServers(ctx context.Context, env *home.Env, t *target) ([]lint.Server, error) {
	var out []lint.Server
	var failed []error
	servers, err := t.Servers(setup.NewKeychain(env, t.Setup))
	if err != nil {
		return nil, err
	}
	for i, l := range surveyTarget(ctx, env, t) {
		if l.Err != nil {
			failed = append(failed, l.Err)
			continue
		}
		s := servers[i]
		out = append(out, lint.Server{
			Name: s.Name, As: setup.Who(s.Name, &s.Spec), Trust: s.Trust,
			Overlay: s.Overlay, Instructions: l.Instructions, Tools: l.Tools, Prompts: l.Prompts,
		})
	}
	if len(out) == 0 {
		return nil, errors.Join(failed...)
	}
	for _, err := range failed {
		fmt.Fprintf(env.Stderr, "weir: warning: %s\n", plain.Text(err.Error(), maxError))
	}
	return out, nil
}

// readList reads a saved result of tools/list, or a whole JSON-RPC response with one.
func readList(env *home.Env, path string) ([]lint.Server, error) {
	src, err := home.ReadFile(path)
	if path == "-" {
		src, err = io.ReadAll(io.LimitReader(env.Stdin, home.MaxFile))
	}
	if err != nil {
		return nil, remedy.Usage(fmt.Errorf("reading the list: %w", err), "")
	}
	bad := func(err error) error {
		return remedy.Usage(fmt.Errorf("reading the list: %s: %w", path, err), `it has to be a result of tools/list: {"tools": [ … ]}`)
	}
	if err := rawjson.Check(src); err != nil {
		return nil, bad(err)
	}
	if result, ok := rawjson.Get(src, "result"); ok {
		src = result
	}
	if list, ok := rawjson.Get(src, "tools"); !ok || rawjson.Kind(list) != '[' {
		return nil, bad(errors.New("there is no list of tools"))
	}
	name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	if path == "-" {
		name = "stdin"
	}
	return []lint.Server{{Name: name, Tools: upstream.Entries([]json.RawMessage{src}, "tools")}}, nil
}

// createNew makes a file that must not exist yet.
func createNew(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, os.ErrExist) {
		return nil, remedy.Usage(fmt.Errorf("%s is there already", path), "name a file that is not; nothing was written")
	}
	return f, err
}
