package guard

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/bounded"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/session"
	"github.com/weir-mcp/weir/vault"
)

// MaxLooked is how many bits of hidden values may be told in an agent session, but for looks on which a policy decides
// that reads session.looked.
const MaxLooked = 64

// ErrSpent says that an agent session may be told no more bits of hidden values.
var ErrSpent = fmt.Errorf("%d bits of hidden values may be told in an agent session, and this would be more", MaxLooked)

// Spend counts bits of hidden values that an agent session is told after it, beside those of [Hidden.Look]. The error
// is ErrSpent if they would be more than MaxLooked. With any error nothing may be told.
func (h *Hidden) Spend(ctx context.Context, ref session.Ref, bits int) error {
	key, err := h.family(ctx, ref)
	if err != nil {
		return err
	}
	return spend(ctx, h.vault, key, bits, MaxLooked)
}

// spend counts bits in a space before they are told. It is the one place from which [vault.Vault.Spend] holds them to a
// limit.
func spend(ctx context.Context, v *vault.Vault, key vault.Space, bits, most int) error {
	if err := v.Spend(ctx, key, bits, most); !errors.Is(err, vault.ErrSpent) {
		return err
	}
	return ErrSpent
}

// Expand replaces the handles of hidden values in the arguments of a call, and returns the values, for [Hiding]. The
// error is [vault.ErrUnknown] for a handle of no value of the agent session, its parents and its children. It quotes
// no value. If the agent cannot know from the shapes that it was told whether there is an expansion, the bits of that
// are spent before, and the error is ErrSpent if there are none left.
func (h *Hidden) Expand(ctx context.Context, ref session.Ref, arguments json.RawMessage) (json.RawMessage, vault.Filling, error) {
	if h.vault == nil || arguments == nil {
		return arguments, vault.Filling{}, nil
	}
	keys, err := h.spaces(ctx, ref, nil)
	if err != nil {
		return nil, vault.Filling{}, err
	}
	calls := 0
	if vault.HasHandles(arguments) {
		if calls, err = h.ventures.begin(ctx, h, ref); err != nil {
			return nil, vault.Filling{}, err
		}
	}
	run := 0
	count := func() error {
		opening := Call{ID: rand.Text(), Session: ref, Server: Own, Method: "tools/call"}
		if _, err := h.guard.evidence.open(ctx, &opening); err != nil { // with which the bits are kept
			return err
		}
		run = h.probes.take(keys[0]) + 1
		return spend(ctx, h.vault, keys[0], bitsOf(run), MaxLooked)
	}
	expanded, filling, err := h.vault.Expand(ctx, arguments, count, keys...)
	switch {
	case errors.Is(err, vault.ErrUnknown):
		return nil, vault.Filling{}, err
	case err != nil: // that is counted by itself
		h.ventures.runs.give(keys[0], calls)
		return nil, vault.Filling{}, err
	case run > 0:
		h.probes.give(keys[0], run)
	}
	filling.Run = calls
	return expanded, filling, nil
}

// Probes are expansions of which the agent could not know whether they would succeed: how many have in a row, by space.
// Most of an honest agent do, and it pays little for them: a run of n, with the failure that may end it, costs
// 2·⌊log2 n⌋+1 bits as in the gamma code of Elias. So 2^b sequences of outcomes at most cost b bits, also where runs are
// forgotten.
type probes struct {
	mu   sync.Mutex
	runs *bounded.Map[vault.Space, int]
}

// maxRuns bounds the runs that are remembered.
const maxRuns = 1 << 12

// bitsOf returns the bits that the nth probe of a run adds to its cost.
func bitsOf(n int) int {
	switch {
	case n == 1:
		return 1
	case n&(n-1) == 0:
		return 2
	}
	return 0
}

// take returns the length of the run of a space, and takes it away: a probe at the same time begins another, and a
// failure ends it.
func (p *probes) take(key vault.Space) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.runs == nil {
		return 0
	}
	n, _ := p.runs.Get(key)
	p.runs.Delete(key)
	return n
}

// give gives a run back after one more success.
func (p *probes) give(key vault.Space, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.runs == nil {
		p.runs = bounded.NewMap[vault.Space, int](maxRuns)
	}
	p.runs.Set(key, n)
}

// Looking returns the contract of Weir's own tools that tell of hidden values.
func Looking() contract.Contract {
	return contract.Contract{
		ReadOnly: contract.Yes, Destructive: contract.No, OpenWorld: contract.No,
		Destinations: contract.Possible(contract.Ephemeral), Outcomes: contract.Possible(contract.Benign),
		Sources: contract.Possible(label.System),
	}
}

// Look decides, as Before does, on a call of Weir's own that tells typed answers of hidden values, of [Call.Looks] bits
// at most. The bits count if the call may go, and [Call.Tells] of them in any case.
func (h *Hidden) Look(ctx context.Context, c *Call) Verdict {
	if h.vault == nil || c.Server != Own || c.Looks < 1 {
		return Denied(errors.New("only a look at hidden values of so many bits is decided here"))
	}
	if _, err := h.guard.evidence.open(ctx, c); err != nil { // with which the bits are kept
		return Denied(err)
	}
	key, err := h.family(ctx, c.Session)
	if err != nil {
		return Denied(err)
	}
	most := MaxLooked
	if by := h.guard.rules.Load(); (by.looks() || by.mode != policy.Enforce) && c.LookedSetup == h.setup.by() {
		most = math.MaxInt // the policy decides
	}
	counted := c.Looks
	err = spend(ctx, h.vault, key, c.Looks, most)
	if errors.Is(err, ErrSpent) {
		c.spent, counted = ErrSpent.Error()+"; weir_reveal shows a value", 0
	} else if err != nil {
		return Denied(err)
	}
	v := h.guard.Before(ctx, c)
	if v.Allowed() {
		return v
	}
	// Without bits for Tells, a call of any number of bits is refused, and the refusal tells nothing.
	if err := spend(ctx, h.vault, key, c.Tells-counted, most); err != nil && !errors.Is(err, ErrSpent) {
		return Denied(err)
	}
	return v
}
