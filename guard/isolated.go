package guard

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/weir-mcp/weir/internal/hosterror"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/session"
	"github.com/weir-mcp/weir/vault"
)

// An isolated agent session has another one above it from which it descends, and tells that nothing but the values
// that it returns. So the store knows it as a session without a parent: no label joins from it into the one above,
// and it has hidden values of its own. The other way is open. The labels of all sessions above count in its calls,
// it may use their hidden values, and numbers that a look told there are known in it.
type isolation struct {
	mu    sync.Mutex
	above map[vault.Space][]string // keys of the sessions above the one that is above all others of a family
	order []vault.Space            // oldest first
}

// Bounds of isolation.
const (
	maxIsolated = 1 << 14 // families of agent sessions; what is above the oldest is forgotten, until a request says it again
	maxAbove    = 16      // sessions above one
)

var errAbove = hosterror.New("the agent session descends from too many others, or from itself")

// Above notes the session above an isolated agent session, where its host names one, and returns the keys of all
// sessions above it, for [Call.Above]: also of one that is not isolated itself, and of one that is above that.
func (h *Hidden) Above(ctx context.Context, ref session.Ref, parent string) ([]string, error) {
	h.mu.Lock()
	none := parent == "" && len(h.above) == 0
	h.mu.Unlock()
	if none {
		return nil, nil
	}
	var above []string
	if parent != "" {
		above = []string{parent}
	}
	key, err := h.family(ctx, ref)
	if err != nil {
		return nil, err
	}
	if err := h.note(key, above); err != nil {
		return nil, err
	}
	seen := []vault.Space{key}
	for i := -1; i < len(above); i++ {
		if i >= 0 {
			if key, err = h.family(ctx, session.Ref{Key: above[i], Principal: ref.Principal}); err != nil {
				return nil, err
			}
			if key == seen[0] {
				return nil, errAbove
			}
		}
		for _, next := range h.noted(key) {
			if !slices.Contains(above, next) {
				above = append(above, next)
			}
		}
		if len(above) > maxAbove {
			return nil, errAbove
		}
	}
	return above, nil
}

// note adds to the sessions above a family.
func (i *isolation) note(key vault.Space, above []string) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	known, ok := i.above[key]
	for _, parent := range above {
		if parent == key.Key || len(known) >= maxAbove {
			return errAbove
		}
		if slices.Contains(known, parent) {
			continue
		}
		if i.above == nil {
			i.above = map[vault.Space][]string{}
		}
		if i.above[key] = append(slices.Clip(known), parent); !ok {
			i.order = append(i.order, key)
		}
	}
	if len(i.order) > maxIsolated {
		delete(i.above, i.order[0])
		i.order = i.order[1:]
	}
	return nil
}

func (i *isolation) noted(key vault.Space) []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.above[key]
}

// spaces returns the spaces of the values that an agent session may use: that of its family first, then of those
// above it.
func (h *Hidden) spaces(ctx context.Context, ref session.Ref, above []string) ([]vault.Space, error) {
	key, err := h.family(ctx, ref)
	if err != nil {
		return nil, err
	}
	if above == nil {
		if above, err = h.Above(ctx, ref, ""); err != nil {
			return nil, err
		}
	}
	keys := []vault.Space{key}
	for _, name := range above {
		next, err := h.family(ctx, session.Ref{Key: name, Principal: ref.Principal})
		if err != nil {
			return nil, err
		}
		keys = append(keys, next)
	}
	return keys, nil
}

// Inherited returns the label of the sessions of a principal above an isolated one. With an alert that waits there, it
// is malicious, and the isolated session stays so.
func (h *Hidden) Inherited(ctx context.Context, principal string, above []string) (l label.Label, err error) {
	for _, key := range above {
		state, err := h.state.Sessions().Peek(ctx, session.Ref{Key: key, Principal: principal})
		if err != nil {
			return label.Label{}, fmt.Errorf("reading the agent session above: %w", err)
		}
		if len(alertsIn(state.Label)) > 0 { // which go no further, and nobody can answer here
			state.Label.Malicious = true
		}
		l = label.Join(l, state.Label)
	}
	return l, nil
}

// A Return is JSON that an isolated agent session hands to the one above it.
type Return struct {
	Value json.RawMessage // without handles
	Uses  []vault.Value   // that it was made of
	Look  *vault.Look     // the type of an answer that the agent above is told; nil: it gets a hidden value
}

// ErrSpent says that an agent session may be told no more bits of hidden values.
var ErrSpent = fmt.Errorf("typed answers may tell %d bits of hidden values in an agent session, and these would be more", MaxLooked)

// Return hands JSON from the isolated agent session of a call, which has been admitted, to the one above it: as a
// hidden value there, with the label of all that the isolated session has read, or as an answer of a type, which
// counts there as that to a look. The session above rises as by a look.
func (h *Hidden) Return(ctx context.Context, c *Call, r *Return) (v vault.Value, answer json.RawMessage, err error) {
	if h.vault == nil || len(c.Above) == 0 {
		return v, nil, vault.ErrUnknown
	}
	up := *c
	up.Session, up.Hiding = session.Ref{Key: c.Above[0], Principal: c.Session.Principal}, Hiding{}
	state, err := h.state.Sessions().Snapshot(ctx, c.Session.Key)
	if err != nil {
		return v, nil, fmt.Errorf("reading the agent session: %w", err)
	}
	v = vault.Value{Server: Own, Method: c.Method, Tool: c.Name, Part: r.Value, Label: label.Join(state.Label, c.Context)}
	for i := range r.Uses {
		v.Label = label.Join(v.Label, r.Uses[i].Label)
	}
	key, err := h.family(ctx, up.Session)
	if err != nil {
		return v, nil, err
	}
	if r.Look != nil {
		if h.vault.Looked(key, r.Look.Bits()) > MaxLooked {
			return v, nil, ErrSpent
		}
		if answer, err = r.Look.Accept(r.Value); err != nil {
			return v, nil, err
		}
		if err := h.Told(ctx, up.Session, v, r.Look.As, answer); err != nil {
			return v, nil, err
		}
	}
	if err := h.Admit(ctx, &up, &v); err != nil {
		return v, nil, err
	}
	if r.Look == nil {
		v, err = h.vault.Put(key, v)
	}
	return v, answer, err
}
