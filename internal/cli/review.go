package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/app"
	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/gateway/catalog"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/lint"
	"github.com/weir-mcp/weir/internal/pins"
	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/internal/report"
	"github.com/weir-mcp/weir/internal/setup"
	"github.com/weir-mcp/weir/internal/survey"
)

// reviewFlags are the flags of weir review.
type reviewFlags struct {
	targetFlags
	pins   string
	accept gate
	asJSON bool
}

func newReview(env *home.Env) *cobra.Command {
	var flags reviewFlags
	cmd := &cobra.Command{
		Use:   "review [SERVER] [-- COMMAND [ARGUMENT…] | -- URL]",
		Short: "Review the definitions that servers give the model, and accept them",
		Long: `Start the servers of the configuration, one of them, or the one that is named as for weir wrap,
and show the definitions for the model that nobody has reviewed: instructions, tools, prompts and
resources that are new, have changed, or were only seen so far, with the findings of weir lint.

The trust of a server vouches for its first version: definitions of a known or trusted server are
shown only if they came or changed later. As long as definitions that hosts see are not reviewed,
conversations count as untrusted. On a terminal you are asked whether to accept the printed
definitions, everything of a server in one step; with --accept also where output is no terminal.

The exit status is 0 if nothing is left to review, and 1 if something is. Pins are in weir.lock
beside weir.yaml, to be reviewed like code; those of weir wrap and of other hosts' files are in
the state directory.`,
		Example: `  weir review
  weir review mail --accept
  weir review --json --config weir.yaml
  weir review -- npx -y @example/server`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			only := args
			if dash := cmd.ArgsLenAtDash(); dash >= 0 {
				only, args = args[:dash], args[dash:]
			} else {
				args = nil
			}
			if len(only) > 1 {
				return usage(cmd, errors.New("weir review takes one server"))
			}
			return runReview(cmd.Context(), env, &flags, strings.Join(only, ""), args)
		},
		ValidArgsFunction: completeNames(env, &flags.path),
	}
	flags.add(cmd)
	cmd.Flags().SetInterspersed(true)
	cmd.Flags().StringVar(&flags.pins, "pins", "", "the `FILE` that weir wrap was given with --pins")
	flags.accept.flag(cmd, env, "accept", "accept the printed definitions")
	cmd.Flags().BoolVar(&flags.asJSON, "json", false, "print JSON")
	return cmd
}

// completeNames completes the name of one server of the configuration.
func completeNames(env *home.Env, path *string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		var names []string
		if s, err := setup.Load(env, *path, ""); err == nil && len(args) == 0 {
			for _, one := range s.Config.Servers {
				if !one.Disabled {
					names = append(names, one.Name)
				}
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// A serverReview holds the definitions of one server that are not reviewed.
type serverReview struct {
	Server      string             `json:"server"`
	Trust       string             `json:"trust"`
	Definitions []definitionReview `json:"definitions"`
	Findings    []report.Finding   `json:"findings"`

	offers []pins.Offer
}

// A definitionReview is a definition that nobody has reviewed as it is.
type definitionReview struct {
	Kind    pins.Kind         `json:"kind"`
	Name    string            `json:"name"`
	State   string            `json:"state"` // "new", "changed", "seen" or "gone"
	Changes []pins.Difference `json:"changes,omitempty"`
}

// The states of a definition.
const (
	stateNew     = "new"     // it is not pinned
	stateChanged = "changed" // hosts see it as it was pinned
	stateSeen    = "seen"    // hosts see it
	stateGone    = "gone"    // it is pinned, and not offered any more
)

// runReview shows the definitions that are not reviewed, and accepts them if a person says so.
func runReview(ctx context.Context, env *home.Env, flags *reviewFlags, only string, args []string) (err error) {
	t, err := flags.target(env, args)
	if err != nil {
		return err
	}
	if flags.pins != "" {
		t.Config.Pins = config.Pins{File: flags.pins, Review: t.Config.Pins.Review}
	}
	if err := narrow(t.Config, only); err != nil {
		return err
	}
	file, end, err := reviewedPins(ctx, env, t)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	all, err := readReviews(ctx, env, t, file)
	if err != nil {
		return err
	}
	if flags.asJSON {
		err = writeJSON(env.Stdout, map[string]any{"file": file.Path(), "servers": all})
	} else {
		_, err = io.WriteString(env.Stdout, reviewText(all))
	}
	if err != nil {
		return err
	}
	left := slices.DeleteFunc(slices.Clone(all), func(r *serverReview) bool { return len(r.Definitions) == 0 })
	switch {
	case flags.accept.wanted:
	case len(left) == 0:
		return nil
	case flags.asJSON:
		return remedy.Silent(remedy.Failed) // said above
	case !home.IsTerminal(env.Stdout):
		return remedy.Failure(fmt.Errorf("definitions of %d servers are not reviewed", len(left)), "accept all that is shown with --accept")
	}
	if err := flags.accept.pass(ctx, env, "accept the definitions", "Accept all of this?"); err != nil {
		return err
	}
	return acceptReviews(ctx, env, file, all, flags.asJSON)
}

// narrow leaves one server of a configuration, if one is named.
func narrow(c *config.Config, only string) error {
	if only == "" {
		return nil
	}
	i := slices.IndexFunc(c.Servers, func(s config.Server) bool { return s.Name == only })
	if i < 0 {
		return remedy.Usage(fmt.Errorf("there is no server %.128q", only), "see weir config; what weir wrap serves is reviewed with weir review -- COMMAND")
	}
	for j := range c.Servers {
		c.Servers[j].Disabled = c.Servers[j].Disabled || j != i
	}
	return nil
}

// reviewedPins opens the pins of a target, and the store by which a fleet shares them.
// The function closes the store.
func reviewedPins(ctx context.Context, env *home.Env, t *target) (*pins.File, func() error, error) {
	kept, end, err := app.OpenSharedPins(ctx, env, t.Config)
	if err != nil {
		return nil, nil, err
	}
	if end == nil {
		end = func() error { return nil }
	}
	f, err := app.OpenPins(env, t.Config, kept)
	if err == nil && f == nil {
		err = remedy.Usage(errors.New("this configuration pins nothing"), "remove mode: off below pins:")
	}
	if err != nil {
		return nil, nil, errors.Join(err, end())
	}
	return f, end, nil
}

// readReviews asks the servers for their definitions, and compares them with the pins. Nothing is pinned.
func readReviews(ctx context.Context, env *home.Env, t *target, f *pins.File) ([]*serverReview, error) {
	lock, err := f.Lock()
	if err != nil {
		return nil, err
	}
	servers, err := t.Servers(setup.NewKeychain(env, t.Setup))
	if err != nil {
		return nil, err
	}
	all, checked := []*serverReview{}, []lint.Server{}
	for i, l := range surveyTarget(ctx, env, t) {
		if l.Err != nil {
			return nil, l.Err
		}
		s := servers[i]
		r := &serverReview{Server: s.Name, Trust: s.Trust.String(), Definitions: []definitionReview{}, Findings: []report.Finding{}, offers: offersOf(l)}
		for _, o := range r.offers {
			r.compare(lock, o, s.Trust != contract.Untrusted && f.Options().Mode != pins.Review)
		}
		all = append(all, r)
		checked = append(checked, lint.Server{Name: s.Name, As: setup.Who(s.Name, &s.Spec), Trust: s.Trust,
			Overlay: s.Overlay, Instructions: l.Instructions, Tools: l.Tools, Prompts: l.Prompts, Resources: slices.Concat(l.Resources, l.Templates)})
	}
	found := lint.Check(checked)
	found.Sort()
	for _, r := range all {
		for _, one := range found.All {
			if one.Server == r.Server && lint.AboutText(one.Rule) {
				r.Findings = append(r.Findings, one)
			}
		}
	}
	return all, nil
}

// offersOf returns everything that a server tells the model.
func offersOf(l survey.Listing) []pins.Offer {
	offers := []pins.Offer{{Server: l.Server, Kind: pins.Handshake, Entries: map[string]pins.Definition{
		pins.Preamble: pins.Instructions(l.Instructions), pins.Self: catalog.Self(l.Welcome),
	}}}
	for _, kind := range []catalog.Kind{catalog.Tools, catalog.Prompts, catalog.Resources, catalog.Templates} {
		if pages := l.Pages[kind.Method]; pages != nil {
			offers = append(offers, catalog.Source{Server: l.Server, Pages: pages}.Offer(kind))
		}
	}
	return offers
}

// compare adds the definitions of one kind that are not reviewed. The trust of a server vouches for its first version.
func (r *serverReview) compare(lock pins.Lock, o pins.Offer, trusted bool) {
	_, listed := lock[r.Server][o.Kind]
	add := func(name, state string, changes []pins.Difference) {
		r.Definitions = append(r.Definitions, definitionReview{o.Kind, name, state, changes})
	}
	for _, name := range slices.Sorted(maps.Keys(o.Entries)) {
		id := pins.ID{Kind: o.Kind, Name: name}
		was, known := lock.Get(r.Server, id)
		now := lock.Apart(r.Server, id, o.Entries[name])
		whole := pins.Definition{}.Differences(now)
		switch {
		case len(now) == 0 && (o.Kind == pins.Handshake || name == pins.Beside): // it says nothing
			if known && !was.Fits(o.Kind, name, now) {
				add(name, stateGone, nil)
			}
		case !known && !(trusted && !listed):
			add(name, stateNew, whole)
		case known && !was.Fits(o.Kind, name, now):
			add(name, stateChanged, was.Definition.Differences(now))
		case known && !was.Vouched(trusted):
			add(name, stateSeen, whole)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(lock[r.Server][o.Kind])) {
		if _, offered := o.Entries[name]; !offered && name != pins.Beside {
			add(name, stateGone, nil)
		}
	}
}

// acceptReviews pins everything that the servers offer as reviewed.
func acceptReviews(ctx context.Context, env *home.Env, f *pins.File, all []*serverReview, quiet bool) error {
	for _, r := range all {
		if err := f.Review(ctx, r.offers); err != nil {
			return err
		}
		if quiet {
			continue
		}
		n := 0
		for _, o := range r.offers {
			n += len(o.Entries)
		}
		if _, err := fmt.Fprintf(env.Stdout, "accepted %d definitions of %s, in %s\n", n,
			plain.Text(r.Server, app.MaxName), plain.Text(f.Path(), 0)); err != nil {
			return err
		}
	}
	return nil
}

// reviewText shows the definitions that are not reviewed. Texts of a server are quoted line by line, with all that does
// not print made visible.
func reviewText(all []*serverReview) string {
	var b strings.Builder
	for _, r := range all {
		if len(r.Definitions) == 0 {
			continue
		}
		fmt.Fprintf(&b, "server %s, %s: %d definitions are not reviewed\n", plain.Text(r.Server, app.MaxName),
			plain.Text(r.Trust, app.MaxName), len(r.Definitions))
		for _, f := range r.Findings {
			fmt.Fprintf(&b, "  %s %s, %s: %s\n", f.Severity, plain.Text(f.Rule, app.MaxName),
				plain.Quote(f.Subject, app.MaxName), plain.Text(f.Message, app.MaxLine))
		}
		for _, d := range r.Definitions {
			fmt.Fprintf(&b, "  %s: %s\n", app.NameOfDefinition(d.Kind, d.Name), stateText(d.State))
			for _, c := range d.Changes {
				fmt.Fprintf(&b, "    %s\n", plain.Quote(c.Member, app.MaxName))
				writeLines(&b, "      - ", c.Before)
				writeLines(&b, "      + ", c.After)
			}
		}
	}
	if b.Len() == 0 {
		return "nothing is left to review\n"
	}
	return b.String()
}

func stateText(state string) string {
	switch state {
	case stateNew:
		return "new"
	case stateChanged:
		return "changed; hosts see the pinned text"
	case stateSeen:
		return "seen by hosts, reviewed by nobody"
	}
	return "gone"
}

func writeLines(b *strings.Builder, mark, text string) {
	if text == "" {
		return
	}
	for line := range strings.SplitSeq(text, "\n") {
		fmt.Fprintf(b, "%s%s\n", mark, plain.Quote(line, app.MaxLine))
	}
}
