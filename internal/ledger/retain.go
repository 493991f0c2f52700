package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// A Retention says how long things are kept. Zero is forever.
type Retention struct {
	Sessions time.Duration // since a session, or one that descends from it, was last heard of
	Events   time.Duration
	Content  time.Duration // the captured content of events
	Bytes    int64         // of an SQLite file, in use: beyond, the oldest events go, but those of the last week
}

// alwaysKept is how long events are kept at any size: a flood of calls does not remove the events of its own attack.
const alwaysKept = 7 * 24 * time.Hour

// Overdue holds the rows and entries that a [Retention] keeps no longer.
type Overdue struct {
	Sessions int
	Events   *Chosen // events, whole
	Content  *Chosen // captured content of other events
	seen     time.Time
	kept     error // why events stay that are overdue; nil: none do
}

// Overdue returns the sessions, events and content older than the retention allows at a time. Events and content are
// kept up to a day longer, so that the log tells of one erasure a day at most.
func (l *Ledger) Overdue(ctx context.Context, r Retention, now time.Time) (Overdue, error) {
	o, err := l.overdue(ctx, r, now)
	if err == nil && r.Sessions > 0 {
		o.Sessions, err = overdueSessions(ctx, l, o.seen)
	}
	return o, err
}

// overdue leaves out how many sessions there are.
func (l *Ledger) overdue(ctx context.Context, r Retention, now time.Time) (o Overdue, err error) {
	const day = 24 * time.Hour
	o = Overdue{Events: &Chosen{}, Content: &Chosen{}}
	if r.Sessions > 0 {
		o.seen = now.Add(-r.Sessions)
	}
	until, err := beyond(ctx, l, r.Bytes, now)
	if err != nil {
		return o, err
	}
	if r.Events > 0 {
		if old := now.Add(-r.Events).Truncate(day); old.After(until) {
			until = old
		}
	}
	if !until.IsZero() {
		if err := overdueEvents(ctx, l, &o, until); err != nil {
			return o, err
		}
	}
	if r.Content <= 0 {
		return o, nil
	}
	for seq, err := range l.opts.DB.Log().Asides(ctx, now.Add(-r.Content).Truncate(day)) {
		if err != nil {
			return o, err
		}
		if _, whole := slices.BinarySearch(o.Events.Contents, seq); !whole {
			o.Content.Contents = append(o.Content.Contents, seq)
		}
	}
	return o, nil
}

// overdueEvents finds the events of before a time. They stay where the role of the database may not erase them; their
// captured content goes then. Those that a clock which was set back has written go with the ones around them.
func overdueEvents(ctx context.Context, l *Ledger, o *Overdue, until time.Time) error {
	log := l.opts.DB.Log()
	end, err := log.Until(ctx, until)
	if err != nil || end == 0 {
		return err
	}
	denied := l.opts.DB.MayErase(ctx)
	if denied == nil {
		o.Events, err = l.Select(ctx, Selection{Until: until, end: end})
		return err
	}
	if !errors.Is(denied, sqlstore.ErrDenied) {
		return denied
	}
	for _, err := range log.Rows(ctx, audit.Query{Before: until, To: end, Limit: 1}) {
		if err != nil {
			return err
		}
		o.kept = denied
	}
	return nil
}

// beyond returns the time before which events are too many for a file of that size; zero if none are. It takes all
// entries for equally long, and their leaves for nothing: a remaining excess is found the next time.
func beyond(ctx context.Context, l *Ledger, most int64, now time.Time) (until time.Time, err error) {
	if most <= 0 {
		return until, nil
	}
	used, known, err := l.opts.DB.Used(ctx)
	if err != nil || !known || used <= most {
		return until, err
	}
	log := l.opts.DB.Log()
	head, err := log.Head(ctx)
	if err != nil {
		return until, err
	}
	row, err := sound(ctx, log, 0)
	if err != nil || row.Leaf == nil {
		return until, err
	}
	first := row.Seq
	const room = 0.95 // so that it is not over at once again
	cut := head.Size - int64(float64(head.Size-first)*room*float64(most)/float64(used))
	if row, err = sound(ctx, log, min(cut, head.Size-1)); err != nil {
		return until, err
	}
	until = row.Time
	if last := now.Add(-alwaysKept); until.After(last) {
		until = last
	}
	return until, nil
}

// sound returns the first entry from a number on that is neither erased nor changed; the zero row if there is none.
func sound(ctx context.Context, log *sqlstore.Log, from int64) (audit.Row, error) {
	for row, err := range log.Rows(ctx, audit.Query{From: from, Since: time.Unix(1, 0)}) {
		if err != nil {
			return audit.Row{}, err
		}
		if _, err := row.Check(); err == nil {
			return row, nil
		}
	}
	return audit.Row{}, nil
}

// overdueSessions counts the sessions that neither they nor a descendant were heard of since.
func overdueSessions(ctx context.Context, l *Ledger, since time.Time) (int, error) {
	parents, live := map[string]string{}, map[string]bool{}
	for s, err := range l.opts.DB.List(ctx, "") {
		if err != nil {
			return 0, err
		}
		parents[s.Key] = s.Parent
		if !s.Seen.Before(since) {
			live[s.Key] = true
		}
	}
	for key := range parents {
		if !live[key] {
			continue
		}
		for p := parents[key]; p != ""; p = parents[p] {
			live[p] = true
		}
	}
	return len(parents) - len(live), nil
}

// Prune removes everything that the retention keeps no longer, and expired approval requests and labels of resources.
// The log tells of the erased events and content. If the role of the database may not erase events, all else is
// removed, and the error is [sqlstore.ErrDenied]. If some events were changed, all others are removed, and the error,
// [audit.ErrDamaged], names them.
func (l *Ledger) Prune(ctx context.Context, r Retention, now time.Time) (Overdue, store.Expired, error) {
	believed, err := l.opts.DB.Believed(ctx, now)
	if err != nil {
		return Overdue{}, store.Expired{}, fmt.Errorf("looking whether the clock is to be believed: %w", err)
	}
	o, err := l.overdue(ctx, r, believed)
	if err != nil {
		return o, store.Expired{}, fmt.Errorf("looking for overdue sessions, events and content: %w", err)
	}
	if err := l.retire(ctx, o, now); err != nil {
		return o, store.Expired{}, fmt.Errorf("erasing overdue events and content: %w", err)
	}
	gone, err := l.opts.DB.Expire(ctx, o.seen)
	if err != nil {
		return o, gone, fmt.Errorf("removing old sessions: %w", err)
	}
	o.Sessions = int(gone.Sessions)
	if err := errors.Join(o.kept, o.Events.Left()); err != nil {
		return o, gone, fmt.Errorf("erasing events that are kept too long: %w", err)
	}
	return o, gone, nil
}

func (l *Ledger) retire(ctx context.Context, o Overdue, now time.Time) error {
	event := func() *record.Event {
		e := record.New(record.Erase, now)
		e.Rule, e.Message = "retention", "kept long enough, or the store is full"
		return e
	}
	if err := l.Erase(ctx, o.Events, false, event()); err != nil {
		return err
	}
	return l.Erase(ctx, o.Content, true, event())
}
