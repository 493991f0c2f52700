package ledger

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// A Selection selects entries to erase. Each zero member selects all; the zero Selection is everything.
type Selection struct {
	Session   string // of this agent session and of those that descend from it
	Principal string
	Since     time.Time // not earlier than
	Until     time.Time // earlier than
	Entry     *int64    // this one
	end       int64     // those before this one
}

// always reports whether an entry is never erased: those that tell of erasures, and of the log's keys.
func always(kind string) bool {
	return kind == string(record.Erase) || kind == string(record.Restore) || kind == audit.KindKey
}

// Chosen holds the entries and sessions that a [Selection] selects at one moment.
type Chosen struct {
	Events    []int64  // the numbers of the entries
	Contents  []int64  // of those, the ones with captured content
	Sessions  []string // that are kept; none unless a session or a principal is selected, at whatever time
	principal string
	damaged   []int64               // entries that were changed, so they are not chosen
	whole     bool                  // all of a session or a principal, so that nothing else of it is to stay either
	selects   func(*audit.Row) bool // whether an entry belongs to it
}

// Left returns an error that is [audit.ErrDamaged] and names the changed entries, of which nothing tells whether they
// belong to the selection. They stay: they prove the change. It is nil if there are none.
func (c *Chosen) Left() error {
	if len(c.damaged) == 0 {
		return nil
	}
	return fmt.Errorf("%w: these entries were changed, and are not erased: %s", audit.ErrDamaged, record.RangesOf(c.damaged))
}

// Empty reports whether there is nothing to erase.
func (c *Chosen) Empty() bool { return len(c.Events)+len(c.Contents)+len(c.Sessions) == 0 }

// Select returns the entries and sessions that the selection selects now. It reads the log, all of it for a session or
// a principal, and checks each entry and session that it uses. A changed entry is left out, see [Chosen.Left]; a
// changed session is [store.ErrState], and nothing is selected.
func (l *Ledger) Select(ctx context.Context, s Selection) (*Chosen, error) {
	c := &Chosen{principal: s.Principal}
	family, err := l.family(ctx, s, c)
	if err != nil {
		return nil, err
	}
	c.selects = func(row *audit.Row) bool { return !row.Erased() && !always(row.Kind) && s.selects(row, family) }
	log := l.opts.DB.Log()
	for row, err := range log.Rows(ctx, s.query()) {
		if err != nil {
			return nil, err
		}
		if _, err := row.Check(); err != nil {
			c.damaged = append(c.damaged, row.Seq)
			continue
		}
		if !c.selects(&row) {
			continue
		}
		if row.Kind == string(record.StateRow) && !c.whole {
			if holds, err := l.opts.DB.Holds(ctx, &row); err != nil || holds {
				if err != nil {
					return nil, err
				}
				continue // it proves a row
			}
		}
		c.Events = append(c.Events, row.Seq)
	}
	for seq, err := range log.Asides(ctx, s.Until) {
		if err != nil {
			return nil, err
		}
		if _, found := slices.BinarySearch(c.Events, seq); found {
			c.Contents = append(c.Contents, seq)
		}
	}
	return c, nil
}

// query returns the part of the selection that the log can evaluate.
func (s *Selection) query() audit.Query {
	q := audit.Query{Since: s.Since, Before: s.Until, To: s.end}
	if s.Entry != nil {
		q.From, q.To = *s.Entry, *s.Entry+1
	}
	return q
}

// family returns the selected sessions, and adds to c those that are to be forgotten.
func (l *Ledger) family(ctx context.Context, s Selection, c *Chosen) (map[string]bool, error) {
	family := map[string]bool{s.Session: s.Session != ""}
	if s.Session == "" && s.Principal == "" {
		return family, nil
	}
	c.whole = s.Since.IsZero() && s.Until.IsZero() && s.Entry == nil
	all, err := sessions(ctx, l.opts.DB, s.Principal)
	if err != nil {
		return nil, err
	}
	for grown := s.Session != ""; grown; {
		grown = false
		for _, kept := range all {
			if family[kept.Parent] && !family[kept.Key] {
				family[kept.Key], grown = true, true
			}
		}
	}
	for _, kept := range all {
		if s.Session != "" && !family[kept.Key] {
			continue
		}
		if _, err := l.opts.DB.Get(ctx, kept.Key); err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, err // its principal is not known
		}
		if c.whole {
			c.Sessions = append(c.Sessions, kept.Key)
		}
	}
	return family, nil
}

// sessions returns the sessions of a principal, or all for "": those with a row, and those that should have one by the
// log.
func sessions(ctx context.Context, db *sqlstore.DB, principal string) (all []store.Session, err error) {
	there := map[string]bool{}
	for kept, err := range db.List(ctx, principal) {
		if err != nil {
			return nil, err
		}
		there[kept.Key] = true
		all = append(all, kept)
	}
	told := map[string]record.Kept{}
	for row, err := range db.Log().Rows(ctx, audit.Query{Kind: string(record.StateRow), Subject: record.SessionTable}) {
		if err != nil {
			return nil, err
		}
		k, err := record.ParseState(row.Body)
		if _, changed := row.Check(); changed == nil && err == nil && !there[k.Key] {
			told[k.Key] = k
		}
	}
	for _, k := range told {
		if k.Gone == "" && (principal == "" || k.Principal == principal) {
			all = append(all, store.Session{Key: k.Key, Parent: k.Parent, Principal: k.Principal})
		}
	}
	return all, nil
}

// selects reports whether an entry of the log belongs to the sessions and the principal that are selected. A session
// that descends from one of them joins them.
func (s *Selection) selects(row *audit.Row, family map[string]bool) bool {
	if s.Session == "" && s.Principal == "" {
		return true
	}
	var e struct{ Session, Parent, Principal string }
	if json.Unmarshal(row.Body, &e) != nil {
		return false // the log's own, or of others: it names nobody
	}
	if s.Session != "" && e.Parent != "" && family[e.Parent] {
		family[e.Session] = true
	}
	return (s.Session == "" || family[e.Session]) && (s.Principal == "" || e.Principal == s.Principal)
}

// Figures says in words how much it is.
func (c *Chosen) Figures(contentOnly bool) string {
	if contentOnly {
		return fmt.Sprintf("the content of %d events", len(c.Contents))
	}
	return fmt.Sprintf("%d events, %d of them with content, and %d sessions", len(c.Events), len(c.Contents), len(c.Sessions))
}

// eraseAtOnce is how many entries one transaction erases: nobody waits long for it.
const eraseAtOnce = 500

// Erase erases the chosen entries, with contentOnly only their captured content. The event of the erasure has the
// figures in its message. It names the entries and is in their transaction: of many entries, there are several.
// Captured content goes after its event: a crash leaves some of it, and the same selection finds that again. If the
// role of the database may not erase events, the error is [sqlstore.ErrDenied] and nothing is changed.
func (l *Ledger) Erase(ctx context.Context, c *Chosen, contentOnly bool, e *record.Event) error {
	if c.Empty() {
		return nil
	}
	if !contentOnly && (c.whole || len(c.Events) > 0) {
		if err := l.opts.DB.MayErase(ctx); err != nil {
			return err
		}
	}
	figures := c.Figures(contentOnly)
	if !contentOnly && c.whole {
		if err := l.forget(ctx, c); err != nil {
			return err
		}
	}
	e.Effect, e.Message = "erased", e.Message+" ("+figures+")"
	if !contentOnly && len(c.Events) > 0 {
		if err := l.eraseEvents(ctx, c, e); err != nil {
			return err
		}
		return l.opts.DB.Scrub(ctx)
	}
	if err := l.Record(ctx, e); err != nil {
		return err
	}
	for part := range slices.Chunk(c.Contents, eraseAtOnce) {
		if _, err := l.opts.DB.Log().RemoveAsides(ctx, part); err != nil {
			return err
		}
	}
	return l.opts.DB.Scrub(ctx)
}

// eraseEvents erases events, with their captured content. Each transaction has an event that names its entries.
func (l *Ledger) eraseEvents(ctx context.Context, c *Chosen, e *record.Event) error {
	defer l.touch()
	for part := range slices.Chunk(c.Events, eraseAtOnce) {
		e.Binding = record.RangesOf(part).String()
		entry, err := l.entry(ctx, e)
		if err != nil {
			return err
		}
		if _, err := l.opts.DB.Log().Erase(ctx, part, func(int64) audit.Entry { return entry }); err != nil {
			return err
		}
		e.ID, e.Message = rand.Text(), "more of the same"
	}
	return nil
}

// forget removes the chosen sessions and their approval requests, and adds the entries about their removal to the
// events.
func (l *Ledger) forget(ctx context.Context, c *Chosen) error {
	head, err := l.opts.DB.Log().Head(ctx)
	if err != nil {
		return err
	}
	for _, key := range c.Sessions {
		if _, err := l.opts.DB.End(ctx, key); err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	if _, err := l.opts.DB.ForgetQuestions(ctx, c.principal, c.Sessions); err != nil {
		return err
	}
	for row, err := range l.opts.DB.Log().Rows(ctx, audit.Query{From: head.Size, Kind: string(record.StateRow)}) {
		if err == nil {
			_, err = row.Check()
		}
		if err != nil {
			return fmt.Errorf("entry %d: %w", row.Seq, err)
		}
		if c.selects(&row) {
			c.Events = append(c.Events, row.Seq)
		}
	}
	return nil
}
