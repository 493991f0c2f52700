package approve

import (
	"context"
	"sync"
	"time"

	"github.com/weir-mcp/weir/internal/bounded"
)

// maxOnward bounds the calls that may go on unasked. Of more, the oldest are asked about again.
const maxOnward = 4096

// An onward holds the bindings of calls that wait for their next round, each for a time and for one use. The zero onward is
// ready to use.
type onward struct {
	mu    sync.Mutex
	until *bounded.Map[string, time.Time] // by binding; nil before the first
}

func (o *onward) add(binding string, until time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.until == nil {
		o.until = bounded.NewMap[string, time.Time](maxOnward)
	}
	o.until.Set(binding, until)
}

func (o *onward) take(binding string, now time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.until == nil {
		return false
	}
	until, ok := o.until.Get(binding)
	o.until.Delete(binding)
	return ok && now.Before(until)
}

// GoesOn lets the call that an onward binding of the guard stands for go on once within a time: its server has answered it
// with a question.
func (b *Book) GoesOn(binding string, life time.Duration) {
	b.onward.add(binding, time.Now().Add(life))
}

// Restore gives back an acceptance that was redeemed for what has not happened, because a further question came up.
func (b *Book) Restore(binding string, until time.Time) {
	if binding != "" {
		b.restored.Accept(binding, until)
	}
}

// Redeem implements [guard.Approvals].
func (b *Book) Redeem(ctx context.Context, binding string) (bool, error) {
	if b.onward.take(binding, time.Now()) {
		return true, nil
	}
	if ok, err := b.restored.Redeem(ctx, binding); ok || err != nil {
		return ok, err
	}
	if ok, err := b.opts.Store.Redeem(ctx, binding); ok || err != nil {
		return ok, err
	}
	return b.stands(ctx, grantPrefix+binding)
}
