package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/app"
	"github.com/weir-mcp/weir/internal/gateway/catalog"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/internal/setup"
	"github.com/weir-mcp/weir/internal/spelling"
)

// toolsFlags are the flags of weir tools.
type toolsFlags struct {
	targetFlags
	where  []string
	asJSON bool

	omitted bool
}

// An omittedTool is a tool of a server that hosts are not told of.
type omittedTool struct {
	Server string        `json:"server"`
	Name   string        `json:"name"`
	By     guard.Omitted `json:"by"`
}

// omissions are the reasons why hosts are not told of a tool, for people.
var omissions = map[guard.Omitted]string{
	guard.NotExposed: "expose does not hold for it", guard.AlwaysBlocked: "the policy blocks every call of it",
}

func newTools(env *home.Env) *cobra.Command {
	var flags toolsFlags
	cmd := &cobra.Command{
		Use:   "tools [-- COMMAND [ARGUMENT…] | -- URL]",
		Short: "List tools with their contracts, and the source of each value",
		Long: `Ask the servers of the configuration, or the one that is named as for weir wrap, for their
tools, and list each with the contract by which weir decides about it for all arguments, and where
each value comes from: an overlay, the server, or the assumption of the worst. Other members of a
tool, such as its requirements, its security schemes and labels of organisations, are listed too;
they decide nothing. Nothing is called.

Tools that hosts are not told of, by expose in the configuration or because the policy blocks every call of them, are
not among these; --omitted lists them alone, with the reason.

--where lists only tools that have a value: NAME=VALUE, with the names that are printed; more of
them have to hold together.`,
		Example: `  weir tools
  weir tools --where destinations=public --where readOnly=no
  weir tools --json -- npx -y @modelcontextprotocol/server-memory`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			filters, err := parseFilters(flags.where)
			if err != nil {
				return remedy.Usage(err, "write --where NAME=VALUE, with NAME one of "+strings.Join(filterNames(), ", "))
			}
			t, err := flags.target(env, args)
			if err != nil {
				return err
			}
			reports, omitted, err := toolReports(cmd.Context(), env, t)
			if err != nil {
				return err
			}
			reports = slices.DeleteFunc(reports, func(r app.ToolReport) bool { return !fits(r, filters) })
			switch {
			case flags.asJSON:
				return writeJSON(env.Stdout, map[string]any{"tools": reports, "omitted": omitted})
			case flags.omitted:
				return printOmitted(env, omitted)
			}
			for _, r := range reports {
				if _, err := fmt.Fprint(env.Stdout, toolText(r)); err != nil {
					return err
				}
			}
			if len(omitted) > 0 {
				fmt.Fprintf(env.Stderr, "weir: hosts are not told of %d more: weir tools --omitted lists them\n", len(omitted))
			}
			return nil
		},
	}
	flags.add(cmd)
	cmd.Flags().StringArrayVar(&flags.where, "where", nil, "list only tools for which `NAME=VALUE` holds")
	cmd.Flags().BoolVar(&flags.omitted, "omitted", false, "list the tools that hosts are not told of")
	cmd.MarkFlagsMutuallyExclusive("omitted", "where")
	cmd.Flags().BoolVar(&flags.asJSON, "json", false, "print the tools as JSON")
	return cmd
}

// printOmitted lists the tools that hosts are not told of, for people.
func printOmitted(env *home.Env, omitted []omittedTool) error {
	for _, o := range omitted {
		if _, err := fmt.Fprintf(env.Stdout, "%s/%s\n  %s\n", plain.Text(o.Server, 120), plain.Text(o.Name, 120), omissions[o.By]); err != nil {
			return err
		}
	}
	return nil
}

// toolReports asks the servers of a target for their tools, and returns those that hosts are told of, and the others.
func toolReports(ctx context.Context, env *home.Env, t *target) ([]app.ToolReport, []omittedTool, error) {
	words, err := setup.Words(t.Config.Words)
	if err != nil {
		return nil, nil, err
	}
	list, err := listTools(ctx, env, t, words)
	if err != nil {
		return nil, nil, err
	}
	reports := []app.ToolReport{}
	for entry := range list.All() {
		reports = append(reports, app.ReportTool(&entry, words.Reader))
	}
	omitted := []omittedTool{}
	for _, o := range list.Omitted() {
		omitted = append(omitted, omittedTool(o))
	}
	return reports, omitted, nil
}

// listTools asks the servers of a target for their tools, and returns the list that hosts see.
func listTools(ctx context.Context, env *home.Env, t *target, words annotation.Words) (*catalog.List, error) {
	servers, err := lintServers(ctx, env, t)
	if err != nil {
		return nil, err
	}
	exposed := map[string]guard.Exposure{}
	for _, s := range setup.NewKeychain(env, t.Setup).Upstreams(t.Config) {
		exposed[s.Name] = s.Expose
	}
	var sources []catalog.Source
	for _, s := range servers {
		page, err := json.Marshal(map[string]any{"tools": s.Tools})
		if err != nil {
			return nil, fmt.Errorf("reading the tools of %s: %w", s.Name, err)
		}
		sources = append(sources, catalog.Source{
			Server: s.Name, Trust: s.Trust, Overlay: s.Overlay, Words: words, Pages: []json.RawMessage{page}, Listing: t.listing(exposed[s.Name]),
		})
	}
	list, _ := catalog.Build(catalog.Tools, sources)
	return list, nil
}

// toolText writes the report for people.
func toolText(r app.ToolReport) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s/%s\n", plain.Text(r.Server, 120), plain.Text(r.Name, 120))
	for _, m := range r.Contract {
		value := strings.Join(m.Values, ", ")
		switch {
		case !m.Known:
			continue
		case value == "":
			value = "none"
		}
		fmt.Fprintf(&b, "  %-15s %-28s %s\n", m.Name, plain.Text(value, 200), plain.Text(m.FromText(), 200))
	}
	if r.Refined {
		b.WriteString("  an overlay refines this by the arguments of the call\n")
	}
	if r.Resolves {
		b.WriteString("  the server says what a call would do\n")
	}
	for _, n := range r.Carries {
		fmt.Fprintf(&b, "  carries %s = %s\n", plain.Text(n.Where, 120), plain.Text(n.Value, 200))
	}
	return b.String()
}

// A filter is one NAME=VALUE.
type filter struct{ name, value string }

// filterNames are the names that filters know: of the report, and of the contract.
func filterNames() []string {
	return append([]string{"server", "tool", "trust"}, app.ContractNames()...)
}

func parseFilters(where []string) ([]filter, error) {
	var filters []filter
	for _, w := range where {
		name, value, ok := strings.Cut(w, "=")
		if !ok {
			return nil, fmt.Errorf("%q has no =", plain.Text(w, 80))
		}
		if !slices.Contains(filterNames(), name) {
			return nil, errors.New("unknown name " + plain.Quote(name, 80) + ": " + spelling.DidYouMean(name, filterNames()))
		}
		filters = append(filters, filter{name, value})
	}
	return filters, nil
}

// fits reports whether all filters hold: a set has the value, or is empty for "none", or is not known for "unknown".
func fits(r app.ToolReport, filters []filter) bool {
	for _, f := range filters {
		var values []string
		switch f.name {
		case "server":
			values = []string{r.Server}
		case "tool":
			values = []string{r.Name, r.Shown}
		case "trust":
			values = []string{r.Trust}
		default:
			i := slices.IndexFunc(r.Contract, func(m app.MemberReport) bool { return m.Name == f.name })
			values = filterValues(r.Contract[i])
		}
		if !slices.Contains(values, f.value) {
			return false
		}
	}
	return true
}

func filterValues(m app.MemberReport) []string {
	switch {
	case !m.Known:
		return []string{"unknown"}
	case len(m.Values) == 0:
		return []string{"none"}
	}
	return m.Values
}
