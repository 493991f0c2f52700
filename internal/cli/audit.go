package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/internal/replay"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store/sqlstore"
)

func newAudit(env *Env) *cobra.Command {
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
	cmd.PersistentFlags().StringVar(&place, "store", "", "the `PLACE` of the log: a file or postgres://… (default state.db in\nweir's state directory)")
	cmd.AddCommand(newAuditVerify(env, &place), newAuditShow(env, &place), newAuditTail(env, &place), newAuditExport(env, &place),
		newAuditProve(env, &place), newAuditKey(env, &place), newAuditRotate(env, &place),
		newAuditErase(env, &place), newAuditAdopt(env, &place))
	return cmd
}

// withStore calls do with a store that is there already, and in which do appends nothing to the log.
func (e *Env) withStore(ctx context.Context, place string, do func(db *sqlstore.DB, target string) error) error {
	return e.withStoreBy(ctx, place, &sqlstore.Options{Existing: true, Untouched: true}, do)
}

// readStore calls do with a store that is there already, to read it: also where it cannot be written, and as another user than its
// owner, if that one may read it.
func (e *Env) readStore(ctx context.Context, place string, do func(db *sqlstore.DB, target string) error) error {
	return e.withStoreBy(ctx, place, &sqlstore.Options{ReadOnly: true}, do)
}

// withAnchor calls do with a store that is there already, whose log is held to its anchor.
func (e *Env) withAnchor(ctx context.Context, place string, do func(*sqlstore.DB, *audit.Anchor) error) error {
	target, err := e.existing(place)
	if err != nil {
		return err
	}
	anchor, err := e.openAnchor(target, nil, nil)
	if err != nil {
		return err
	}
	opts := &sqlstore.Options{Existing: true, Anchor: anchor}
	return e.withStoreBy(ctx, target, opts, func(db *sqlstore.DB, _ string) error { return do(db, anchor) })
}

// existing returns the place of a store that is there already.
func (e *Env) existing(place string) (string, error) {
	target, err := e.storePlace(place)
	if err != nil {
		return "", err
	}
	if !strings.Contains(target, "://") {
		if _, err := os.Stat(target); errors.Is(err, fs.ErrNotExist) {
			return "", remedy.Usage(fmt.Errorf("there is no store at %s", target), "weir run and weir wrap make one; name another with --store")
		}
	}
	return target, nil
}

func (e *Env) withStoreBy(ctx context.Context, place string, opts *sqlstore.Options, do func(*sqlstore.DB, string) error) (err error) {
	target, err := e.existing(place)
	if err != nil {
		return err
	}
	db, err := openStore(ctx, target, opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return do(db, target)
}

// readKey returns the key of the log in a store.
func (e *Env) readKey(target string) (*audit.Key, error) {
	dir, err := e.anchorDir(target)
	if err != nil {
		return nil, err
	}
	k, err := audit.ReadKey(filepath.Join(dir, "key"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, remedy.Usage(fmt.Errorf("there is no key in %s", dir), "give the public key with --key")
	}
	return k, err
}

// withLog calls do with the log in a store, under its anchor.
func (e *Env) withLog(ctx context.Context, place string, do func(*audit.Log) error) error {
	return e.withAnchor(ctx, place, func(db *sqlstore.DB, a *audit.Anchor) error {
		l, err := audit.Open(ctx, db.Log(), a)
		if err != nil {
			return err
		}
		return do(l)
	})
}

func newAuditVerify(env *Env, place *string) *cobra.Command {
	var key string
	var against []string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check every entry, chain and checkpoint of the log",
		Long: `Read the whole log and check each entry against its leaf, each chain, the tree, all checkpoints, the
seal of its head and its anchor, and the state with what the log proves of it: agent sessions, labels of
resources and approvals. Have the database check itself. Say what is wrong and where. The result is ok,
damaged, or unsigned: nothing wrong was found, but not all could be checked, since the anchor is not
here. The exit status is 0 for ok alone. The store is only read: a copy of it, or one on read-only media,
will do. With --against, also check that the log extends checkpoints that were kept or published
elsewhere: if it does not, it was shortened or rewritten since.`,
		Example: "  weir audit verify\n  weir audit verify --against yesterday.txt --key 'weir/…+1234abcd+…' --json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return env.readStore(cmd.Context(), *place, func(db *sqlstore.DB, target string) error {
				opts, err := env.verifyOptions(target, key, len(against) > 0)
				if err != nil {
					return err
				}
				report, err := verifyAll(cmd.Context(), db, opts)
				if err != nil {
					return err
				}
				if err := env.extends(cmd.Context(), db, against, opts.Key); err != nil {
					return err
				}
				report.State, err = verifyState(cmd.Context(), db)
				if err != nil && !report.OK() { // it cannot be read for what is wrong with it
					report.Findings = append(report.Findings, audit.Finding{Entry: -1, What: "the state cannot be read: " + err.Error()})
					report.State, err = &replay.Report{Proved: true}, nil
				}
				if err != nil {
					return err
				}
				return env.printReport(report, asJSON)
			})
		},
	}
	cmd.Flags().StringVar(&key, "key", "", "the public `KEY` (default that of the log's anchor)")
	cmd.Flags().StringArrayVar(&against, "against", nil, "a checkpoint in this `FILE`, or at this http or https URL, that the log has to\nextend; may be given several times")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON")
	return cmd
}

// A verified is what verifying a store found.
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
	if err != nil && len(in.Findings) > 0 { // it cannot be read for what is wrong with it
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

// verifyOptions returns what the log in a store is held against.
func (e *Env) verifyOptions(target, key string, elsewhere bool) (opts audit.VerifyOptions, err error) {
	opts = audit.VerifyOptions{Key: key, Elsewhere: elsewhere}
	if opts.Anchor, err = e.readAnchor(target); err != nil || key != "" {
		return opts, err
	}
	if opts.Anchor == nil {
		dir, err := e.anchorDir(target)
		if err != nil {
			return opts, err
		}
		return opts, remedy.Usage(fmt.Errorf("there is no anchor that can be read in %s", dir), "give the public key with --key")
	}
	opts.Key = opts.Anchor.Key().Verifier()
	return opts, nil
}

func (e *Env) printReport(v verified, asJSON bool) error {
	result := v.Result()
	if !v.State.OK() {
		result = audit.Damaged
	}
	if asJSON {
		if err := writeJSON(e.Stdout, struct {
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
					fmt.Fprintf(e.Stdout, "%s%s\n", [...]string{"checked: ", "not checked: "}[i], plain.Text(c, 0))
				}
			}
		}
		e.writeReport(v.Report, v.State)
		fmt.Fprintf(e.Stdout, "%s\n", result)
	}
	switch result {
	case audit.OK:
		return nil
	case audit.Unsigned:
		return remedy.Failure(errors.New("the log is unsigned in part"), "verify it where its anchor is, or --against checkpoints from elsewhere")
	}
	return remedy.Failure(audit.ErrDamaged, "what is listed was changed, removed or added after it was written")
}

// writeReport writes a report for people.
func (e *Env) writeReport(r *audit.Report, state *replay.Report) {
	fmt.Fprintf(e.Stdout, "%d entries in %d chains, %d erased; %d of them under %d checkpoints\nroot %s\n",
		r.Size, r.Chains, r.Erased, r.Signed, r.Checkpoints, r.Root)
	for _, f := range r.Findings {
		where := "log"
		if f.Entry >= 0 {
			where = fmt.Sprint("entry ", f.Entry)
		}
		fmt.Fprintf(e.Stdout, "%s: %s\n", where, plain.Text(f.What, 0))
	}
	if r.More > 0 {
		fmt.Fprintf(e.Stdout, "and %d more\n", r.More)
	}
	for _, u := range r.Unchecked {
		fmt.Fprintf(e.Stdout, "not checked: %s\n", u)
	}
	printStateReport(e.Stdout, state)
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

func newAuditShow(env *Env, place *string) *cobra.Command {
	var s selection
	var content bool
	var identity string
	cmd := &cobra.Command{
		Use:   "show [NUMBER]",
		Short: "Show events, or one entry whole",
		Long: `Show the newest events, the newest last, or the entry with a number as JSON. With --content, what was
captured with it is decrypted and shown too, and compared with the digest in the event.`,
		Example: "  weir audit show --session local/process:x\n  weir audit show --tool mail/send_email --effect block\n  weir audit show 17 --content",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if content && len(args) == 0 {
				return usage(cmd, errors.New("--content needs the number of an entry"))
			}
			return env.readStore(cmd.Context(), *place, func(db *sqlstore.DB, target string) error {
				if len(args) == 1 {
					out, err := entryOf(cmd.Context(), db, args[0])
					if err == nil && content {
						out.Content, err = env.captured(cmd.Context(), db, out, [2]string{identity, target})
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
	cmd.Flags().BoolVar(&content, "content", false, "show what was captured of arguments and answer")
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
	text := fmt.Sprintf("%7d  %s  %-10s %-8s %s", r.Seq, r.Time.Format(time.RFC3339), plain.Text(r.Kind, 20), plain.Text(r.Outcome, 20), plain.Text(r.Subject, 80))
	var e record.Event
	if err := json.Unmarshal(r.Body, &e); err == nil && e.Rule+e.Message != "" {
		text += "  " + strings.TrimSpace(plain.Text(e.Rule, 60)+" "+plain.Text(e.Message, 160))
	}
	return strings.TrimRight(text, " ") + "  [" + plain.Text(r.Chain, 80) + "]"
}

// An logEntry is an entry as JSON.
type logEntry struct {
	Entry  int64           `json:"entry"`
	Erased bool            `json:"erased,omitempty"`
	Leaf   []byte          `json:"leaf"`
	Salt   []byte          `json:"salt,omitempty"`
	Event  json.RawMessage `json:"event,omitempty"`

	Content *contentReport `json:"content,omitempty"`
}

func entryOf(ctx context.Context, db *sqlstore.DB, number string) (*logEntry, error) {
	seq, err := parseEntry(number)
	if err != nil {
		return nil, err
	}
	rows, err := collect(ctx, db, audit.Query{From: seq, To: seq + 1})
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, remedy.Usage(fmt.Errorf("there is no entry %d", seq), "")
	}
	r := &rows[0]
	out := &logEntry{Entry: r.Seq, Erased: r.Erased(), Leaf: r.Leaf, Salt: r.Salt}
	if json.Valid(r.Body) {
		out.Event = r.Body
	}
	return out, nil
}

func parseEntry(s string) (int64, error) {
	seq, err := strconv.ParseInt(s, 10, 64)
	if err != nil || seq < 0 {
		return 0, remedy.Usage(fmt.Errorf("%.40q is not the number of an entry", s), "see weir audit show")
	}
	return seq, nil
}
