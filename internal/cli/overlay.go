package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/internal/app"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/internal/setup"
	"github.com/weir-mcp/weir/overlay"
	"github.com/weir-mcp/weir/overlay/catalogue"
)

func newOverlay(env *home.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "overlay",
		Short:   "Check overlays, or list the built-in ones",
		Long:    "Check overlay files, which describe tools, or list the catalogue of those that are built in.",
		Example: "  weir overlay check overlays.yaml\n  weir overlay list",
		Args:    cobra.ArbitraryArgs,
		RunE:    needsSubcommand,
	}
	cmd.AddCommand(newOverlayCheck(env), newOverlayList(env))
	return cmd
}

// An overlayReport is the result of overlay check for one file.
type overlayReport struct {
	File     string          `json:"file"`
	OK       bool            `json:"ok"`
	Digest   string          `json:"digest,omitempty"` // "sha256:" and that of the file, hexadecimal
	Overlays []entryReport   `json:"overlays,omitempty"`
	Problems []setup.Problem `json:"problems"`
}

type entryReport struct {
	Name      string   `json:"name"`
	Title     string   `json:"title,omitempty"`
	Source    string   `json:"source,omitempty"`
	Date      string   `json:"date,omitempty"`
	Checked   string   `json:"checked,omitempty"`
	Unchecked string   `json:"unchecked,omitempty"`
	Draft     bool     `json:"draft,omitempty"`
	Tools     []string `json:"tools"` // those with an exact name
}

func entryReports(s *overlay.Set) []entryReport {
	var all []entryReport
	for _, e := range s.Entries() {
		tools := s.Named(e.Name).Names()
		if tools == nil {
			tools = []string{}
		}
		all = append(all, entryReport{e.Name, e.Title, e.Source, e.Date, e.Checked, e.Unchecked, e.Draft, tools})
	}
	return all
}

func newOverlayCheck(env *home.Env) *cobra.Command {
	return checkFiles(env, &cobra.Command{
		Short: "Check overlay files",
		Long: `Load overlay files as weir run does: every name and value is checked, and the types and cost of
every condition. Print a summary of each, or all of its problems. The exit status is 2 if there are any.`,
		Example: "  weir overlay check overlays.yaml\n  weir overlay check --json *.yaml",
	}, checkOverlay)
}

func checkOverlay(path string) (overlayReport, error) {
	s, err := setup.LoadOverlay(path)
	r := overlayReport{File: path, OK: err == nil, Problems: setup.ProblemsOf(err, path)}
	if err != nil {
		return r, err
	}
	r.Digest, r.Overlays = "sha256:"+s.Digest(), entryReports(s)
	return r, nil
}

func (r overlayReport) print(env *home.Env) error {
	_, err := fmt.Fprintf(env.Stdout, "%s: ok\n%s", r.File, listed(r.Overlays))
	return err
}

// listed writes a line for each entry.
func listed(entries []entryReport) string {
	var b strings.Builder
	for _, e := range entries {
		title := e.Title
		if e.Draft {
			title = strings.TrimSpace("draft, only raises " + title)
		}
		fmt.Fprintf(&b, "  %-20s %3d tools  %s\n", plain.Text(e.Name, app.MaxName), len(e.Tools), plain.Text(title, app.MaxName))
	}
	return b.String()
}

func newOverlayList(env *home.Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the built-in overlays",
		Long: `List the entries of the catalogue: the servers that weir knows without being told. With --json each
names the source of its facts, the day when they were looked up, and the version that
they were checked against.`,
		Example: "  weir overlay list",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			known, err := catalogue.Load()
			if err != nil {
				return fmt.Errorf("loading the catalogue: %w", err)
			}
			if asJSON {
				return writeJSON(env.Stdout, map[string]any{"overlays": entryReports(known)})
			}
			_, err = fmt.Fprint(env.Stdout, listed(entryReports(known)))
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the entries as JSON")
	return cmd
}
