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

// A State keeps agent sessions and the record of events together: no label rises without the event that tells of it.
type State interface {
	record.Deferrer

	// Sessions returns the sessions, to read them and to count their calls.
	Sessions() *session.Sessions

	// Open opens a session and records the event of each label that rises with it. The event may be asked for more than once.
	Open(ctx context.Context, ref session.Ref, event func(session.Rise) *record.Event) (session.State, error)

	// Decide records the event of a decision that a call may go in a session, counts the call if counts is set, and
	// returns the number of calls of the session, with this one. It does nothing if the session is not as it was
	// decided on any more: see [session.Sessions.Still]. Every process sees the call before it goes.
	Decide(ctx context.Context, on session.State, counts bool, e *record.Event) (calls int64, err error)

	// Raise joins a label into a session and its ancestors, and records the event. The event of a label that the session covers
	// may be left out.
	Raise(ctx context.Context, key string, l label.Label, e *record.Event) (session.Change, error)
}

// NewState returns the state of sessions and of a recorder that knows nothing of them. The event of a label that a session takes
// over from its parent comes after it. That of any other label comes first: it may then tell of a rise that failed. Nil sessions
// are in memory, for this state alone.
func NewState(sessions *session.Sessions, recorder record.Recorder) State {
	if recorder == nil {
		return nil
	}
	if sessions == nil {
		sessions = session.New(session.Options{})
	}
	return &pair{recorder, sessions}
}

// A pair is a State of two parts.
type pair struct {
	record.Recorder
	sessions *session.Sessions
}

func (p *pair) Sessions() *session.Sessions { return p.sessions }

func (p *pair) Later(ctx context.Context, made func() *record.Event) error {
	return p.Record(ctx, made())
}

func (p *pair) Open(
	ctx context.Context, ref session.Ref, event func(session.Rise) *record.Event,
) (session.State, error) {
	state, rises, err := p.sessions.Open(ctx, ref)
	if err != nil {
		return session.State{}, err
	}
	for _, r := range rises {
		if err := p.Record(ctx, event(r)); err != nil {
			return session.State{}, fmt.Errorf("recording the label: %w", err)
		}
	}
	return state, nil
}

func (p *pair) Decide(ctx context.Context, on session.State, counts bool, e *record.Event) (calls int64, err error) {
	now, err := p.sessions.Snapshot(session.Afresh(ctx), on.Key)
	if err == nil {
		err = on.Still(now)
	}
	if err == nil {
		err = p.Record(ctx, e)
	}
	if err != nil || !counts {
		return now.Calls, err
	}
	return p.sessions.Count(ctx, on.Key)
}

func (p *pair) Raise(ctx context.Context, key string, l label.Label, e *record.Event) (session.Change, error) {
	if err := p.Record(ctx, e); err != nil {
		return session.Change{}, fmt.Errorf("recording the label: %w", err)
	}
	return p.sessions.Raise(ctx, key, l)
}

// An evidence changes agent sessions, and records that.
type evidence struct {
	state State
	now   func() time.Time
}

// event returns a new event of a call.
func (v *evidence) event(kind record.Kind, c *Call) *record.Event {
	e := record.New(kind, v.now())
	e.Session, e.Parent, e.Principal, e.Call = c.Session.Key, c.Session.Parent, c.Session.Principal, c.ID
	e.Server, e.Method, e.Name = c.Server, c.Method, c.Name
	return e
}

// defect records that the call's server broke its contract, a schema or the protocol.
func (v *evidence) defect(ctx context.Context, c *Call, d annotation.Defect) error {
	e := v.event(record.Defect, c)
	e.Where, e.Message = d.Where, d.Reason
	if err := v.state.Record(ctx, e); err != nil {
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

// open opens the call's agent session, and records the labels that rise with it: a session that is opened under a parent
// takes over its label. The call, which nobody else may use meanwhile, has the session's parent from then on: not every
// request names it.
func (v *evidence) open(ctx context.Context, c *Call) (session.State, error) {
	state, err := v.state.Open(ctx, c.Session, func(r session.Rise) *record.Event {
		return v.rise(c, r.Key, r.After.Without(r.Before))
	})
	if err != nil {
		return session.State{}, fmt.Errorf("opening agent session: %w", err)
	}
	c.Session.Parent = state.Parent
	return state, nil
}

// raise joins a label into the call's agent session and into its ancestors, and records that. It returns the label of the
// session. A label that is already covered is neither recorded nor written: covered at this moment, since a person may
// have lowered the label that was seen.
func (v *evidence) raise(ctx context.Context, c *Call, seen, l label.Label) (label.Label, error) {
	if l.IsZero() {
		return seen, nil
	}
	ctx = session.Afresh(ctx)
	if seen.Covers(l) {
		now, err := v.state.Sessions().Snapshot(ctx, c.Session.Key)
		if err != nil {
			return label.Label{}, fmt.Errorf("reading the agent session: %w", err)
		}
		if seen = now.Label; seen.Covers(l) {
			return seen, nil
		}
	}
	change, err := v.state.Raise(ctx, c.Session.Key, l, v.rise(c, c.Session.Key, l.Without(seen)))
	if err != nil {
		return label.Label{}, fmt.Errorf("raising the agent session: %w", err)
	}
	return change.After, nil
}

// rise returns the event of a label that joins into a session.
func (v *evidence) rise(c *Call, key string, added label.Label) *record.Event {
	e := v.event(record.Label, c)
	e.Session, e.Label = key, &added
	return e
}

// count counts a call that goes out and was not counted with its decision. The first one of the session in this process
// is counted at once: from then on every other process knows that it has not seen all of them.
func (v *evidence) count(ctx context.Context, key string, first bool) (err error) {
	if first {
		_, err = v.state.Sessions().Count(ctx, key)
	} else {
		err = v.state.Sessions().Tally(ctx, key)
	}
	if err != nil {
		return fmt.Errorf("counting the call: %w", err)
	}
	return nil
}
