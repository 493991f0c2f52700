package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/internal/app"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/internal/replay"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store/sqlstore"
)

func newAudit(env *home.Env) *cobra.Command {
	var place string
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Read, verify and export the log of events",
		Long: `Every event is an entry of a log whose changes show: an append-only Merkle tree under signed
checkpoints, with a chain of its own for each agent session. The log is in the store; its anchor, with
the key that signs it and the last checkpoint, is in the directory that weir state names. Keep
checkpoints elsewhere too: with both the store and the anchor, another log can be written.`,
		Example: "  weir audit verify\n  weir audit show --effect block\n  weir audit export --format ocsf > events.ocsf",
		Args:    cobra.ArbitraryArgs,
		RunE:    needsSubcommand,
	}
	cmd.PersistentFlags().StringVar(&place, "store", "",
		"the `PLACE` of the log: a file or postgres://… (default state.db in\nweir's state directory)")
	cmd.AddCommand(newAuditVerify(env, &place), newAuditShow(env, &place), newAuditTail(env, &place), newAuditExport(env, &place),
		newAuditProve(env, &place), newAuditKey(env, &place), newAuditRotate(env, &place),
		newAuditErase(env, &place), newAuditAdopt(env, &place), newAuditAnchor(env, &place))
	return cmd
}

func newAuditVerify(env *home.Env, place *string) *cobra.Command {
	var key string
	var against []string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check every entry, chain and checkpoint of the log",
		Long: `Read the whole log and check each entry against its leaf, each chain, the tree, all checkpoints, the
seal of its head and its anchor, and the state with the log's proof of it: agent sessions, labels of
resources and approvals. Have the database check itself. Report each defect and its place. The result
is ok, damaged, or unsigned: nothing wrong was found, but not all could be checked, since the anchor is
not here. The exit status is 0 for ok alone. The store is only read: a copy of it, or one on read-only
media, will do. With --against, also check that the log extends checkpoints that were kept or published
elsewhere: if it does not, it was shortened or rewritten since.`,
		Example: "  weir audit verify\n  weir audit verify --against yesterday.txt --key 'weir/…+1234abcd+…' --json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return readStore(cmd.Context(), env, *place, func(db *sqlstore.DB, target string) error {
				opts, err := verifyOptions(env, target, key, len(against) > 0)
				if err != nil {
					return err
				}
				report, err := verifyAll(cmd.Context(), db, opts)
				if err != nil {
					return err
				}
				if err := extends(cmd.Context(), env, db, against, opts.Key); err != nil {
					return err
				}
				report.State, err = verifyState(cmd.Context(), db)
				if err != nil && !report.OK() { // a reported defect keeps it from being read
					report.Findings = append(report.Findings, audit.Finding{Entry: -1, What: "the state cannot be read: " + err.Error()})
					report.State, err = &replay.Report{Proved: true}, nil
				}
				if err != nil {
					return err
				}
				return printReport(env, report, asJSON)
			})
		},
	}
	cmd.Flags().StringVar(&key, "key", "", "the public `KEY` (default that of the log's anchor)")
	cmd.Flags().StringArrayVar(&against, "against", nil,
		"a checkpoint in this `FILE`, or at this http or https URL, that the log has to\nextend; may be given several times")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON")
	return cmd
}

// A verified is the report on a store, its log and its database.
type verified struct {
	*audit.Report
	State    *replay.Report      `json:"state"`
	Database *sqlstore.Integrity `json:"database,omitempty"` // whose findings are among those of the log too; nil: it was not asked
}

// verifyAll verifies the log, and has the database check itself.
func verifyAll(ctx context.Context, db *sqlstore.DB, opts audit.VerifyOptions) (v verified, err error) {
	in, err := db.Integrity(ctx)
	if err != nil {
		return v, err
	}
	report, err := audit.Verify(ctx, db.Log(), opts)
	if err != nil && len(in.Findings) > 0 { // the damage of the database keeps the log from being read
		report, err = &audit.Report{Findings: []audit.Finding{{Entry: -1, What: err.Error()}}}, nil
	}
	if err != nil {
		return v, err
	}
	for _, f := range in.Findings {
		report.Findings = append(report.Findings, audit.Finding{Entry: -1, What: "the database is damaged: " + f})
	}
	return verified{Report: report, Database: &in}, nil
}

// verifyOptions returns the options to verify the log in a store: its key, and its anchor if it is here.
func verifyOptions(env *home.Env, target, key string, elsewhere bool) (opts audit.VerifyOptions, err error) {
	opts = audit.VerifyOptions{Key: key, Elsewhere: elsewhere}
	if opts.Anchor, err = app.ReadAnchor(env, target); err != nil || key != "" {
		return opts, err
	}
	if opts.Anchor == nil {
		dir, err := env.AnchorDir(target)
		if err != nil {
			return opts, err
		}
		return opts, remedy.Usage(fmt.Errorf("there is no anchor that can be read in %s", dir), "give the public key with --key")
	}
	opts.Key = opts.Anchor.Key().Verifier()
	return opts, nil
}

func printReport(env *home.Env, v verified, asJSON bool) error {
	result := v.Result()
	if !v.State.OK() {
		result = audit.Damaged
	}
	if asJSON {
		if err := writeJSON(env.Stdout, struct {
			OK     bool         `json:"ok"`
			Result audit.Result `json:"result"`
			verified
		}{result == audit.OK, result, v}); err != nil {
			return err
		}
	} else {
		if in := v.Database; in != nil {
			for i, checks := range [][]string{in.Checked, in.Unchecked} {
				for _, c := range checks {
					fmt.Fprintf(env.Stdout, "%s%s\n", [...]string{"checked: ", "not checked: "}[i], plain.Text(c, 0))
				}
			}
		}
		writeVerified(env, v.Report, v.State)
		fmt.Fprintf(env.Stdout, "%s\n", result)
	}
	switch result {
	case audit.OK:
		return nil
	case audit.Unsigned:
		return remedy.Failure(errors.New("the log is unsigned in part"), "verify it where its anchor is, or --against checkpoints from elsewhere")
	}
	return remedy.Failure(audit.ErrDamaged, "what is listed was changed, removed or added after it was written")
}

// writeVerified writes a report for people.
func writeVerified(env *home.Env, r *audit.Report, state *replay.Report) {
	fmt.Fprintf(env.Stdout, "%d entries in %d chains, %d erased; %d of them under %d checkpoints\nroot %s\n",
		r.Size, r.Chains, r.Erased, r.Signed, r.Checkpoints, r.Root)
	for _, f := range r.Findings {
		where := "log"
		if f.Entry >= 0 {
			where = fmt.Sprint("entry ", f.Entry)
		}
		fmt.Fprintf(env.Stdout, "%s: %s\n", where, plain.Text(f.What, 0))
	}
	if r.More > 0 {
		fmt.Fprintf(env.Stdout, "and %d more\n", r.More)
	}
	for _, u := range r.Unchecked {
		fmt.Fprintf(env.Stdout, "not checked: %s\n", u)
	}
	printStateReport(env.Stdout, state)
}

// A selection are the flags that select events.
type selection struct {
	session, tool, kind, effect string
	limit                       int
}

func (s *selection) add(cmd *cobra.Command, limit int) {
	cmd.Flags().StringVar(&s.session, "session", "", "of this agent session, by its `KEY`")
	cmd.Flags().StringVar(&s.tool, "tool", "", "of this tool, prompt or resource, `SERVER/NAME`")
	cmd.Flags().StringVar(&s.kind, "kind", "", "of this `KIND`, such as decision or label")
	cmd.Flags().StringVar(&s.effect, "effect", "", "with this `EFFECT`, such as block")
	cmd.Flags().IntVar(&s.limit, "limit", limit, "at most the newest `N`, 0 for all")
}

func (s *selection) query() audit.Query {
	return audit.Query{Chain: s.session, Subject: s.tool, Kind: s.kind, Outcome: s.effect, Newest: true, Limit: s.limit}
}

func newAuditShow(env *home.Env, place *string) *cobra.Command {
	var s selection
	var content bool
	var identity string
	cmd := &cobra.Command{
		Use:   "show [NUMBER]",
		Short: "Show events, or one entry whole",
		Long: `Show the newest events, the newest last, or the entry with a number as JSON. With --content, its
captured content is decrypted and shown too, and compared with the digest in the event.`,
		Example: "  weir audit show --session local/process:x\n  weir audit show --tool mail/send_email --effect block\n  weir audit show 17 --content",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if content && len(args) == 0 {
				return usage(cmd, errors.New("--content needs the number of an entry"))
			}
			return readStore(cmd.Context(), env, *place, func(db *sqlstore.DB, target string) error {
				if len(args) == 1 {
					out, err := entryOf(cmd.Context(), db, args[0])
					if err == nil && content {
						out.Content, err = captured(cmd.Context(), env, db, out, [2]string{identity, target})
					}
					if err != nil {
						return err
					}
					return writeJSON(env.Stdout, out)
				}
				rows, err := collect(cmd.Context(), db, s.query())
				if err != nil {
					return err
				}
				for i := len(rows) - 1; i >= 0; i-- {
					if _, err := fmt.Fprintln(env.Stdout, rowText(&rows[i])); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	s.add(cmd, 50)
	cmd.Flags().BoolVar(&content, "content", false, "show the captured arguments and answer")
	cmd.Flags().StringVar(&identity, "identity", "", "read it with the age identity in this `FILE` (default the key beside the store)")
	return cmd
}

func collect(ctx context.Context, db *sqlstore.DB, q audit.Query) (rows []audit.Row, err error) {
	for row, err := range db.Log().Rows(ctx, q) {
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// rowText returns an entry as a line for people.
func rowText(r *audit.Row) string {
	if r.Erased() {
		return fmt.Sprintf("%7d  erased", r.Seq)
	}
	text := fmt.Sprintf("%7d  %s  %-10s %-8s %s", r.Seq, r.Time.Format(time.RFC3339), plain.Text(r.Kind, 20),
		plain.Text(r.Outcome, 20), plain.Text(r.Subject, 80))
	var e record.Event
	if err := json.Unmarshal(r.Body, &e); err == nil && e.Rule+e.Message != "" {
		text += "  " + strings.TrimSpace(plain.Text(e.Rule, 60)+" "+plain.Text(e.Message, 160))
	}
	return strings.TrimRight(text, " ") + "  [" + plain.Text(r.Chain, 80) + "]"
}
