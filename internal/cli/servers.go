package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/internal/app"
	"github.com/weir-mcp/weir/internal/gateway/approve"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/ledger"
	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/internal/status"
	"github.com/weir-mcp/weir/store/sqlstore"
)

func newServers(env *home.Env) *cobra.Command {
	var place string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "servers",
		Short: "List the servers that weir knows, and their breaches of contract",
		Long: fmt.Sprintf(`List the servers of the weir processes that run, and those of the last %[3]d decisions in the log:
the trust that counts, the processes, and the last call. Breaches of contract that count follow, with
how far each server is trusted at most by them.

A server that the configuration trusts counts as known after %[1]d breaches, and as untrusted after %[2]d. A breach
is an answer or a resolution outside of the declaration of the tool, an accepted definition that was
changed to promise more or to say less, and an answer without annotations where all before it had
some. It counts once for a tool and an agent session, changed definitions that are found on one day
(UTC) count once together, and so do all breaches of the same command in one other folder. Data that
outsiders may have written is no breach. A known server counts as untrusted after %[1]d breaches that are about
definitions and resolutions.

All processes that share the store go by it from their next call on. weir servers restore has a
server trusted again.`, approve.BreachesAStep, 2*approve.BreachesAStep, app.MaxSearched),
		Example: "  weir servers\n  weir servers --json\n  weir servers restore crm --why 'the new version has a right contract'",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return readStore(cmd.Context(), env, place, func(db *sqlstore.DB, _ string) error {
				return showServers(cmd.Context(), env, db, asJSON)
			})
		},
	}
	addStore(cmd, &place)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print them as JSON")
	cmd.AddCommand(newServersRestore(env))
	return cmd
}

// showServers prints the servers that Weir knows, and their breaches.
func showServers(ctx context.Context, env *home.Env, db *sqlstore.DB, asJSON bool) error {
	dir, err := env.RunDir()
	if err != nil {
		return err
	}
	running, err := status.List(ctx, dir)
	if err != nil {
		return err
	}
	known, err := app.KnownServers(ctx, db, running)
	if err != nil {
		return err
	}
	breaches, err := approve.NewConduct(db, nil).All(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return writeJSON(env.Stdout, map[string]any{
			"servers": append([]app.KnownServer{}, known...), "breaches": append([]approve.Standing{}, breaches...),
		})
	}
	_, err = io.WriteString(env.Stdout, knownServers(known, time.Now())+standings(breaches))
	return err
}

// knownServers lists servers for people.
func knownServers(all []app.KnownServer, now time.Time) string {
	var b strings.Builder
	width := 0
	for _, k := range all {
		width = max(width, utf8.RuneCountInString(plain.Text(k.Name, app.MaxName)))
	}
	for _, k := range all {
		state := "no process serves it"
		switch {
		case k.Disabled:
			state = "disabled"
		case len(k.Processes) > 0:
			state = "served by " + strings.Trim(fmt.Sprint(k.Processes), "[]")
		}
		if k.Lowered {
			state += ", trusted less than the configuration says"
		}
		if !k.Last.IsZero() {
			state += ", last call " + app.Moment(k.Last, now)
		}
		fmt.Fprintf(&b, "%-*s  %-5s %-9s  %s\n", width, plain.Text(k.Name, app.MaxName), plain.Text(k.Transport, app.MaxName),
			plain.Text(k.Trust, app.MaxName), state)
	}
	return b.String()
}

// standings lists servers with breaches that count, for people.
func standings(all []approve.Standing) string {
	if len(all) == 0 {
		return "no server has broken its contract\n"
	}
	var b strings.Builder
	for _, s := range all {
		counts := "no trust is lost yet"
		if s.Lowered() {
			counts = "counts as " + plain.Text(s.Counts, app.MaxName) + " at most"
		}
		fmt.Fprintf(&b, "%s  %s, breaches of its contract: %d\n", plain.Text(strings.Join(s.Servers, ", "), app.MaxName), counts, len(s.Breaches))
		for _, breach := range s.Breaches {
			fmt.Fprintf(&b, "    %s  tool %s, %s: %s\n", breach.At.Local().Format(time.DateTime), plain.Quote(breach.Tool, app.MaxName),
				plain.Text(breach.Where, app.MaxName), plain.Text(breach.Why, app.MaxLine))
		}
	}
	return b.String()
}

func newServersRestore(env *home.Env) *cobra.Command {
	var flags deed
	var place string
	cmd := &cobra.Command{
		Use:   "restore SERVER --why REASON",
		Short: "Trust a server again as the configuration says",
		Long: `Have the breaches of contract of a server count no longer, so that it is trusted again as far as the
configuration says. A weir that is running knows with its next call. The log has an event of kind
trust with the reason.`,
		Example: "  weir servers restore crm --why 'the new version has a right contract'",
		Args:    needsArg("the name of a server"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return remedy.Usage(errors.New("one server at a time"), "")
			}
			if err := app.NeedsReason(flags.why); err != nil {
				return err
			}
			return withLedger(cmd.Context(), env, place, func(db *sqlstore.DB, l *ledger.Ledger) error {
				conduct := approve.NewConduct(db, l)
				all, err := conduct.All(cmd.Context())
				if err != nil {
					return err
				}
				of := standingsOf(all, args[0])
				if of == nil {
					return remedy.Usage(fmt.Errorf("%.80q: %w", args[0], approve.ErrNoBreach), "weir servers lists those with breaches")
				}
				fmt.Fprint(env.Stderr, standings(of))
				if err := flags.pass(cmd.Context(), env, "trust a server", "Trust it again?"); err != nil {
					return err
				}
				n := 0
				for _, one := range of {
					forgiven, err := conduct.Restore(cmd.Context(), one, flags.why, env.Person(), commandLine)
					if n += forgiven; err != nil {
						return err
					}
				}
				_, err = fmt.Fprintf(env.Stdout, "trusted again as the configuration says: %s; breaches that count no longer: %d\n",
					plain.Text(args[0], app.MaxName), n)
				return err
			})
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
			_ = readStore(cmd.Context(), env, place, func(db *sqlstore.DB, _ string) error {
				all, err := approve.NewConduct(db, nil).All(cmd.Context())
				for _, s := range all {
					if len(args) == 0 {
						names = append(names, s.Servers...)
					}
				}
				return err
			})
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
	flags.flags(cmd, env, "restore it")
	addStore(cmd, &place)
	return cmd
}

// standingsOf returns the standings of the named server, of which there are several if entries of different programs
// have its name.
func standingsOf(all []approve.Standing, server string) (of []approve.Standing) {
	for _, s := range all {
		if slices.Contains(s.Servers, server) {
			of = append(of, s)
		}
	}
	return of
}
