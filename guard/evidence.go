package guard

import (
	"context"
	"fmt"
	"time"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/session"
)

// A Ledger is a Recorder that keeps the sessions too, and so can write a label together with the event that tells of
// it. If [Options].Record is one, its sessions are those of Options.Sessions.
type Ledger interface {
	record.Recorder

	// Opening returns an opener that records the event of each label that rises with the session: both, or with an error
	// neither. The event may be asked for more than once.
	Opening(event func(session.Rise) *record.Event) session.Opener

	// Joining returns a joiner that records the event with the label: both, or with an error neither.
	Joining(e *record.Event) session.Joiner
}

// An evidence changes agent sessions, and records that.
type evidence struct {
	sessions *session.Sessions
	record   record.Recorder
	now      func() time.Time
}

// event returns a new event of a call.
func (v *evidence) event(kind record.Kind, c *Call) *record.Event {
	e := record.New(kind, v.now())
	e.Session, e.Parent, e.Principal, e.Call = c.Session.Key, c.Session.Parent, c.Session.Principal, c.ID
	e.Server, e.Method, e.Name = c.Server, c.Method, c.Name
	return e
}

// write records an event, at once or soon.
func (v *evidence) write(ctx context.Context, e *record.Event, atOnce bool) error {
	if atOnce {
		return v.record.Record(ctx, e)
	}
	return record.Later(ctx, v.record, e)
}

// defect records that the call's server broke its contract, a schema or the protocol.
func (v *evidence) defect(ctx context.Context, c *Call, d annotation.Defect) error {
	e := v.event(record.Defect, c)
	e.Where, e.Message = d.Where, d.Reason
	if err := v.record.Record(ctx, e); err != nil {
		return fmt.Errorf("recording a defect: %w", err)
	}
	return nil
}

// defects records several of them.
func (v *evidence) defects(ctx context.Context, c *Call, all []annotation.Defect) error {
	for _, d := range all {
		if err := v.defect(ctx, c, d); err != nil {
			return err
		}
	}
	return nil
}

// open opens the call's agent session, and records the labels that rise with it: a session that is opened under a
// parent takes over its label. Without a [Ledger], the events come after.
func (v *evidence) open(ctx context.Context, c *Call) (session.State, error) {
	state, err := v.opened(ctx, c)
	if err != nil {
		return session.State{}, fmt.Errorf("opening agent session: %w", err)
	}
	return state, nil
}

func (v *evidence) opened(ctx context.Context, c *Call) (session.State, error) {
	event := func(r session.Rise) *record.Event { return v.rise(c, r.Key, r.After.Without(r.Before)) }
	if ledger, ok := v.record.(Ledger); ok {
		state, _, err := v.sessions.OpenBy(ctx, c.Session, ledger.Opening(event))
		return state, err
	}
	state, rises, err := v.sessions.Open(ctx, c.Session)
	if err != nil {
		return session.State{}, err
	}
	for _, r := range rises {
		if err := v.recordRise(ctx, event(r)); err != nil {
			return session.State{}, err
		}
	}
	return state, nil
}

// raise joins a label into the call's agent session and into its ancestors, and records that. It returns the label of
// the session. A label that is already covered is neither recorded nor written.
func (v *evidence) raise(ctx context.Context, c *Call, seen, l label.Label) (label.Label, error) {
	if seen.Covers(l) {
		return seen, nil
	}
	change, err := v.raised(ctx, c, l, l.Without(seen))
	if err != nil {
		return label.Label{}, fmt.Errorf("raising the agent session: %w", err)
	}
	return change.After, nil
}

// raised raises the session by l, and records the label that is added. Without a [Ledger], the event comes first: it
// may then tell of a rise that failed, but no rise is without its event.
func (v *evidence) raised(ctx context.Context, c *Call, l, added label.Label) (session.Change, error) {
	e := v.rise(c, c.Session.Key, added)
	if ledger, ok := v.record.(Ledger); ok {
		return v.sessions.RaiseBy(ctx, c.Session.Key, l, ledger.Joining(e))
	}
	if err := v.recordRise(ctx, e); err != nil {
		return session.Change{}, err
	}
	return v.sessions.Raise(ctx, c.Session.Key, l)
}

// rise returns the event of a label that joins into a session.
func (v *evidence) rise(c *Call, key string, added label.Label) *record.Event {
	e := v.event(record.Label, c)
	e.Session, e.Label = key, &added
	return e
}

func (v *evidence) recordRise(ctx context.Context, e *record.Event) error {
	if err := v.record.Record(ctx, e); err != nil {
		return fmt.Errorf("recording the label: %w", err)
	}
	return nil
}

// count counts a call that goes out. The first one of the session in this process is counted at once: from then on
// every other process knows that it has not seen all of them.
func (v *evidence) count(ctx context.Context, key string, first bool) (err error) {
	if first {
		_, err = v.sessions.Count(ctx, key)
	} else {
		err = v.sessions.Tally(ctx, key)
	}
	if err != nil {
		return fmt.Errorf("counting the call: %w", err)
	}
	return nil
}
