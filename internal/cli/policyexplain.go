package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/internal/app"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/internal/trial"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/record"
)

func newPolicyExplain(env *home.Env) *cobra.Command {
	var events eventFlags
	var cases string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "explain EVENT | --cases FILE NAME",
		Short: "Say of each rule why it matched or not",
		Long: `Take a recorded decision by the id of its event, or a case by its name in a file of cases, and
show its evaluation: each rule with the facts that it reads, and the one that decides. Arguments are
not written down; rules that depend on them are shown as undecided.`,
		Example: "  weir policy explain 3QXSVSGV5RKQNT3OZGBVAJBHJL\n" +
			"  weir policy explain --policy strict --record events.jsonl 3QXSVSGV5RKQNT3OZGBVAJBHJL\n" +
			"  weir policy explain --cases cases.yaml 'mail to whom a stranger named'",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("weir policy explain needs the id of one event, or with --cases the name of one case")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			var p *policy.Policy
			var g *policy.ParsedFacts
			var err error
			if cases != "" {
				p, g, err = findCase(cases, args[0], events.policy)
			} else if p, err = policyOf(env, events.policy); err == nil {
				err = decisions(cmd.Context(), env, &events, func(all iter.Seq2[*record.Event, error]) (err error) {
					g, err = findEvent(all, args[0])
					return err
				})
			}
			if err != nil {
				return err
			}
			x := p.Explain(g)
			if asJSON {
				return writeJSON(env.Stdout, x)
			}
			return printExplanation(env.Stdout, &x)
		},
	}
	events.add(cmd)
	cmd.Flags().StringVar(&cases, "cases", "", "explain a case in this `FILE`")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the explanation as JSON")
	return cmd
}

func findCase(path, name, policyPath string) (*policy.Policy, *policy.ParsedFacts, error) {
	p, f, err := loadCases(path, policyPath)
	if err != nil {
		return nil, nil, err
	}
	for _, c := range f.Cases {
		if c.Name == name {
			return p, c.Given, nil
		}
	}
	return nil, nil, remedy.Usage(fmt.Errorf("%s has no case %.80q", path, name), "")
}

func findEvent(all iter.Seq2[*record.Event, error], id string) (*policy.ParsedFacts, error) {
	for e, err := range all {
		if err != nil {
			return nil, err
		}
		if e.ID == id {
			g, _, err := trial.Restore(e)
			return g, err
		}
	}
	return nil, remedy.Usage(fmt.Errorf("there is no decision with the id %.64q", id), "see weir audit export, or name a file with --record")
}

func printExplanation(w io.Writer, x *policy.Explanation) error {
	var b strings.Builder
	switch {
	case !x.Sure():
		fmt.Fprintf(&b, "from %s to %s: it depends on what is not known\n", x.Strictest, x.Mildest)
	case x.Rule != "":
		fmt.Fprintf(&b, "%s, by %s: %s\n", x.Strictest, x.Rule, plain.Text(x.Message, 0))
	case slices.ContainsFunc(x.Rules, func(f policy.Finding) bool { return f.State != policy.Unmatched }):
		fmt.Fprintf(&b, "%s: by which rule depends on what is not known\n", x.Strictest)
	default:
		fmt.Fprintf(&b, "%s: no rule matches\n", x.Strictest)
	}
	for _, f := range x.Rules {
		fmt.Fprintf(&b, "\n%-9s %-5s %s\n", f.State, f.Effect, f.Rule)
		if f.Problem != "" {
			fmt.Fprintf(&b, "    %s\n", plain.Text(f.Problem, 0))
		}
		for _, r := range f.Reads {
			fmt.Fprintf(&b, "    %s = %s\n", r.Fact, readingText(&r))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// readingText returns the value of a fact for people.
func readingText(r *policy.Reading) string {
	if r.Value == nil {
		return plain.Text(r.Note, 0)
	}
	value, err := json.Marshal(r.Value)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(plain.Text(string(value), 400) + " " + plain.Text(r.Note, 0))
}

func newPolicyReplay(env *home.Env) *cobra.Command {
	var events eventFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "replay",
		Short: "Count the decisions that another policy would change",
		Long: `Put the recorded decisions before a policy and count those that it would change, by effect,
rule and tool, with the first such calls. Labels are taken as they were: what a session would have
become, had a call been let go or not, is not played through. Arguments are not written down: where a
rule looks at them, the decision is counted as one that cannot be told, with the facts that are missing.`,
		Example: "  weir policy replay --policy strict\n  weir policy replay --policy mine.yaml --record events.jsonl --json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := policyOf(env, events.policy)
			if err != nil {
				return err
			}
			var r trial.Replay
			err = decisions(cmd.Context(), env, &events, func(all iter.Seq2[*record.Event, error]) error {
				for e, err := range all {
					if err != nil {
						return err
					}
					r.Add(p, e)
				}
				return nil
			})
			if err != nil {
				return err
			}
			r.Finish()
			if asJSON {
				return writeJSON(env.Stdout, &r)
			}
			return printReplay(env.Stdout, &r)
		},
	}
	events.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the counts as JSON")
	return cmd
}

func printReplay(w io.Writer, r *trial.Replay) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%d decisions: %d the same, %d otherwise, %d that cannot be told, %d recorded without facts\n",
		r.Decisions, r.Same, r.Changed, r.Open, r.NoFacts)
	for _, list := range []struct {
		what   string
		counts []trial.Count
	}{{"otherwise, by effect", r.Changes}, {"by the rule that would decide", r.Rules}, {"by tool", r.Tools}, {"cannot be told without", r.Unknown}} {
		if len(list.counts) > 0 {
			fmt.Fprintf(&b, "%s\n", list.what)
		}
		for _, c := range list.counts {
			fmt.Fprintf(&b, "  %6d  %s\n", c.Times, plain.Text(c.What, app.MaxName))
		}
	}
	for i, e := range r.Examples {
		if i == 0 {
			b.WriteString("the first\n")
		}
		fmt.Fprintf(&b, "  %s  %s of %s: %s → %s  %s\n", e.Event, e.Phase, plain.Text(e.Call, app.MaxName), e.From, e.To, plain.Text(e.Rule, app.MaxName))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
