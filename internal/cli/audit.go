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
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store/sqlstore"
)

func newAudit(env *Env) *cobra.Command {
	var place string
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Read, verify and export the log of events",
		Long: `Every event is an entry of a log that nobody can change unseen: an append-only Merkle tree
under signed checkpoints, with a chain of its own for each agent session. The log is in the
store, the key that signs it beside it. Keep checkpoints, and the public key, elsewhere too: who
holds both the store and the key can write another log.`,
		Example: "  weir audit verify\n  weir audit show --effect block\n  weir audit export --format ocsf > events.ocsf",
		Args:    cobra.ArbitraryArgs,
		RunE:    needsSubcommand,
	}
	cmd.PersistentFlags().StringVar(&place, "store", "", "the `PLACE` of the log: a file or postgres://… (default state.db in\nweir's state directory)")
	cmd.AddCommand(newAuditVerify(env, &place), newAuditShow(env, &place), newAuditTail(env, &place), newAuditExport(env, &place),
		newAuditProve(env, &place), newAuditKey(env, &place), newAuditRotate(env, &place),
		newAuditErase(env, &place))
	return cmd
}

// withStore calls do with a store that is there already.
func (e *Env) withStore(ctx context.Context, place string, do func(db *sqlstore.DB, target string) error) (err error) {
	target := place
	if target == "" {
		dir, err := e.stateDir()
		if err != nil {
			return err
		}
		target = filepath.Join(dir, "state.db")
	}
	if !strings.Contains(target, "://") {
		if _, err := os.Stat(target); errors.Is(err, fs.ErrNotExist) {
			return &failure{exitUsage, fmt.Errorf("there is no store at %s", target), "weir run and weir wrap make one; name another with --store"}
		}
	}
	db, target, err := e.openStore(ctx, target)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return do(db, target)
}

// readKey returns the key beside a store.
func (e *Env) readKey(target string) (*audit.Key, error) {
	path, err := e.keyPath(target)
	if err != nil {
		return nil, err
	}
	k, err := audit.ReadKey(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &failure{exitUsage, fmt.Errorf("there is no key at %s", path), "give the public key with --key"}
	}
	return k, err
}

// withLog calls do with the log in a store and the key beside it.
func (e *Env) withLog(ctx context.Context, place string, do func(*audit.Log) error) error {
	return e.withStore(ctx, place, func(db *sqlstore.DB, target string) error {
		k, err := e.readKey(target)
		if err != nil {
			return err
		}
		l, err := audit.Open(ctx, db.Log(), k)
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
		Long: `Read the whole log and check each entry against its leaf, each chain, the tree and all
checkpoints, and say what is wrong and where. The exit status is 1 if anything is. With
--against, also check that the log extends checkpoints that were kept or published elsewhere: if it
does not, it was shortened or rewritten since.`,
		Example: "  weir audit verify\n  weir audit verify --against yesterday.txt --key 'weir/…+1234abcd+…' --json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return env.withStore(cmd.Context(), *place, func(db *sqlstore.DB, target string) error {
				if key == "" {
					k, err := env.readKey(target)
					if err != nil {
						return err
					}
					key = k.Verifier()
				}
				report, err := audit.Verify(cmd.Context(), db.Log(), key)
				if err != nil {
					return err
				}
				if err := env.extends(cmd.Context(), db, against, key); err != nil {
					return err
				}
				return env.printReport(report, asJSON)
			})
		},
	}
	cmd.Flags().StringVar(&key, "key", "", "the public `KEY` (default that of the key beside the store)")
	cmd.Flags().StringArrayVar(&against, "against", nil, "a checkpoint in this `FILE`, or at this http or https URL, that the log has to\nextend; may be given several times")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON")
	return cmd
}

func (e *Env) printReport(r *audit.Report, asJSON bool) error {
	if asJSON {
		if err := writeJSON(e.Stdout, struct {
			OK bool `json:"ok"`
			*audit.Report
		}{r.OK(), r}); err != nil {
			return err
		}
	} else {
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
	}
	if r.OK() {
		return nil
	}
	return &failure{exitFailure, audit.ErrDamaged, "what is listed was changed, removed or added after it was written"}
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
			return env.withStore(cmd.Context(), *place, func(db *sqlstore.DB, target string) error {
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
		return nil, &failure{exitUsage, fmt.Errorf("there is no entry %d", seq), ""}
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
		return 0, &failure{exitUsage, fmt.Errorf("%.40q is not the number of an entry", s), "see weir audit show"}
	}
	return seq, nil
}
