package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// damagedHint says how to go on with a log that does not extend its anchor.
const damagedHint = "see weir audit verify; then restore a backup, or take over what is left with weir audit adopt"

// anchorHint returns an error of opening a log under its anchor with how to go on; nil if it is none.
func anchorHint(err error, opts *sqlstore.Options) error {
	switch {
	case opts == nil || opts.Anchor == nil:
	case errors.Is(err, audit.ErrKey):
		dir := opts.Anchor.Dir()
		return remedy.Failure(err, "every weir on one store needs the same key: copy it to "+filepath.Join(dir, "key")+
			"; if the store was moved, move its anchor to "+dir)
	case errors.Is(err, audit.ErrDamaged):
		return remedy.Failure(err, damagedHint)
	}
	return nil
}

// rowHint says how to go on with rows of the state that the log does not prove.
const rowHint = "see weir audit verify and weir state rebuild"

// tellingDamage logs rows of the state that are not as the log proves.
func tellingDamage(log *slog.Logger) func(error) {
	return func(err error) {
		log.Error("the state is not what the log proves; calls that need it are refused", "error", err, "hint", rowHint)
	}
}

// OpenStore opens the store at a place.
func OpenStore(ctx context.Context, target string, opts *sqlstore.Options) (*sqlstore.DB, error) {
	db, err := sqlstore.Open(ctx, target, opts)
	if err != nil {
		if hinted := anchorHint(err, opts); hinted != nil {
			return nil, hinted
		}
		return nil, remedy.Usage(fmt.Errorf("opening the store: %w", err), storeHint(err, target))
	}
	return db, nil
}

// storeHint returns the remedy of an error of the store at a target. Going on without its labels never is one.
func storeHint(err error, target string) string {
	server := strings.Contains(target, "://")
	switch {
	case errors.Is(err, sqlstore.ErrDenied):
		return "have the owner of the tables run weir state init --store postgres://OWNER@HOST/DATABASE"
	case errors.Is(err, sqlstore.ErrSchema):
		return ""
	case errors.Is(err, audit.ErrDamaged):
		return damagedHint
	case errors.Is(err, audit.ErrSigner):
		return "see why the program of audit.signer does not sign"
	case errors.Is(err, sqlstore.ErrMoved) && !errors.Is(err, sqlstore.ErrExposed):
		return "bring the same file back, or restore a backup with weir state restore and start weir again"
	case errors.Is(err, sqlstore.ErrExposed):
		return "find out who changed that; then chmod 600 " + target + "*"
	case server && errors.Is(err, sqlstore.ErrStalled):
		return "the database server, or the way to it, does not answer: look into its log, and at locks in pg_stat_activity"
	case errors.Is(err, sqlstore.ErrStalled):
		return "another process holds its lock, or the disk does not answer: weir status lists who uses it"
	case server:
		return "see whether the database server runs, and lets this user in from here"
	}
	return "weir has to be able to read and write it; name another place with --store"
}

// telling logs how the store does whenever that changes.
func telling(log *slog.Logger) func(sqlstore.Health) {
	return func(h sqlstore.Health) {
		if h.State == sqlstore.OK {
			log.Info("the store works again")
			return
		}
		log.Error("the store does not work; calls are refused", "state", string(h.State), "error", h.Err)
	}
}

// ShowTarget returns a target without the password that may be in it.
func ShowTarget(target string) string {
	if u, err := url.Parse(target); err == nil && strings.Contains(target, "://") {
		return u.Redacted()
	}
	return target
}

// warnOfRole warns if the role of the database can change or remove entries of the log.
func warnOfRole(ctx context.Context, db *sqlstore.DB, log *slog.Logger) {
	p, err := db.Privileges(ctx)
	if err != nil {
		log.Warn("whether the role of the database can change the log could not be checked", "error", err)
		return
	}
	if len(p.TooWide) > 0 {
		log.Warn("the role of the database can change or remove entries of the log", "role", p.Role,
			"why", plain.Text(strings.Join(p.TooWide, "; "), MaxTold),
			"hint", "set the store up with weir state init")
	}
}
