package guard_test

import (
	"context"
	"sync"
	"testing"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/record"
)

func mustLoad(t *testing.T, src string) *policy.Policy {
	t.Helper()
	p, err := policy.Load("test.yaml", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const blocksAll = "version: 1\ndefault: block\nrules: []\n"

func TestSwap(t *testing.T) {
	f := newFixture(t, nil)
	read := call("read_file", readSalaries, `{}`)
	f.run(t, read, okResult)
	send := call("send", sendMail, `{"arguments":{"to":"a"}}`)
	asked := f.g.Before(t.Context(), send)
	if asked.Effect != policy.Ask {
		t.Fatalf("%+v, want a question", asked)
	}
	f.accepted[asked.Question.Binding] = true

	p := mustLoad(t, blocksAll)
	f.g.Swap(p, policy.Enforce)
	if got, mode := f.g.Rules(); got != p || mode != policy.Enforce {
		t.Errorf("decides by %v in mode %v", got, mode)
	}
	if v := f.g.Before(t.Context(), send); v.Effect != policy.Block {
		t.Errorf("the new policy does not decide: %+v", v)
	}
	f.g.Swap(p, policy.Audit)
	if v := f.g.Before(t.Context(), read); v.Effect != policy.Allow {
		t.Errorf("the new mode does not count: %+v", v)
	}

	// The same rules in other words: what a person accepted under the old words counts no more.
	f.g.Swap(mustLoad(t, string(policy.DefaultSource())+"# changed\n"), policy.Enforce)
	v := f.g.Before(t.Context(), send)
	if v.Effect != policy.Ask || v.Question.Binding == asked.Question.Binding {
		t.Errorf("an acceptance outlived the policy that asked: %+v", v)
	}
	f.g.Swap(nil, policy.Enforce)
	if v := f.g.Before(t.Context(), send); v.Effect != policy.Allow {
		t.Errorf("back under the policy that asked: %+v, want the acceptance to count", v)
	}
}

// TestSwapIsWhole swaps between a pair that allows and one that blocks, while a mixture of both would warn.
func TestSwapIsWhole(t *testing.T) {
	f := newFixture(t, func(o *guard.Options) {
		o.State, o.Policy, o.Mode = guard.NewState(nil, record.Discard()), mustLoad(t, blocksAll), policy.Enforce
	})
	allows := mustLoad(t, "version: 1\ndefault: allow\nrules: []\n")
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			f.g.Swap(allows, policy.WarnOnly)
			f.g.Swap(mustLoad(t, blocksAll), policy.Enforce)
		}
	})
	for range 300 {
		v := f.g.Before(t.Context(), call("send", sendMail, `{"arguments":{"to":"a"}}`))
		if v.Effect == policy.Warn {
			t.Errorf("%+v: neither pair warns", v)
		}
	}
	stop()
	wg.Wait()
}
