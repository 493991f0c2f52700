package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/internal/app"
	"github.com/weir-mcp/weir/internal/gateway/approve"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/ledger"
	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// acceptFlags are the flags of weir detect accept.
type acceptFlags struct {
	deed
	store string
	any   bool
	days  int
}

func newDetectAccept(env *home.Env) *cobra.Command {
	var flags acceptFlags
	cmd := &cobra.Command{
		Use:   "accept ENTRY [NUMBER] --why REASON",
		Short: "Say that a finding in a result or in arguments is none",
		Long: `Except a finding that an entry of the log has (weir audit show, or the page Findings of the console).
From then on findings of the same rule, in the same member of the results (or of the arguments) of
the same tool, of a server that is reached in the same way, are recorded and count for nothing, if
their value is the same: they raise no label, and are no facts of policy. Elements of one array are
one member, and so are members whose names are numbers. Instructions are the same if all text of
their member is, and in results only of calls with the same arguments. Labels that were raised
already stay, and redaction goes on.

NUMBER chooses among several findings, from 1. Events have no digests of numbers of cards, accounts
and persons: an exception of one is for any value of its kind there, which --any-value says. The
exception ends after --days. A canary cannot be excepted.`,
		Example: "  weir detect accept 1204 --why 'the key in the tutorial of the vendor'\n" +
			"  weir detect accept 1204 2 --any-value --days 30 --why 'order numbers, not cards'",
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := app.NeedsReason(flags.why); err != nil {
				return err
			}
			return withLedger(cmd.Context(), env, flags.store, func(db *sqlstore.DB, l *ledger.Ledger) error {
				x, err := wantedException(cmd.Context(), db, &flags, args)
				if err != nil {
					return err
				}
				return accept(cmd.Context(), env, &flags, x, approve.NewExceptions(db, l))
			})
		},
	}
	flags.flags(cmd, env, "except it")
	addStore(cmd, &flags.store)
	cmd.Flags().BoolVar(&flags.any, "any-value", false, "for every value at that place, not for this one alone")
	cmd.Flags().IntVar(&flags.days, "days", int(app.DefaultException/(24*time.Hour)), "for so many `DAYS`, 366 at most")
	return cmd
}

func addStore(cmd *cobra.Command, place *string) {
	cmd.Flags().StringVar(place, "store", "", "the `PLACE` of the log: a file or postgres://… (default state.db in\nweir's state directory)")
}

// wantedException returns the exception for the finding that the arguments name.
func wantedException(ctx context.Context, db *sqlstore.DB, flags *acceptFlags, args []string) (*approve.Excepted, error) {
	entry, err := parseEntry(args[0])
	if err != nil {
		return nil, err
	}
	e, err := app.EventAt(ctx, db, entry)
	if err != nil {
		return nil, err
	}
	n, err := findingNumber(e, args[1:])
	if err != nil {
		return nil, err
	}
	x, err := approve.ExceptionOf(e, n, flags.any)
	if err != nil {
		return nil, remedy.Usage(fmt.Errorf("entry %d: %w", entry, err), "")
	}
	if most := int(approve.MaxException / (24 * time.Hour)); flags.days < 1 || flags.days > most {
		return nil, remedy.Usage(fmt.Errorf("--days %d: an exception counts for 1 to %d days", flags.days, most), "")
	}
	x.Entry = entry
	return x, nil
}

// accept keeps an exception, if a person says so.
func accept(ctx context.Context, env *home.Env, flags *acceptFlags, x *approve.Excepted, all *approve.Exceptions) error {
	fmt.Fprintf(env.Stderr, "%s\n", strings.Join(app.ExceptionLines(x), "\n"))
	if err := flags.pass(ctx, env, "except a finding", "Count this for nothing?"); err != nil {
		return err
	}
	x.Why, x.By, x.Via = flags.why, env.Person(), commandLine
	if err := all.Accept(ctx, x, time.Duration(flags.days)*24*time.Hour); err != nil {
		return err
	}
	_, err := fmt.Fprintf(env.Stdout, "excepted until %s: %s\n", x.Expires.Format(time.DateOnly), x.ID)
	return err
}

// findingNumber returns the number of the finding that is meant, from 1.
func findingNumber(e *record.Event, args []string) (int, error) {
	if len(args) == 1 {
		n, err := strconv.Atoi(args[0])
		if err != nil {
			return 0, remedy.Usage(fmt.Errorf("%.40q is not the number of a finding", args[0]), "")
		}
		return n, nil
	}
	if e.Content == nil || e.Content.Detection == nil || len(e.Content.Detection.Findings) < 2 {
		return 1, nil
	}
	var lines []string
	for i, f := range e.Content.Detection.Findings {
		lines = append(lines, fmt.Sprintf("%d is %s at %s", i+1, plain.Text(f.Kind, app.MaxName), plain.Quote(f.Path, app.MaxName)))
	}
	return 0, remedy.Usage(errors.New("the entry has several findings: "+strings.Join(lines, "; ")), "name the NUMBER of one")
}

func newDetectExceptions(env *home.Env) *cobra.Command {
	var place string
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "exceptions",
		Short:   "List the findings that count for nothing by the word of a person",
		Long:    "List the exceptions that weir detect accept or the console have made, and that have not expired.",
		Example: "  weir detect exceptions\n  weir detect exceptions --json\n  weir detect exceptions remove ID --why 'it was a key'",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withStore(cmd.Context(), env, place, func(db *sqlstore.DB, _ string) error {
				all, err := approve.NewExceptions(db, nil).All(cmd.Context())
				if err != nil {
					return err
				}
				if asJSON {
					return writeJSON(env.Stdout, append([]approve.Excepted{}, all...))
				}
				return printExceptions(env, all)
			})
		},
	}
	addStore(cmd, &place)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the exceptions as JSON")
	cmd.AddCommand(newExceptionsRemove(env))
	return cmd
}

func printExceptions(env *home.Env, all []approve.Excepted) error {
	var b strings.Builder
	for i := range all {
		x := &all[i]
		fmt.Fprintf(&b, "%s  until %s, entry %d, by %s: %s\n", plain.Text(x.ID, app.MaxName), x.Expires.Format(time.DateOnly), x.Entry,
			plain.Text(x.By, app.MaxName), plain.Text(x.Why, app.MaxLine))
		for _, line := range app.ExceptionLines(x) {
			fmt.Fprintf(&b, "    %s\n", line)
		}
	}
	if len(all) == 0 {
		b.WriteString("no exceptions\n")
	}
	_, err := env.Stdout.Write([]byte(b.String()))
	return err
}

func newExceptionsRemove(env *home.Env) *cobra.Command {
	var place, why string
	cmd := &cobra.Command{
		Use:     "remove ID --why REASON",
		Short:   "Have an exception count no longer",
		Long:    "Have an exception count no longer. A weir that is running knows with its next call.",
		Example: "  weir detect exceptions remove 3QXV… --why 'it was a key'",
		Args:    needsArg("the ID of an exception"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := app.NeedsReason(why); err != nil {
				return err
			}
			return withLedger(cmd.Context(), env, place, func(db *sqlstore.DB, l *ledger.Ledger) error {
				for _, id := range args {
					x, err := approve.NewExceptions(db, l).Remove(cmd.Context(), id, why, env.Person(), commandLine)
					if errors.Is(err, approve.ErrNoException) {
						return remedy.Usage(fmt.Errorf("%.80q: %w", id, err), "weir detect exceptions lists them")
					}
					if err != nil {
						return err
					}
					fmt.Fprintf(env.Stdout, "counts again: %s\n", strings.Join(app.ExceptionLines(x)[:2], "; "))
				}
				return nil
			})
		},
	}
	addStore(cmd, &place)
	cmd.Flags().StringVar(&why, "why", "", "the `REASON`, for the log")
	return cmd
}
