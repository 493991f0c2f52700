package pins

import (
	"context"
	"fmt"
)

// Shared are pins that several machines have in common, each beside a lock of its own. What one of them has seen first, or what a
// person has accepted at one of them, counts for all.
type Shared interface {
	// First keeps the definition unless one is kept, and returns the one that is.
	First(ctx context.Context, server, tool string, d Definition) (Definition, error)

	// Accepted returns the definition that is kept, if a person has accepted it.
	Accepted(ctx context.Context, server, tool string) (d Definition, ok bool, err error)

	// Accept keeps the definition that a person accepts in the place of the one that is kept.
	Accept(ctx context.Context, server, tool string, d Definition) error

	// Forget forgets the definition of a tool that is gone.
	Forget(ctx context.Context, server, tool string) error
}

// settle returns what other machines say of tools that are held or new here: what they saw first of a new one, if that is
// something else, and what a person has accepted there of what is held.
func (f *File) settle(ctx context.Context, server string, held map[string]Held, added map[string]Definition) (map[string]Definition, error) {
	if f.opts.Shared == nil {
		return nil, nil
	}
	settled := map[string]Definition{}
	for name, now := range added {
		first, err := f.opts.Shared.First(ctx, server, name, now)
		if err != nil {
			return nil, fmt.Errorf("sharing pins: %w", err)
		}
		if len(first.Differences(now)) > 0 {
			settled[name] = first
		}
	}
	for name, h := range held {
		d, ok, err := f.opts.Shared.Accepted(ctx, server, name)
		if err != nil {
			return nil, fmt.Errorf("sharing pins: %w", err)
		}
		if ok && len(d.Differences(h.Offered)) == 0 {
			settled[name] = d
		}
	}
	return settled, nil
}

// tell tells the other machines what a person accepts.
func (f *File) tell(ctx context.Context, all []Held) error {
	if f.opts.Shared == nil {
		return nil
	}
	for _, h := range all {
		if err := f.opts.Shared.Accept(ctx, h.Server, h.Tool, h.Offered); err != nil {
			return fmt.Errorf("sharing pins: %w", err)
		}
	}
	return nil
}

// forget tells the other machines which tools are gone.
func (f *File) forget(ctx context.Context, server string, gone []string) error {
	if f.opts.Shared == nil {
		return nil
	}
	for _, name := range gone {
		if err := f.opts.Shared.Forget(ctx, server, name); err != nil {
			return fmt.Errorf("sharing pins: %w", err)
		}
	}
	return nil
}
