package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/internal/app"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/internal/setup"
	"github.com/weir-mcp/weir/internal/trial"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/record"
)

// A suggestReport is the output of approvals suggest.
type suggestReport struct {
	*trial.Suggestions
	Profile string `json:"profile,omitempty"` // the built-in policy of which the diff changes a copy
	File    string `json:"file"`              // that the diff changes
	Diff    string `json:"diff"`
	Config  string `json:"config,omitempty"` // the configuration that has to name the file
}

func newSuggest(env *home.Env) *cobra.Command {
	var flags eventFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "suggest",
		Short: "Propose changes of policy and configuration from past answers",
		Long: `Propose exceptions from rules that ask about calls which people have always accepted: at least three
requests in two agent sessions, and none refused, of one tool of one server to one destination.
Print each with the calls of the log that it would have allowed, and all of them as a diff of the
policy. Weir never applies it. An exception holds for exactly that server, tool and destination,
and for data of no other kinds and origins than the accepted calls had. One that would have allowed
a call that a person refused is not made.

Mail addresses to which mail was as often accepted are proposed for me: in weir.yaml, and servers are
named about whose tools requests were accepted although nobody states the parts of their arguments.

The log has the destinations of calls only with capture: {destinations: true} in the configuration.`,
		Example: "  weir approvals suggest\n  weir approvals suggest --json\n  weir approvals suggest --policy policy.yaml --record events.jsonl",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			base, err := findPolicy(env, flags.policy)
			if err != nil {
				return err
			}
			s, err := trial.Suggest(base.file, base.src, func(do func(*record.Event) error) error {
				return eachEvent(cmd.Context(), env, &flags, do)
			})
			if err != nil {
				return err
			}
			s.Me = slices.DeleteFunc(s.Me, func(own trial.OwnAddress) bool { return slices.Contains(base.me, own.Address) })
			r := suggestReport{Suggestions: s, Profile: base.profile, File: base.file, Diff: unified(base.file, base.src, s.Policy), Config: base.config}
			if asJSON {
				return writeJSON(env.Stdout, r)
			}
			return r.print(env.Stdout)
		},
	}
	flags.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the proposals as JSON")
	return cmd
}

// eachEvent calls do with each recorded event, the oldest first.
func eachEvent(ctx context.Context, env *home.Env, flags *eventFlags, do func(*record.Event) error) error {
	return events(ctx, env, flags, "", func(all iter.Seq2[*record.Event, error]) error {
		for e, err := range all {
			if err != nil {
				return err
			}
			if err := do(e); err != nil {
				return err
			}
		}
		return nil
	})
}

// A policyBase is the policy that is proposed to change.
type policyBase struct {
	file    string // of it, or where a copy of the profile goes
	profile string // "" if the policy is a file
	src     []byte

	config string   // the configuration that names the profile; "" if there is none
	me     []string // the user's own addresses, by the configuration
}

// findPolicy returns the policy at a path, or else that of the configuration here, or else the default.
func findPolicy(env *home.Env, path string) (*policyBase, error) {
	b := &policyBase{}
	if path == "" {
		if name, err := setup.Find(); err == nil {
			s, err := setup.Load(env, "", "")
			if err != nil {
				return nil, err
			}
			path = s.Config.Policy
			b.me = s.Config.Own.Me
			if filepath.Ext(name) == ".yaml" {
				b.config = name
			}
		}
	}
	if path == "" {
		path = policy.Balanced
	}
	if src, ok := policy.ProfileSource(path); ok {
		b.profile, b.src, b.file = path, src, freeName()
		return b, nil
	}
	var err error
	b.config, b.file = "", home.Shorten(path)
	b.src, err = home.ReadFile(path)
	return b, err
}

// freeName returns a name for a copy of a profile, of no file that is there.
func freeName() string {
	for i := 1; ; i++ {
		name := "policy.yaml"
		if i > 1 {
			name = fmt.Sprintf("policy-%d.yaml", i)
		}
		if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) || i == 100 {
			return name
		}
	}
}

// unified returns the difference of two texts of a file.
func unified(name string, before, after []byte) string {
	text := string(diff.Diff(name, before, name, after))
	if _, rest, ok := strings.Cut(text, "\n"); ok { // without the command line
		return rest
	}
	return text
}

func (r *suggestReport) print(w io.Writer) error {
	var b strings.Builder
	for i := range r.Proposals {
		printProposal(&b, i+1, &r.Proposals[i])
	}
	for i := range r.Me {
		printOwn(&b, &r.Me[i])
	}
	for i := range r.Undescribed {
		printUndescribed(&b, &r.Undescribed[i])
	}
	if r.Unknown > 0 {
		fmt.Fprintf(&b, "%d accepted requests have no destination in the log; capture: {destinations: true} keeps those that an overlay states\n",
			r.Unknown)
	}
	if r.Diff == "" {
		if len(r.Me) == 0 {
			b.WriteString("past answers suggest no change\n")
		}
		_, err := io.WriteString(w, b.String())
		return err
	}
	if strings.ContainsFunc(r.Diff, steers) {
		return remedy.Failure(fmt.Errorf("%.200q has characters that can hide parts of the diff on a terminal", r.File),
			"take them out of the policy, or read the proposals with --json")
	}
	b.WriteString("Nothing is changed. To take this over, read it, then ")
	if r.Profile != "" {
		fmt.Fprintf(&b, "run weir policy default %s > %s, and ", r.Profile, r.File)
	}
	b.WriteString("apply the diff with patch -p0")
	if r.Config != "" { // of which no line is shown: it may hold secrets
		fmt.Fprintf(&b, ", and name the copy in %s:\n\n  policy: %s", plain.Text(r.Config, app.MaxName), r.File)
	}
	b.WriteString("\n\n")
	_, err := io.WriteString(w, b.String()+r.Diff)
	return err
}

// steers reports whether a character may change how a terminal shows others.
func steers(r rune) bool {
	return unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) || r == unicode.ReplacementChar
}

// quoteAll quotes texts that others may have chosen.
func quoteAll(texts []string) string {
	all := make([]string, len(texts))
	for i, s := range texts {
		all[i] = plain.Quote(s, app.MaxName)
	}
	return strings.Join(all, ", ")
}

// printOwn prints an address that may be the user's own.
func printOwn(b *strings.Builder, own *trial.OwnAddress) {
	fmt.Fprintf(b, "Is %s your own address? Then weir.yaml can say so:\n   me:\n+    - %s\n", plain.Quote(own.Address, app.MaxName),
		plain.Quote(own.Address, app.MaxName))
	fmt.Fprintf(b, "  mail to it was accepted %d times in %d agent sessions by %s, never refused\n",
		own.Accepted, own.Sessions, quoteAll(own.Principals))
	b.WriteString("  calls of the log that it would have allowed, if they were plain text to you alone:\n")
	printCalls(b, own.Calls, own.Covered)
	b.WriteString("\n")
}

// printUndescribed prints a server of whose tools nobody states the parts of the arguments.
func printUndescribed(b *strings.Builder, u *trial.Undescribed) {
	fmt.Fprintf(b, "Nobody states the parts of the arguments of tools of server %s: %s\n", plain.Text(u.Server, app.MaxName), quoteAll(u.Tools))
	fmt.Fprintf(b, "  %d accepted requests were about them; weir annotate --accept drafts the parts, weir annotate an overlay\n\n", u.Accepted)
}

// printCalls prints calls of the log, and how many more there are that an answer had allowed.
func printCalls(b *strings.Builder, calls []trial.Asked, covered int) {
	for _, c := range calls {
		answer := c.Answer
		if answer == "" {
			answer = "not answered"
		}
		fmt.Fprintf(b, "    %s  %s  %-12s  session %s\n",
			c.Time.UTC().Format(time.DateTime), plain.Text(c.Event, 40), answer, plain.Text(c.Session, app.MaxName))
	}
	if covered > 0 {
		fmt.Fprintf(b, "    and %d calls that an answer had allowed already\n", covered)
	}
}

func printProposal(b *strings.Builder, n int, p *trial.Proposal) {
	fmt.Fprintf(b, "Proposal %d: do not ask about %s of server %s, target %s\n", n, plain.Quote(p.Name, app.MaxName),
		plain.Text(p.Server, app.MaxName), quoteAll(p.Destinations))
	fmt.Fprintf(b, "  accepted %d times in %d agent sessions by %s, never refused\n", p.Accepted, p.Sessions, quoteAll(p.Principals))
	fmt.Fprintf(b, "  an exception from %s\n", plain.Text(strings.Join(p.Rules, ", "), 0))
	b.WriteString("  calls of the log that it would have allowed:\n")
	printCalls(b, p.Calls, p.Covered)
	if p.Unknown > 0 {
		fmt.Fprintf(b, "  the log does not tell of %d further calls of the tool whether it would have allowed them\n", p.Unknown)
	}
	b.WriteString("\n")
}
