package guard

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/weir-mcp/weir/internal/bounded"
	"github.com/weir-mcp/weir/internal/hosterror"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/session"
	"github.com/weir-mcp/weir/vault"
)

// An isolated agent session has another one above it from which it descends, and tells that nothing but the values
// that it returns. So the store knows it as a session without a parent: no label joins from it into the one above,
// and it has hidden values of its own. The other way is open. The labels of all sessions above count in its calls,
// it may use their hidden values, and numbers that a look told there are known in it.
//
// Isolated sessions do not nest: none descends from another. A session of which nobody knows whether it is isolated may
// have any others above it, so what descends from it counts as untrusted and private.
type isolation struct {
	mu sync.Mutex

	// By principal and by the session that is above all others of a family: the sessions above that one, which is
	// isolated if there are any.
	above map[string]*bounded.Map[string, []string]
}

// Bounds of isolation.
const (
	maxIsolated = 1 << 14 // families of a principal; the oldest is unknown then, until a request tells of it again
	maxAbove    = 16      // sessions above one
)

// Errors of an isolated session.
var (
	errAbove  = hosterror.New("the agent session descends from too many others, or from itself")
	errNested = hosterror.New("the agent session above is isolated itself, or descends from one that is: isolated agent sessions do not nest")
)

// Above notes what a request tells of its agent session, and of the one above if its host isolates it, and returns the
// keys of the sessions above, for [Call.Above]: also of one that is not isolated itself, but descends from one that is.
func (h *Hidden) Above(ctx context.Context, ref session.Ref, parent string) ([]string, error) {
	key, err := h.family(ctx, ref)
	if err != nil {
		return nil, err
	}
	above, known := h.noted(key)
	if parent != "" {
		above = append([]string{parent}, slices.DeleteFunc(slices.Clone(above), func(s string) bool { return s == parent })...)
	}
	for _, name := range above {
		next, err := h.family(ctx, session.Ref{Key: name, Principal: ref.Principal})
		if err != nil {
			return nil, err
		}
		if next == key || len(above) > maxAbove {
			return nil, errAbove
		}
		if further, _ := h.noted(next); len(further) > 0 {
			return nil, errNested
		}
	}
	if known || parent != "" || key.Key == ref.Key { // else only the one above can tell
		h.note(key, above)
	} else {
		h.isolates(key.Owner)
	}
	return above, nil
}

// note notes the sessions above a family.
func (i *isolation) note(key vault.Space, above []string) {
	families := i.isolates(key.Owner)
	i.mu.Lock()
	defer i.mu.Unlock()
	known, _ := families.Get(key.Key)
	for _, name := range known { // of another request at the same time
		if !slices.Contains(above, name) {
			above = append(slices.Clip(above), name)
		}
	}
	families.Set(key.Key, above)
}

// isolates returns the families of a principal, of which sessions may be isolated from now on.
func (i *isolation) isolates(principal string) *bounded.Map[string, []string] {
	i.mu.Lock()
	defer i.mu.Unlock()
	families := i.above[principal]
	if families == nil {
		families = bounded.NewMap[string, []string](maxIsolated)
		if i.above == nil {
			i.above = map[string]*bounded.Map[string, []string]{}
		}
		i.above[principal] = families
	}
	return families
}

// noted returns the sessions above a family, and whether it is known whether there are any.
func (i *isolation) noted(key vault.Space) (above []string, known bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	families := i.above[key.Owner]
	if families == nil {
		return nil, false
	}
	return families.Get(key.Key)
}

// mayIsolate reports whether sessions of a principal may be isolated.
func (i *isolation) mayIsolate(principal string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.above[principal] != nil
}

// spaces returns the spaces of the values that an agent session may use: that of its family first, then of those
// above it.
func (h *Hidden) spaces(ctx context.Context, ref session.Ref, above []string) ([]vault.Space, error) {
	key, err := h.family(ctx, ref)
	if err != nil {
		return nil, err
	}
	if above == nil {
		above, _ = h.noted(key)
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

// Inherited returns the label of the sessions above that of a request. With an alert that waits there, it is malicious,
// and an isolated session stays so. It is untrusted and private while nobody knows whether one above is isolated itself.
func (h *Hidden) Inherited(ctx context.Context, ref session.Ref, above []string) (l label.Label, err error) {
	if !h.mayIsolate(ref.Principal) {
		return l, nil
	}
	families, err := h.spaces(ctx, ref, above)
	if err != nil {
		return l, err
	}
	for _, family := range families {
		if _, known := h.noted(family); !known {
			l = label.Label{Untrusted: true, Private: true}
		}
	}
	for _, key := range above {
		state, err := h.state.Sessions().Peek(ctx, session.Ref{Key: key, Principal: ref.Principal})
		if err != nil {
			return label.Label{}, fmt.Errorf("reading the agent session above: %w", err)
		}
		if len(alertsIn(state.Label)) > 0 { // which go no further, and nobody can answer here
			state.Label.Malicious = true
		}
		l = label.Join(l, withoutAlerts(state.Label))
	}
	return l, nil
}

// Integers that are returned are exact in the hosts of all languages, and take less than all bits.
const maxReturned = 1<<53 - 1

// A Return is JSON that an isolated agent session hands to the one above it.
type Return struct {
	Value json.RawMessage // without handles
	Uses  []vault.Value   // that it was made of
	As    vault.Type      // of an answer that the agent above is told; "": it gets a hidden value
}

// ReturnTypes returns the types of answers that an isolated agent session may tell. Their frames are fixed: limits and
// options of its own would be text to the agent above, and numbers that count for nothing.
func ReturnTypes() []vault.Type {
	return []vault.Type{vault.Boolean, vault.Integer, vault.Number, vault.Date}
}

// Return hands JSON from the isolated agent session of a call, which has been admitted, to the one above it: as a
// hidden value there, with the label of all that the isolated session has read, or as an answer of a type, which
// counts there as that to a look. The session above rises as by a look.
func (h *Hidden) Return(ctx context.Context, c *Call, r *Return) (v vault.Value, answer json.RawMessage, err error) {
	if h.vault == nil || len(c.Above) == 0 || r.As != "" && !slices.Contains(ReturnTypes(), r.As) {
		return v, nil, vault.ErrUnknown
	}
	up := *c
	up.Session, up.Hiding = session.Ref{Key: c.Above[0], Principal: c.Session.Principal}, Hiding{}
	state, err := h.state.Sessions().Snapshot(ctx, c.Session.Key)
	if err != nil {
		return v, nil, fmt.Errorf("reading the agent session: %w", err)
	}
	v = vault.Value{Server: Own, Method: c.Method, Tool: c.Name, Part: r.Value, From: c.Session.Key, Label: label.Join(state.Label, c.Context)}
	for i := range r.Uses {
		v.Label = label.Join(v.Label, r.Uses[i].Label)
	}
	if _, err := h.guard.evidence.open(ctx, &up); err != nil { // with which bits and value are kept
		return v, nil, err
	}
	key, err := h.family(ctx, up.Session)
	if err != nil {
		return v, nil, err
	}
	bits, look := 1, vault.Look{As: r.As} // that there is one more
	if r.As == vault.Integer {
		least, most := -float64(maxReturned), float64(maxReturned)
		look.Min, look.Max = &least, &most
	}
	if r.As != "" {
		bits = look.Bits()
	}
	if err := spend(ctx, h.vault, key, bits, MaxLooked); err != nil {
		return v, nil, err
	}
	if r.As != "" {
		if answer, err = look.Accept(r.Value); err != nil {
			return v, nil, err
		}
		if err := h.Told(ctx, up.Session, v, r.As, answer); err != nil {
			return v, nil, err
		}
	}
	if err := h.Admit(ctx, &up, &v); err != nil {
		return v, nil, err
	}
	if r.As == "" {
		v, err = h.vault.Put(ctx, key, v)
	}
	return v, answer, err
}
