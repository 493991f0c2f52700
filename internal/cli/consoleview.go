package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/internal/console"
	"github.com/weir-mcp/weir/internal/gateway"
	"github.com/weir-mcp/weir/internal/gateway/approve"
	"github.com/weir-mcp/weir/internal/ledger"
	"github.com/weir-mcp/weir/internal/status"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/session"
	"github.com/weir-mcp/weir/store"
	"github.com/weir-mcp/weir/store/sqlstore"
)

const localPrincipal = gateway.LocalPrincipal

// Bounds of what is looked at for one page.
const (
	maxSearched = 20_000 // events
	maxHits     = 20_000 // decisions in which rules are counted
)

// A consoleView shows a store to a console, and does there what a person decides.
type consoleView struct {
	env       *Env
	db        *sqlstore.DB
	ledger    *ledger.Ledger
	book      *approve.Book
	principal string
	policy    func() *policy.Policy // that decides now; nil if it is not known
}

// Sessions implements [console.Source].
func (v *consoleView) Sessions(ctx context.Context, limit int) ([]console.Session, error) {
	var all []console.Session
	for s, err := range v.db.List(ctx, "") {
		if err != nil || len(all) == limit {
			return all, err
		}
		ended, err := v.book.HasEnded(ctx, session.Ref{Key: s.Key, Parent: s.Parent, Principal: s.Principal})
		if err != nil {
			return nil, err
		}
		all = append(all, console.Session{Key: s.Key, Parent: s.Parent, Principal: s.Principal, Label: s.Label, Calls: s.Calls,
			Created: s.Created, Seen: s.Seen, Ended: ended})
	}
	return all, nil
}

// Events implements [console.Source].
func (v *consoleView) Events(ctx context.Context, f console.Filter) ([]console.Event, error) {
	q := audit.Query{To: f.Before, Chain: f.Session, Kind: f.Kind, Outcome: f.Effect, Subject: f.Subject, Newest: true, Limit: f.Limit}
	text := strings.ToLower(f.Text)
	if text != "" {
		q.Limit = maxSearched
	}
	var all []console.Event
	for row, err := range v.db.Log().Rows(ctx, q) {
		if err != nil {
			return nil, err
		}
		if row.Erased() || text != "" && !strings.Contains(strings.ToLower(string(row.Body)), text) {
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

// Questions implements [console.Source].
func (v *consoleView) Questions(ctx context.Context) ([]console.Question, error) {
	open, err := v.book.List(ctx, v.principal)
	if err != nil {
		return nil, err
	}
	var all []console.Question
	for _, p := range open {
		lines := strings.Split(p.Prompt.Text(), "\n")
		all = append(all, console.Question{ID: p.ID, Session: p.Session, Asked: p.Asked, Expires: p.Expires,
			Lead: lines[0], Lines: lines[1:], MaySession: p.Grant != ""})
	}
	return all, nil
}

// Overview implements [console.Source].
func (v *consoleView) Overview(ctx context.Context) (console.Overview, error) {
	o := console.Overview{Version: version()}
	head, err := v.db.Log().Head(ctx)
	if err != nil {
		return o, err
	}
	o.Head = head.Size
	if o.Rules, o.Looked, err = v.rules(ctx); err != nil {
		return o, err
	}
	s, err := approvalStats(ctx, v.db)
	if err != nil {
		return o, err
	}
	o.Figures = figures(s)
	o.Servers = v.servers(ctx)
	return o, nil
}

// rules returns the rules of the policy and how often each matched lately. Without a policy it names those that did.
func (v *consoleView) rules(ctx context.Context) (rules []console.Rule, looked int, err error) {
	hits := map[string]int{}
	for row, err := range v.db.Log().Rows(ctx, audit.Query{Kind: string(record.Decision), Newest: true, Limit: maxHits}) {
		if err != nil {
			return nil, 0, err
		}
		var e struct {
			Matched []string `json:"matched"`
		}
		if row.Erased() || json.Unmarshal(row.Body, &e) != nil {
			continue
		}
		looked++
		for _, name := range e.Matched {
			hits[name]++
		}
	}
	if v.policy == nil {
		for _, name := range slices.Sorted(maps.Keys(hits)) {
			rules = append(rules, console.Rule{Name: name, Hits: hits[name]})
		}
		return rules, looked, nil
	}
	for _, r := range v.policy().Rules() {
		rules = append(rules, console.Rule{Name: r.Name, When: r.When.String(), If: r.If, Effect: r.Effect.String(), Message: r.Message, Hits: hits[r.Name]})
	}
	return rules, looked, nil
}

func figures(s approve.Stats) []console.Figure {
	all := []console.Figure{{Name: "asked", Value: strconv.Itoa(s.Asked)}}
	for _, a := range slices.Sorted(maps.Keys(s.Answers)) {
		all = append(all, console.Figure{Name: string(a), Value: strconv.Itoa(s.Answers[a])})
	}
	return append(all, console.Figure{Name: "unanswered", Value: strconv.Itoa(s.Unanswered)},
		console.Figure{Name: "median time to an answer", Value: fmt.Sprintf("%.1f s", s.Median)})
}

// servers returns the servers of the processes that run. Those that cannot be asked are left out.
func (v *consoleView) servers(ctx context.Context) (all []console.Server) {
	dir, err := v.env.runDir()
	if err != nil {
		return nil
	}
	processes, err := status.List(ctx, dir)
	if err != nil {
		return nil
	}
	for _, p := range processes {
		for _, s := range p.Servers {
			all = append(all, console.Server{Name: s.Name, Process: fmt.Sprintf("%s (%d)", p.Command, p.PID), Trust: s.Trust,
				State: standing(s, time.Now()), Error: s.Error, Calls: s.Calls})
		}
	}
	return all
}

// Answer implements [console.Actor].
func (v *consoleView) Answer(ctx context.Context, id, choice string) error {
	said, ok := map[string]approve.Answer{
		"once": approve.Accepted, "session": approve.Granted, "deny": approve.Declined, "end": approve.Ended,
	}[choice]
	if !ok {
		return fmt.Errorf("no answer is called %.40q", choice)
	}
	return v.book.Answer(ctx, approve.Reply{ID: id, Principal: v.principal, Answer: said, Via: "console", By: v.env.person()})
}

// End implements [console.Actor].
func (v *consoleView) End(ctx context.Context, key, why string) error {
	s, err := v.decided(ctx, key, why)
	if err != nil {
		return err
	}
	return v.book.End(ctx, approve.Ending{Session: refOf(s), Why: why, By: v.env.person(), Via: "console"})
}

// Declassify implements [console.Actor].
func (v *consoleView) Declassify(ctx context.Context, key string, drop []string, why string) error {
	s, err := v.decided(ctx, key, why)
	switch {
	case err != nil:
		return err
	case len(drop) == 0:
		return errors.New("nothing was chosen to take out of the label")
	}
	e := v.env.byPerson(record.Declassify, s, why)
	dropped := dropOf(s.Label, drop)
	e.Label = &dropped
	_, err = v.ledger.Lower(ctx, s.Key, dropped, e)
	return err
}

// decided returns the session that a person decides about, with a reason.
func (v *consoleView) decided(ctx context.Context, key, why string) (store.Session, error) {
	if err := needsWhy(why); err != nil {
		return store.Session{}, errors.New("the log has to say why: give a reason")
	}
	return known(ctx, v.db, key)
}
