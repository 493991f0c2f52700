package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/internal/app"
	"github.com/weir-mcp/weir/internal/gateway/approve"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/ledger"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// An answerFlags says whose questions are meant, "" for all, and where they are kept.
type answerFlags struct{ store, principal string }

func (a *answerFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&a.store, "store", "", "the `PLACE` of the questions: a file or postgres://… (default state.db in\nweir's state directory)")
	cmd.Flags().StringVar(&a.principal, "principal", "", "only requests of this `PRINCIPAL` (default all)")
}

// withBook calls do with the questions in a store.
func withBook(ctx context.Context, env *home.Env, a *answerFlags, do func(*approve.Book) error) error {
	return withLedger(ctx, env, a.store, func(db *sqlstore.DB, l *ledger.Ledger) error {
		return do(app.NewBook(db, l))
	})
}

// withStore calls do with a store that is there already, and in which do appends nothing to the log.
func withStore(ctx context.Context, env *home.Env, place string, do func(db *sqlstore.DB, target string) error) error {
	return withStoreBy(ctx, env, place, &sqlstore.Options{Existing: true, Untouched: true}, do)
}

// readStore calls do with a store that is there already, to read it: also where it cannot be written, and as another
// user than its owner, if that one may read it.
func readStore(ctx context.Context, env *home.Env, place string, do func(db *sqlstore.DB, target string) error) error {
	return withStoreBy(ctx, env, place, &sqlstore.Options{ReadOnly: true}, do)
}

// withAnchor calls do with a store that is there already, whose log is held to its anchor.
func withAnchor(ctx context.Context, env *home.Env, place string, do func(*sqlstore.DB, *audit.Anchor) error) (err error) {
	target, err := existing(env, place)
	if err != nil {
		return err
	}
	anchor, err := app.OpenAnchor(env, target, nil, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, anchor.Close()) }()
	opts := &sqlstore.Options{Existing: true, Anchor: anchor}
	return withStoreBy(ctx, env, target, opts, func(db *sqlstore.DB, _ string) error { return do(db, anchor) })
}

// existing returns the place of a store that is there already.
func existing(env *home.Env, place string) (string, error) {
	target, err := env.StorePlace(place)
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

func withStoreBy(ctx context.Context, env *home.Env, place string, opts *sqlstore.Options, do func(*sqlstore.DB, string) error) (err error) {
	target, err := existing(env, place)
	if err != nil {
		return err
	}
	db, err := app.OpenStore(ctx, target, opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return do(db, target)
}

// readKey returns the key of the log in a store.
func readKey(env *home.Env, target string) (*audit.Key, error) {
	dir, err := env.AnchorDir(target)
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
func withLog(ctx context.Context, env *home.Env, place string, do func(*audit.Log) error) error {
	return withAnchor(ctx, env, place, func(db *sqlstore.DB, a *audit.Anchor) error {
		l, err := audit.Open(ctx, db.Log(), a)
		if err != nil {
			return err
		}
		return do(l)
	})
}

// withLedger calls do with a store and the log in it, to record the action of a person on a session.
func withLedger(ctx context.Context, env *home.Env, place string, do func(*sqlstore.DB, *ledger.Ledger) error) error {
	return withAnchor(ctx, env, place, func(db *sqlstore.DB, a *audit.Anchor) (err error) {
		l, err := ledger.New(ctx, ledger.Options{DB: db, Anchor: a})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, l.Close()) }()
		return do(db, l)
	})
}
