package pins

import (
	"context"
	"fmt"
	"maps"
)

// Shared are pins that several machines have in common, each beside a lock file of its own. A definition that one
// machine has seen first, or that was reviewed at one of them, counts for all.
type Shared interface {
	// First keeps the pin unless one is kept, and returns the one that is.
	First(ctx context.Context, server string, id ID, p Pin) (Pin, error)

	// Reviewed returns the pins that are kept of a server and that a person has reviewed.
	Reviewed(ctx context.Context, server string) (map[ID]Pin, error)

	// Accept keeps the definition that a person has reviewed in the place of the one that is kept.
	Accept(ctx context.Context, server string, id ID, d Definition) error

	// Forget forgets a definition that is gone.
	Forget(ctx context.Context, server string, id ID) error
}

// settle returns the pins of other machines that decide about an offer: a different definition that one of them saw
// first, and the definitions reviewed there.
func (f *File) settle(ctx context.Context, lock Lock, o Offer, c Checked, added map[string]Pin) (map[string]Pin, error) {
	settled := map[string]Pin{}
	if f.opts.Shared == nil {
		return settled, nil
	}
	for name, now := range added {
		if !o.Kind.holds(name) {
			continue // such definitions may differ from machine to machine
		}
		first, err := f.opts.Shared.First(ctx, o.Server, ID{o.Kind, name}, now)
		if err != nil {
			return nil, fmt.Errorf("sharing pins: %w", err)
		}
		if first.drifts(now.Definition) {
			settled[name] = first
		}
	}
	open := maps.Clone(added)
	for name, now := range o.Entries {
		if was, _ := lock.Get(o.Server, ID{o.Kind, name}); was.Status != Reviewed || len(was.Definition.Differences(now)) > 0 {
			open[name] = Pin{Definition: now}
		}
	}
	if len(open) == 0 {
		return settled, nil
	}
	reviewed, err := f.opts.Shared.Reviewed(ctx, o.Server)
	if err != nil {
		return nil, fmt.Errorf("sharing pins: %w", err)
	}
	for name, now := range open {
		p, ok := reviewed[ID{o.Kind, name}]
		was, _ := lock.Get(o.Server, ID{o.Kind, name})
		if ok && p.Fits(o.Kind, name, now.Definition) && (was.Status != Reviewed || len(was.Definition.Differences(p.Definition)) > 0) {
			settled[name] = p
		}
	}
	return settled, nil
}

// Fits reports whether a definition is used as the pinned one is.
func (p Pin) Fits(kind Kind, name string, now Definition) bool {
	if kind.holds(name) {
		return !p.drifts(now)
	}
	return len(p.Definition.Differences(now)) == 0
}

// tell tells the other machines about a person's review.
func (f *File) tell(ctx context.Context, all []Held) error {
	if f.opts.Shared == nil {
		return nil
	}
	for _, h := range all {
		if err := f.opts.Shared.Accept(ctx, h.Server, h.ID, h.Offered); err != nil {
			return fmt.Errorf("sharing pins: %w", err)
		}
	}
	return nil
}

// forget tells the other machines which definitions a server does not offer any more.
func (f *File) forget(ctx context.Context, server string, gone []ID) error {
	if f.opts.Shared == nil {
		return nil
	}
	for _, id := range gone {
		if err := f.opts.Shared.Forget(ctx, server, id); err != nil {
			return fmt.Errorf("sharing pins: %w", err)
		}
	}
	return nil
}
