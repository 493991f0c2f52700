package app

import (
	"context"
	"errors"
	"log/slog"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/gateway/approve"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/notify"
	"github.com/weir-mcp/weir/internal/setup"
	"github.com/weir-mcp/weir/session"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// A desk is a guard without a gateway, over an open store: it decides on events that others tell. The zero desk is
// closed.
type desk struct {
	kept   *state // nil: not open
	guard  *guard.Guard
	book   *approve.Book
	people *notify.Notifier // who is told of approval requests
}

// openDesk opens the store of a setup. The work of its background ends when it is closed, or with ctx.
func openDesk(ctx context.Context, env *home.Env, s *setup.Setup, log *slog.Logger, files guard.Files) (desk, error) {
	c := s.Config
	words, err := setup.Words(c.Words)
	if err != nil {
		return desk{}, err
	}
	people := newNotifier(env, c.Notify, log)
	kept, err := openState(ctx, env, c, log, people)
	if err != nil {
		people.Close()
		return desk{}, err
	}
	book := approve.NewBook(approve.Options{
		Timeout: c.Approval.Timeout, Record: kept.state, Store: kept.backend, Sessions: kept.state.Sessions(), Asked: asked(people),
	})
	detection := setup.Detection(s)
	detection.Sent = nil // whoever asks sends the call itself
	g, err := guard.New(guard.Options{
		Policy: s.Policy(), Mode: c.Mode, State: kept.state, Approvals: book, Words: words,
		Domains: c.Own.Domains, Me: c.Own.Me, Readers: c.Own.Readers, Files: files,
		Taints:   session.NewTaints(session.TaintOptions{Store: kept.backend, Keep: keepLabels(c.Retention)}),
		Contents: contentsOf(s, kept, detection),
		Vault:    kept.vault, CannotHide: true,
	})
	if err != nil {
		people.Close()
		return desk{}, errors.Join(err, kept.Close())
	}
	g.Plans.Set(planRules(c)) // no plan has tools of the host
	g.Hidden.Use()            // by gateways with the same store
	return desk{kept, g, book, people}, nil
}

// broken reports whether the store that is open does not work.
func (d *desk) broken() bool {
	return d.kept != nil && d.kept.db != nil && d.kept.db.Health().State != sqlstore.OK
}

// close closes the store, if it is open.
func (d *desk) close() (err error) {
	if d.kept != nil {
		d.people.Close() // before the book that takes its answers
		err = d.kept.Close()
	}
	*d = desk{}
	return err
}
