package guard

import (
	"context"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/session"
)

// A Ledger is a Recorder that keeps the sessions too, and so can write a label together with the event that tells of it. If
// [Options].Record is one, its sessions are those of Options.Sessions.
type Ledger interface {
	record.Recorder

	// Opening returns what opens a session and records the event of each label that rises with it: both, or with an error
	// neither. The event may be asked for more than once.
	Opening(event func(session.Rise) *record.Event) session.Opener

	// Joining returns what joins a label into a session and records the event: both, or with an error neither.
	Joining(e *record.Event) session.Joiner
}

// openRecorded opens the call's agent session, and records what rises with it. Without a [Ledger], the events come after.
func (g *Guard) openRecorded(ctx context.Context, c *Call) (session.State, error) {
	if ledger, ok := g.opts.Record.(Ledger); ok {
		state, _, err := g.opts.Sessions.OpenBy(ctx, c.Session, ledger.Opening(func(r session.Rise) *record.Event {
			return g.rise(c, r.Key, r.After.Without(r.Before))
		}))
		return state, err
	}
	state, rises, err := g.opts.Sessions.Open(ctx, c.Session)
	if err != nil {
		return session.State{}, err
	}
	for _, r := range rises {
		if err := g.recordRise(ctx, c, r.Key, r.After.Without(r.Before)); err != nil {
			return session.State{}, err
		}
	}
	return state, nil
}

// raiseRecorded raises the call's agent session by l, and records what that adds. Without a [Ledger], the event comes first: it may
// then tell of a rise that failed, but no rise is without its event.
func (g *Guard) raiseRecorded(ctx context.Context, c *Call, l, added label.Label) (session.Change, error) {
	if ledger, ok := g.opts.Record.(Ledger); ok {
		return g.opts.Sessions.RaiseBy(ctx, c.Session.Key, l, ledger.Joining(g.rise(c, c.Session.Key, added)))
	}
	if err := g.recordRise(ctx, c, c.Session.Key, added); err != nil {
		return session.Change{}, err
	}
	return g.opts.Sessions.Raise(ctx, c.Session.Key, l)
}

// rise returns the event of a label that joins into a session.
func (g *Guard) rise(c *Call, key string, added label.Label) *record.Event {
	e := g.event(record.Label, c)
	e.Session, e.Label = key, &added
	return e
}

// write records the event, at once or soon.
func (g *Guard) write(ctx context.Context, e *record.Event, atOnce bool) error {
	if atOnce {
		return g.opts.Record.Record(ctx, e)
	}
	return record.Later(ctx, g.opts.Record, e)
}

// waits reports whether a decision has to be on disk before it takes effect. A call that may change or send anything must not
// go out before; nor may a person's acceptance be used up, or a denial be forgotten. A plain read that is allowed can wait; so can
// what is decided on an answer, since a label that rises by it is recorded after it, and on disk only with it.
func (c *Call) waits(phase policy.Phase, v Verdict) bool {
	switch {
	case !v.Allowed() || v.Redeemed != "":
		return true
	case phase == policy.OnResult:
		return false
	}
	return !c.reads()
}

// reads reports whether the call is known, by its contract, to change nothing and to send nothing to the public.
func (c *Call) reads() bool {
	if c.asked {
		return false
	}
	e := &c.Effective
	destinations, known := e.Destinations.Known()
	return e.ReadOnly == contract.Yes && known && !destinations.Has(contract.Public)
}
