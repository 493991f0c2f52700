package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/internal/console"
	"github.com/weir-mcp/weir/internal/conversation"
	"github.com/weir-mcp/weir/internal/gateway/agentsession"
	"github.com/weir-mcp/weir/internal/gateway/approve"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/ledger"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/session"
	"github.com/weir-mcp/weir/store"
	"github.com/weir-mcp/weir/store/sqlstore"
)

const localPrincipal = agentsession.LocalPrincipal

// MaxSearched is how many events are looked at for a text, or for the last calls to servers.
const MaxSearched = 20_000

// A ConsoleView shows a store to a console, and carries out the user's decisions there.
type ConsoleView struct {
	env       *home.Env
	db        *sqlstore.DB
	place     string // of the store
	ledger    *ledger.Ledger
	book      *approve.Book
	asked     *approvalStats
	hits      *ruleHits
	flows     *sessionFlows
	fleet     *processes
	principal string
	vault     console.Vault // of this process, if it serves
}

// Head implements [console.Log].
func (v *ConsoleView) Head(ctx context.Context) (int64, error) {
	head, err := v.db.Log().Head(ctx)
	return head.Size, err
}

// Events implements [console.Log].
func (v *ConsoleView) Events(ctx context.Context, f console.Filter) ([]console.Event, error) {
	q := audit.Query{To: f.Before, Chain: f.Session, Kind: f.Kind, Outcome: f.Effect, Subject: f.Subject, Newest: true, Limit: MaxSearched}
	text := strings.ToLower(f.Text)
	var all []console.Event
	for row, err := range v.db.Log().Rows(ctx, q) {
		if err != nil {
			return nil, err
		}
		if row.Erased() || row.Kind == string(record.StateRow) || text != "" && !strings.Contains(strings.ToLower(string(row.Body)), text) {
			continue
		}
		e := console.Event{Seq: row.Seq}
		if json.Unmarshal(row.Body, &e.Event) != nil {
			continue // the log's own entries
		}
		if all = append(all, e); len(all) == f.Limit {
			break
		}
	}
	return all, nil
}

// Flows implements [console.Log].
func (v *ConsoleView) Flows(ctx context.Context, key string, limit int) ([]console.Flow, error) {
	return v.flows.of(ctx, key, limit)
}

// Counts implements [console.Log].
func (v *ConsoleView) Counts(ctx context.Context) (console.Counts, error) {
	c, err := v.hits.counts(ctx)
	if err != nil {
		return c, err
	}
	s, err := v.asked.sum(ctx)
	c.Figures = figures(s)
	return c, err
}

// Session implements [console.Desk].
func (v *ConsoleView) Session(ctx context.Context, key string) (console.Session, bool, error) {
	s, err := v.db.Get(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return console.Session{}, false, nil
	}
	if err != nil {
		return console.Session{}, false, err
	}
	shown, err := v.shown(ctx, s)
	return shown, err == nil, err
}

// Sessions implements [console.Desk].
func (v *ConsoleView) Sessions(ctx context.Context, after string, limit int) ([]console.Session, error) {
	var all []console.Session
	begun := after == ""
	for s, err := range v.db.List(ctx, "") {
		if err != nil || len(all) == limit {
			return all, err
		}
		if !begun {
			begun = s.Key == after
			continue
		}
		shown, err := v.shown(ctx, s)
		if err != nil {
			return nil, err
		}
		all = append(all, shown)
	}
	return all, nil
}

func (v *ConsoleView) shown(ctx context.Context, s store.Session) (console.Session, error) {
	ended, err := v.book.HasEnded(ctx, session.Ref{Key: s.Key, Parent: s.Parent, Principal: s.Principal})
	shown := console.Session{Key: s.Key, Parent: s.Parent, Principal: s.Principal, Label: s.Label, Calls: s.Calls,
		Created: s.Created, Seen: s.Seen, Ended: ended}
	if n, ok, err := v.env.Conversations().Find(conversation.KeyOf(s.Key)); err == nil && ok {
		shown.About = n.Of()
	}
	return shown, err
}

// Questions implements [console.Desk].
func (v *ConsoleView) Questions(ctx context.Context) ([]console.Question, error) {
	open, err := v.book.List(ctx, v.principal)
	if err != nil {
		return nil, err
	}
	var all []console.Question
	for _, p := range open {
		lines := strings.Split(p.Prompt.Text(), "\n")
		all = append(all, console.Question{ID: p.ID, Session: p.Session, Asked: p.Asked, Expires: p.Expires,
			Lead: lines[0], Lines: lines[1:], MaySession: p.Grant != "", Unseen: p.Prompt.Unseen != "", Listing: strings.Split(p.Listing.Text(), "\n")})
	}
	return all, nil
}

// Answer implements [console.Actor].
func (v *ConsoleView) Answer(ctx context.Context, id, choice, code string) error {
	said, ok := map[string]approve.Answer{
		"once": approve.Accepted, "session": approve.Granted, "deny": approve.Declined, "end": approve.Ended,
	}[choice]
	if !ok {
		return fmt.Errorf("no answer is called %.40q", choice)
	}
	open, err := v.book.List(ctx, v.principal)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(open, func(p *approve.Pending) bool { return p.ID == id })
	if i < 0 {
		return approve.ErrNoQuestion
	}
	return v.book.Answer(ctx, approve.Reply{ID: id, Principal: open[i].Principal, Answer: said, Code: code, Via: "console", By: v.env.Person()})
}

// End implements [console.Actor].
func (v *ConsoleView) End(ctx context.Context, key, why string) error {
	s, err := v.decided(ctx, key, why)
	if err != nil {
		return err
	}
	return v.book.End(ctx, approve.Ending{Session: RefOf(s), Why: why, By: v.env.Person(), Via: "console"})
}

// Declassify implements [console.Actor].
func (v *ConsoleView) Declassify(ctx context.Context, key string, drop []string, why string) error {
	s, err := v.decided(ctx, key, why)
	switch {
	case err != nil:
		return err
	case len(drop) == 0:
		return errors.New("nothing was chosen to take out of the label")
	}
	e := UserEvent(v.env, record.Declassify, s, why)
	dropped := LabelToDrop(s.Label, drop)
	e.Label = &dropped
	_, err = v.ledger.Lower(ctx, s.Key, dropped, e)
	return err
}

// decided returns the session that a person decides about, with a reason.
func (v *ConsoleView) decided(ctx context.Context, key, why string) (store.Session, error) {
	if err := NeedsReason(why); err != nil {
		return store.Session{}, errors.New("the log has to say why: give a reason")
	}
	return FindSession(ctx, v.db, key)
}

// Accept implements [console.Actor]. The log gets an event of it before the pin changes.
func (v *ConsoleView) Accept(ctx context.Context, id string) error {
	h, at, err := v.fleet.held(ctx, id)
	if err != nil {
		return err
	}
	e := record.New(record.Pin, time.Now())
	e.Principal, e.Server, e.Name, e.Effect, e.Message, e.Where = localPrincipal, h.Server, h.Name, "accepted", h.String(), v.env.Person()
	if err := v.ledger.Record(ctx, e); err != nil {
		return fmt.Errorf("recording an acceptance: %w", err)
	}
	return at.accept(ctx, h, sharedIn(v.env, v.db, at.Scopes))
}
