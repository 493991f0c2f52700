package budget_test

import (
	"context"
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/internal/budget"
)

// A pool agrees with a plain sum, for any order of its leases, and is empty when all of them were released.
func TestPoolModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Int64Range(1, 100).Draw(t, "limit")
		pool := budget.New(budget.Limits{Bytes: limit}).Bytes
		var leases []*budget.Lease
		var held []int64
		over := map[int]bool{}
		sum, peak := int64(0), int64(0)
		one := func(t *rapid.T) int { return rapid.IntRange(0, len(leases)-1).Draw(t, "lease") }
		amount := func(t *rapid.T) int64 { return rapid.Int64Range(-5, 60).Draw(t, "n") }
		took := func(i int, n int64) {
			held[i], sum = held[i]+n, sum+n
			peak = max(peak, sum)
		}
		t.Repeat(map[string]func(*rapid.T){
			"acquire": func(t *rapid.T) {
				n := amount(t)
				l, ok := pool.Acquire(n)
				if want := n >= 0 && sum+n <= limit; ok != want {
					t.Fatalf("acquired %d of %d with %d taken: %v", n, limit, sum, ok)
				}
				leases, held = append(leases, l), append(held, 0)
				if ok {
					took(len(leases)-1, n)
				}
			},
			"grow": func(t *rapid.T) {
				if len(leases) == 0 {
					t.Skip()
				}
				i, n := one(t), amount(t)
				ok := leases[i].Grow(n)
				if want := n >= 0 && !over[i] && sum+n <= limit; ok != want {
					t.Fatalf("grew by %d of %d with %d taken: %v", n, limit, sum, ok)
				}
				if ok {
					took(i, n)
				}
			},
			"force": func(t *rapid.T) {
				if len(leases) == 0 {
					t.Skip()
				}
				i, n := one(t), amount(t)
				leases[i].Force(n)
				if !over[i] && n > 0 {
					took(i, n)
				}
			},
			"shrink": func(t *rapid.T) {
				if len(leases) == 0 {
					t.Skip()
				}
				i, n := one(t), amount(t)
				leases[i].Shrink(n)
				n = max(0, min(n, held[i]))
				held[i], sum = held[i]-n, sum-n
			},
			"release": func(t *rapid.T) {
				if len(leases) == 0 {
					t.Skip()
				}
				i := one(t)
				leases[i].Release()
				sum, held[i], over[i] = sum-held[i], 0, true
			},
			"": func(t *rapid.T) {
				if u := pool.Usage(); u.Used != sum || u.Peak != peak || u.Limit != limit {
					t.Fatalf("%+v, want %d used, peak %d", u, sum, peak)
				}
			},
		})
		for _, l := range leases {
			l.Release()
		}
		if u := pool.Usage(); u.Used != 0 {
			t.Fatalf("%d are still taken", u.Used)
		}
	})
}

// A waiting caller is woken by a release, and by the end of its context.
func TestWait(t *testing.T) {
	pool := budget.New(budget.Limits{Processes: 1}).Processes
	if err := pool.Wait(t.Context(), 1); err != nil {
		t.Fatalf("with room: %v", err)
	}
	lease, _ := pool.Acquire(1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := pool.Wait(ctx, 1); err == nil {
		t.Error("waited without room, and did not notice the end")
	}
	woken := make(chan error)
	go func() { woken <- pool.Wait(t.Context(), 1) }()
	lease.Release()
	if err := <-woken; err != nil {
		t.Error(err)
	}
}
