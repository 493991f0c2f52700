package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/internal/feed"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// tailEvery is how often the log is asked for new entries.
const tailEvery = 250 * time.Millisecond

func newAuditTail(env *home.Env, place *string) *cobra.Command {
	format := choice{"jsonl", feed.Formats()}
	cmd := &cobra.Command{
		Use:     "tail",
		Short:   "Print events as they come, until interrupted",
		Long:    "Print each event that any weir on the store records from now on, one a line.",
		Example: "  weir audit tail\n  weir audit tail --format cef",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return readStore(cmd.Context(), env, *place, func(db *sqlstore.DB, _ string) error {
				err := tailLog(cmd.Context(), env, db, format.value)
				if cmd.Context().Err() != nil {
					return nil
				}
				return err
			})
		},
	}
	addChoice(cmd, &format, "format", "how to print events")
	return cmd
}

func tailLog(ctx context.Context, env *home.Env, db *sqlstore.DB, format string) error {
	head, err := db.Log().Head(ctx)
	if err != nil {
		return err
	}
	next := head.Size
	ticks := time.NewTicker(tailEvery)
	defer ticks.Stop()
	for {
		if next, err = printEvents(ctx, env, db, format, audit.Query{From: next}); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticks.C:
		}
	}
}

// printEvents prints the events that a query selects, and returns the number after the last.
func printEvents(ctx context.Context, env *home.Env, db *sqlstore.DB, format string, q audit.Query) (next int64, err error) {
	write, _ := feed.Format(format)
	next = q.From
	for row, err := range db.Log().Rows(ctx, q) {
		if err != nil {
			return next, err
		}
		next = row.Seq + 1
		var event record.Event
		if row.Erased() || row.Kind == string(record.StateRow) || json.Unmarshal(row.Body, &event) != nil {
			continue // erased, or not an event: the log's own entries
		}
		line, err := write(feed.Item{Seq: row.Seq, Event: &event, Raw: row.Body})
		if err != nil {
			return next, fmt.Errorf("entry %d: %w", row.Seq, err)
		}
		if _, err := env.Stdout.Write(append(line, '\n')); err != nil {
			return next, err
		}
	}
	return next, nil
}

func newAuditExport(env *home.Env, place *string) *cobra.Command {
	format := choice{"jsonl", feed.Formats()}
	var from, to int64
	var tiles string
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Print all events, or write the log for other programs to verify",
		Long: `Print events as JSON Lines, CEF, OCSF or OpenTelemetry logs (OTLP as JSON), one a line.

With --tiles, write the log instead as a static one that other tools of transparency logs read
(c2sp.org/tlog-tiles): a signed checkpoint, tiles of hashes, and the leaves, which hold digests
of events and no event.`,
		Example: "  weir audit export > events.jsonl\n  weir audit export --format ocsf --from 1000\n  weir audit export --tiles log",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if tiles != "" {
				return withLog(cmd.Context(), env, *place, func(l *audit.Log) error { return exportTiles(cmd.Context(), l, tiles) })
			}
			return readStore(cmd.Context(), env, *place, func(db *sqlstore.DB, _ string) error {
				_, err := printEvents(cmd.Context(), env, db, format.value, audit.Query{From: from, To: to})
				return err
			})
		},
	}
	addChoice(cmd, &format, "format", "how to print events")
	cmd.Flags().Int64Var(&from, "from", 0, "begin with the entry of this `NUMBER`")
	cmd.Flags().Int64Var(&to, "to", 0, "end before the entry of this `NUMBER`, 0 for all")
	cmd.Flags().StringVar(&tiles, "tiles", "", "write a static log into this `DIRECTORY`")
	return cmd
}

// exportTiles writes a static log into a directory. Files that are there stay if they are the same.
func exportTiles(ctx context.Context, l *audit.Log, dir string) error {
	return l.Export(ctx, func(path string, data []byte) error {
		name := filepath.Join(dir, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		return os.WriteFile(name, data, 0o644)
	})
}

func newAuditProve(env *home.Env, place *string) *cobra.Command {
	var check, key string
	cmd := &cobra.Command{
		Use:   "prove NUMBER",
		Short: "Prove that an entry is in the log, or check a proof",
		Long: `Print the proof that the log holds the entry with a number: its leaf, the path to the root of the
tree and a signed checkpoint. Whoever has the public key can check it without the log.`,
		Example: "  weir audit prove 17 > proof.json\n  weir audit prove --check proof.json --key 'weir/…+1234abcd+…'",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if check != "" {
				return checkProof(env, check, key)
			}
			if len(args) == 0 {
				return usage(cmd, errors.New("weir audit prove needs the number of an entry"))
			}
			seq, err := parseEntry(args[0])
			if err != nil {
				return err
			}
			return withLog(cmd.Context(), env, *place, func(l *audit.Log) error {
				p, err := l.Prove(cmd.Context(), seq)
				if err != nil {
					return err
				}
				return writeJSON(env.Stdout, p)
			})
		},
	}
	cmd.Flags().StringVar(&check, "check", "", "check the proof in this `FILE`")
	cmd.Flags().StringVar(&key, "key", "", "the public `KEY`, for --check")
	return cmd
}

func checkProof(env *home.Env, path, key string) error {
	b, err := home.ReadFile(path)
	if err != nil {
		return remedy.Usage(fmt.Errorf("reading the proof: %w", err), "")
	}
	if key == "" {
		return remedy.Usage(errors.New("--check needs the public key"), "give --key, as weir audit key prints it")
	}
	var p audit.Proof
	if err := json.Unmarshal(b, &p); err != nil {
		return remedy.Usage(fmt.Errorf("reading the proof: %w", err), "")
	}
	if err := p.Check(key); err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.Stdout, "entry %d is in the log\n", p.Seq)
	return err
}

func newAuditKey(env *home.Env, place *string) *cobra.Command {
	var file, name string
	cmd := &cobra.Command{
		Use:   "key",
		Short: "Print the public key of the log",
		Long: `Print the public key that the log's checkpoints are verified with. Keep it where the log is not. With
--pem, print that of another program instead, as audit.signer in weir.yaml takes it.`,
		Example: "  weir audit key\n  weir audit key --pem signer.pem --name weir.example/log",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if file != "" {
				key, err := publicKeyOf(file, name)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintln(env.Stdout, key)
				return err
			}
			return readStore(cmd.Context(), env, *place, func(_ *sqlstore.DB, target string) error {
				k, err := readKey(env, target)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintln(env.Stdout, k.Verifier())
				return err
			})
		},
	}
	cmd.Flags().StringVar(&file, "pem", "", "the public key in this PEM `FILE`, of Ed25519")
	cmd.Flags().StringVar(&name, "name", "weir/log", "with --pem, the `NAME` of the log")
	return cmd
}

func newAuditRotate(env *home.Env, place *string) *cobra.Command {
	return &cobra.Command{
		Use:   "rotate",
		Short: "Hand the log over to a new key",
		Long: `Make a new key, and hand the log over to it by a checkpoint that both keys sign. Who knows the old
public key can follow. Every running weir on the store takes the new key up from its file; on
several machines, copy the file.`,
		Example: "  weir audit rotate",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := withLog(cmd.Context(), env, *place, func(l *audit.Log) error {
				if err := l.Rotate(cmd.Context(), time.Now(), nil); err != nil {
					return err
				}
				_, err := fmt.Fprintln(env.Stdout, l.Key().Verifier())
				return err
			})
			if errors.Is(err, fs.ErrPermission) {
				return remedy.Failure(err, "the directory of the key has to be writable")
			}
			return err
		},
	}
}
