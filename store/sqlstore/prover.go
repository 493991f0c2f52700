package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/internal/hosterror"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store"
)

// ErrState is the kind of error of a row that is not as the log proves: a [store.ErrState].
var ErrState = hosterror.New("the state was changed by somebody else, so nothing is decided by it: see weir audit verify").Because(store.ErrState)

// A prover compares the rows of the state with the log, and the log with its anchor.
type prover struct {
	*pool
	latest   store.Clock // of questions: one that has expired stays so, also if the machine's clock is set back
	steady   steady      // of labels of resources
	proofs   proofs
	recent   recent
	endCache audit.EndCache
	anchor   atomic.Pointer[audit.Anchor] // of the log; nil: none was given
	sealed   atomic.Bool                  // whether each head has to be, with the ends of the chains
	refusals refusals
	encoder  record.Encoder
	report   func(audit.Entry) // appends an entry to the log later, if there is room for it
}

// now returns the time at which labels of resources expire.
func (p *prover) now() time.Time { return p.steady.At(p.opts.Now()) }

// lately returns the time at which questions expire.
func (p *prover) lately() time.Time { return p.latest.At(p.clock()) }

// snapshot returns the database at a head.
func (p *prover) snapshot(s *statements, r headRow) *snapshot {
	return &snapshot{statements: s, headRow: r, ends: audit.NewEnds(r.root, &p.endCache)}
}

// since returns a check of heads that are read from now on, by these statements: see [audit.Anchor.Since]. A head that
// passes is not undone later.
func (p *prover) since() (func(context.Context, *statements, audit.Head) error, error) {
	anchor := p.anchor.Load()
	if anchor == nil {
		return func(context.Context, *statements, audit.Head) error { return nil }, nil
	}
	check, err := anchor.Since()
	if err != nil {
		return nil, p.health.note(err)
	}
	return func(ctx context.Context, s *statements, h audit.Head) error {
		err := p.checkSealed(h)
		if err == nil {
			err = check(ctx, p.lasting(s), h)
		}
		if err != nil {
			err = p.health.note(err)
		}
		return err
	}, nil
}

// lasting returns the log as statements read it. It is none without syncing: a log may be shorter again after the
// machine failed.
func (p *prover) lasting(s *statements) audit.Storage {
	if p.opts.Unsynced {
		return nil
	}
	return &logReader{s}
}

// proven calls read with a snapshot. The rows that read finds do not fit together if others write meanwhile: then it is
// called again, in a transaction that reads. The head may be known from another read.
func (p *prover) proven(ctx context.Context, known *headRow, read func(*snapshot) error) error {
	if known != nil {
		if err := read(p.snapshot(&p.reads, *known)); !unsettled(err) {
			return err
		}
	}
	check, err := p.since()
	if err != nil {
		return err
	}
	r, err := readHead(ctx, &p.reads, "")
	if err == nil {
		if err := check(ctx, &p.reads, r.head); err != nil {
			return err
		}
		err = read(p.snapshot(&p.reads, r))
	}
	if !unsettled(err) {
		return err
	}
	return p.still(ctx, read)
}

// unsettled reports whether it is an error of rows that may be of different times.
func unsettled(err error) bool {
	return errors.As(err, new(*doubt)) || errors.Is(err, audit.ErrDamaged)
}

// still calls read in a transaction that reads, with all as it is at one head. A doubt is damage then.
func (p *prover) still(ctx context.Context, read func(*snapshot) error) error {
	check, err := p.since()
	if err != nil {
		return err
	}
	return p.told(p.inSnapshot(ctx, func(reads *statements) error {
		r, err := readHead(ctx, reads, "")
		if err == nil {
			err = check(ctx, reads, r.head)
		}
		if err == nil {
			err = read(p.snapshot(reads, r))
		}
		return err
	}))
}

// checkSealed reports whether a head commits to the ends of the chains under its seal, as each has to once the log has
// an anchor and is open: one without a seal could name any ends. The error is [audit.ErrDamaged].
func (p *prover) checkSealed(h audit.Head) error {
	if p.sealed.Load() && h.Size > 0 && (len(h.Seal) == 0 || h.Ends == (tlog.Hash{})) {
		return fmt.Errorf("%w: its head of %d entries has no seal over the ends of its chains", audit.ErrDamaged, h.Size)
	}
	return nil
}

// settled compares rows with the proof of their chain at the head. The error is a [doubt] if they differ.
func (p *prover) settled(ctx context.Context, s *snapshot, c claim) error {
	name, rows, pending := c.name, c.rows, c.pending
	chain := name.Chain()
	now, err := s.prove(ctx, chain, c.known, name.Shared())
	switch {
	case errors.Is(err, audit.ErrDamaged):
		return doubtful(name, -1, err.Error())
	case err != nil:
		return err
	case now == nil && len(pending) > 0:
		now = &proof{}
	case now == nil && len(rows) > 0:
		return doubtful(&rows[0], -1, "nothing in the log tells of it")
	case now == nil:
		p.proofs.forget(chain)
		return nil
	}
	if len(pending) > 0 {
		now = now.copy()
		for i := range pending {
			now.rows.set(pending[i])
		}
		return p.compare(now, rows)
	}
	if err := p.compare(now, rows); err != nil {
		return err
	}
	p.proofs.put(chain, now)
	return nil
}

// compare compares the rows that are there with those of the proof. Expired rows may be there or not.
func (p *prover) compare(now *proof, rows []record.Kept) error {
	there := make(map[string]bool, len(rows))
	for i := range rows {
		row := &rows[i]
		there[row.Key] = true
		proved, ok := now.rows.get(row.Key)
		switch {
		case !ok:
			return doubtful(row, now.seq, "nothing in the log tells of it")
		case proved.Gone != "":
			return doubtful(row, now.seq, "it was removed, and is there again")
		case !proved.Same(row):
			return doubtful(row, now.seq, "it is not as it was written last")
		}
	}
	expired, at := micros(p.lately()), micros(p.now())
	for proved := range now.rows.all() {
		if proved.Table == record.QuestionTable {
			at = expired
		}
		if !there[proved.Key] && proved.Live(at) {
			return doubtful(&proved, now.seq, "it is missing")
		}
	}
	return nil
}

// told returns the error, as an [ErrState] if something is damaged.
func (p *prover) told(err error) error {
	var sure *doubt
	if errors.As(err, &sure) {
		return p.damage(&sure.row, sure.proved, sure.reason)
	}
	if !errors.Is(err, audit.ErrDamaged) || errors.Is(err, store.ErrState) || errors.Is(err, ErrFailing) {
		return err
	}
	err = fmt.Errorf("%w: %w", ErrState, err)
	p.refusals.add(err.Error(), err)
	if p.proofs.tell(err.Error()) && p.opts.Damaged != nil {
		p.opts.Damaged(err)
	}
	return err
}

// damage returns the error of state that is not as the log proves, and has the log tell of it once.
func (p *prover) damage(k *record.Kept, proved int64, reason string) error {
	err := fmt.Errorf("%w: %s %.200q: %s", ErrState, k.Table, k.Key, reason)
	p.refusals.add(k.Chain()+" "+k.Key, err)
	if !p.proofs.tell(fmt.Sprint(k.Chain(), " ", k.Key, " ", proved, " ", reason)) {
		return err
	}
	if p.opts.Damaged != nil {
		p.opts.Damaged(err)
	}
	e := record.New(record.Damage, p.clock())
	e.Session, e.Principal, e.Name, e.Where, e.Effect, e.Message = k.Session, k.Principal, k.Key, k.Table, "refused", reason
	if proved >= 0 {
		e.Message += fmt.Sprintf(" (entry %d)", proved)
	}
	if body, encoding := p.encoder.Encode(e); encoding == nil {
		p.report(audit.Entry{Time: e.Time, Chain: k.Session, Kind: string(record.Damage), Subject: k.Table, Outcome: "refused", Body: body})
	}
	return err
}
