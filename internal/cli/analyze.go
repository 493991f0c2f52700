package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/analyze"
	"github.com/weir-mcp/weir/internal/app"
	"github.com/weir-mcp/weir/internal/gateway/catalog"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/internal/report"
	"github.com/weir-mcp/weir/internal/setup"
	"github.com/weir-mcp/weir/policy"
)

func newAnalyze(env *home.Env) *cobra.Command {
	var flags targetFlags
	var policyPath string
	format := choice{"text", []string{"text", "json", "sarif", "svg", "dot", "mermaid"}}
	cmd := &cobra.Command{
		Use:   "analyze [-- COMMAND [ARGUMENT…] | -- URL]",
		Short: "Show the flows that the tools of a configuration make possible together",
		Long: `Ask the servers of the configuration, or the one that is named as for weir wrap, for their
tools. Print the tools by which untrusted content and private data come in, those by which data can
leave, the policy's decision on each way out by the label of the session, and whether any sequence of
calls brings all three together unasked. Nothing is called. The exit status is 1 if one does.`,
		Example: `  weir analyze
  weir analyze --policy policy.yaml --format json
  weir analyze --format svg > flows.svg`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := flags.target(env, args)
			if err != nil {
				return err
			}
			if policyPath != "" {
				if err := t.UsePolicy(policyPath); err != nil {
					return err
				}
			}
			tools, err := toolsOf(cmd.Context(), env, t)
			if err != nil {
				return err
			}
			r, err := analyze.Examine(cmd.Context(), t.Policy(), tools)
			if err == nil {
				err = writeAnalysis(env.Stdout, r, format.value)
			}
			if err == nil && !r.After.Proved {
				return remedy.Silent(remedy.Failed) // said above
			}
			return err
		},
	}
	flags.add(cmd)
	cmd.Flags().StringVar(&policyPath, "policy", "", "decide by the policy in this `FILE` (default that of the configuration)")
	addChoice(cmd, &format, "format", "how to write the analysis")
	return cmd
}

// toolsOf asks the servers of a target for their tools, resources and prompts, and returns them as the guard would see
// them.
func toolsOf(ctx context.Context, env *home.Env, t *target) ([]analyze.Tool, error) {
	servers, err := t.Servers(setup.NewKeychain(env, t.Setup))
	if err != nil {
		return nil, err
	}
	var sources []catalog.Source
	var failed []error
	for i, l := range surveyTarget(ctx, env, t) {
		if l.Err != nil {
			failed = append(failed, l.Err)
			continue
		}
		exposed := &guard.Listing{Exposure: servers[i].Expose, Mode: policy.Audit} // the policy itself is analyzed
		s := catalog.Source{Server: l.Server, Trust: servers[i].Trust, Overlay: servers[i].Overlay, Listing: exposed}
		sources = append(sources, s.With(catalog.Tools, l.Tools).With(catalog.Resources, l.Resources).With(catalog.Prompts, l.Prompts))
	}
	if len(failed) > 0 {
		return nil, errors.Join(failed...)
	}
	var tools []analyze.Tool
	for _, kind := range []struct {
		kind   catalog.Kind
		method string
	}{{catalog.Tools, "tools/call"}, {catalog.Resources, "resources/read"}, {catalog.Prompts, "prompts/get"}} {
		list, _ := catalog.Build(kind.kind, sources)
		for entry := range list.All() {
			tools = append(tools, analyze.Tool{
				Server: entry.Server, Name: entry.Name, Method: kind.method, Trust: entry.Trust,
				Declared: entry.Overlay.Static().Over(entry.Declared), Effective: entry.Effective,
				Varies: entry.Overlay.Refines() || entry.Resolvable, Fixed: kind.method == "resources/read",
			})
		}
	}
	return tools, nil
}

func writeAnalysis(w io.Writer, r analyze.Report, format string) error {
	switch format {
	case "text":
		return printAnalysis(w, r)
	case "json":
		return writeJSON(w, r)
	case "sarif":
		f := r.Findings()
		f.Version = home.Version()
		return report.Write(w, report.SARIF, f)
	}
	return r.Draw(w, analyze.Picture(format))
}

// printAnalysis writes the report for people.
func printAnalysis(w io.Writer, r analyze.Report) error {
	var b strings.Builder
	for _, in := range []struct {
		what  string
		tools []string
	}{{"text of strangers comes in by", r.Untrusted}, {"private data is read by", r.Private}} {
		fmt.Fprintf(&b, "%s %d of %d tools\n", in.what, len(in.tools), r.Tools)
		for _, name := range in.tools {
			fmt.Fprintf(&b, "  %s\n", plain.Text(name, app.MaxName))
		}
	}
	width := 24
	for _, p := range r.Out {
		width = max(width, min(48, len(p.Tool)))
	}
	fmt.Fprintf(&b, "data can leave by %d\n", len(r.Out))
	if len(r.Out) > 0 {
		fmt.Fprintf(&b, "  %-*s %-14s %-14s %-14s %s\n", width, "by what was read before:", "nothing", "strangers'", "private", "both")
	}
	for _, p := range r.Out {
		fmt.Fprintf(&b, "  %-*s %-14s %-14s %-14s %s\n", width, plain.Text(p.Tool, 30), p.Fresh, p.Untrusted, p.Private, p.Both)
	}
	b.WriteString("\n" + trifecta("without a policy", r.Before) + trifecta("with this policy", r.After))
	_, err := io.WriteString(w, b.String())
	return err
}

// trifecta says whether untrusted content, private data and a way out come together unasked.
func trifecta(when string, r analyze.Result) string {
	if r.Proved {
		return fmt.Sprintf(
			"%s no sequence of calls brings the three together unasked: proved over %d states and %d decisions\n",
			when, r.States, r.Decisions)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s these calls bring the three together unasked:\n", when)
	for _, line := range r.Lines() {
		fmt.Fprintf(&b, "  %s\n", plain.Text(line, 0))
	}
	return b.String()
}
