package streamable

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/internal/budget"
)

// An outbox agrees with a plain list under the same rules, whatever is put, taken and handed over.
func TestOutboxModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Int64Range(1, 2000).Draw(t, "limit")
		pool := budget.New(budget.Limits{Bytes: rapid.Int64Range(1, 4000).Draw(t, "pool")}).Bytes
		box := newOutbox(limit, pool)
		var model []part
		size, over := int64(0), false
		fits := func(p part) bool {
			for len(model) > 0 && (len(model) >= maxQueued || size+p.size > limit) {
				i := 0
				for i < len(model) && model[i].kind != notification {
					i++
				}
				if i == len(model) {
					return p.kind == response
				}
				size -= model[i].size
				model = append(model[:i:i], model[i+1:]...)
			}
			return true
		}
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				p := part{
					kind: rapid.SampledFrom([]kind{notification, notification, request, response}).Draw(t, "kind"),
					size: int64(rapid.IntRange(0, 300).Draw(t, "length")),
				}
				want := !over && fits(p) && (p.kind == response || size+p.size <= pool.Limit())
				if want {
					model, size, over = append(model, p), size+p.size, p.kind == response
				}
				if got := box.put(p); got != want {
					t.Fatalf("put returned %v, want %v", got, want)
				}
			},
			"next": func(t *rapid.T) {
				p, ok, ended := box.next()
				if ok != (len(model) > 0) || !ok && ended != over {
					t.Fatalf("next returned %v, %v with %d parts, over %v", ok, ended, len(model), over)
				}
				if ok {
					if fmt.Sprint(p) != fmt.Sprint(model[0]) {
						t.Fatalf("next returned %v, want %v", p, model[0])
					}
					size -= p.size
					model = model[1:]
				}
			},
			"succeed": func(t *rapid.T) {
				old := box
				box = box.succeed()
				if _, ok, ended := old.next(); ok || !ended || old.put(part{}) {
					t.Fatal("the old outbox is still in use")
				}
			},
			"": func(t *rapid.T) {
				if len(box.parts) != len(model) || box.size != size || len(model) > maxQueued+1 {
					t.Fatalf("%d parts of %d bytes, want %d of %d", len(box.parts), box.size, len(model), size)
				}
				if used := pool.Usage().Used; used != size {
					t.Fatalf("%d bytes are taken, want %d", used, size)
				}
			},
		})
		if box.release(); pool.Usage().Used != 0 {
			t.Fatalf("%d bytes are still taken", pool.Usage().Used)
		}
	})
}
