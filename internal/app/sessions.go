package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/weir-mcp/weir/internal/gateway/approve"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/ledger"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/session"
	"github.com/weir-mcp/weir/store"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// NewBook returns the questions in a store, for who answers them.
func NewBook(db *sqlstore.DB, l *ledger.Ledger) *approve.Book {
	return approve.NewBook(approve.Options{Record: l, Store: db, Sessions: session.New(session.Options{Store: db})})
}

// RefOf names a session that is kept.
func RefOf(s store.Session) session.Ref {
	return session.Ref{Key: s.Key, Parent: s.Parent, Principal: s.Principal}
}

// UserEvent returns the event of an act of the user on a session, with its reason.
func UserEvent(env *home.Env, kind record.Kind, s store.Session, why string) *record.Event {
	ev := record.New(kind, time.Now())
	ev.Session, ev.Parent, ev.Principal, ev.Message = s.Key, s.Parent, s.Principal, why
	ev.Where = env.Person()
	return ev
}

// FindSession returns a session, or why there is none.
func FindSession(ctx context.Context, db *sqlstore.DB, key string) (store.Session, error) {
	s, err := db.Get(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return s, remedy.Usage(fmt.Errorf("there is no session %.200q", key), "see weir session list")
	}
	return s, err
}

// NeedsReason refuses an empty reason.
func NeedsReason(why string) error {
	if strings.TrimSpace(why) == "" {
		return remedy.Usage(errors.New("the log has to say why"), "give --why TEXT")
	}
	return nil
}

// LabelToDrop returns the part of a label that the words name, with all that implies it.
func LabelToDrop(l label.Label, words []string) (drop label.Label) {
	for _, w := range words {
		switch w {
		case "untrusted":
			drop.Untrusted = true
			drop.Sources = drop.Sources.Union(label.SetOf(label.UntrustedPublic))
		case "private":
			drop.Private, drop.Readers = true, l.Readers
			drop.Sources = drop.Sources.Union(label.SetOf(label.Internal, label.UserSource))
			drop.Sensitivity = drop.Sensitivity.Union(l.Sensitivity)
		case "malicious":
			drop.Malicious, drop.Findings = true, l.Findings
		default:
			drop.Sensitivity = drop.Sensitivity.Union(label.SetOf(label.Class(w)))
		}
	}
	return drop
}
