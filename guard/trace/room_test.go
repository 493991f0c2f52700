package trace

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/internal/budget"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/provenance"
	"github.com/weir-mcp/weir/session"
)

// The memory of traces is counted as it is, for small sessions, large ones and ones with nothing but names; and no number of
// sessions takes more than there is room for.
func TestTracesAreCounted(t *testing.T) {
	const limit = 24 << 20
	for name, fill := range map[string]func(*sessionTrace, int){
		"empty": func(*sessionTrace, int) {},
		"small": func(m *sessionTrace, n int) {
			m.corpus.read().AddJSON(provenance.Source{URI: "mcp://s/look", Kinds: provenance.Trusted}, fmt.Appendf(nil, `{"text":"result number %d of a call"}`, n))
		},
		"large": func(m *sessionTrace, n int) {
			m.corpus.read().Add(provenance.Source{URI: "mcp://s/read", Kinds: provenance.Untrusted}, strings.Repeat(fmt.Sprintf("words %d of a page ", n), 4000))
		},
		"waiting": func(m *sessionTrace, n int) {
			m.corpus.add(provenance.Source{URI: "mcp://s/read", Kinds: provenance.Untrusted}, fmt.Appendf(nil, `{"text":"%d%s"}`, n, strings.Repeat("w", 50000)), true)
		},
		"names": func(m *sessionTrace, n int) {
			for i := range 200 {
				m.destinations[strings.Repeat("x", 1000)+fmt.Sprint(n, i)] = true
				m.sites[fmt.Sprintf("site-%d-%d.example", n, i)] = true
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			pool := budget.New(budget.Limits{Traces: limit}).Traces
			room, _ := pool.Acquire(0)
			all := NewMemory(MemoryOptions{Room: room})
			heap := func() int64 {
				var s runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&s)
				return int64(s.HeapAlloc)
			}
			before := heap()
			for n := 0; pool.Usage().Evicted < 20; n++ {
				m := all.of(session.Ref{Key: fmt.Sprintf("local/agent:%d", n)})
				all.change(m, func() { fill(m, n) })
			}
			u, took := pool.Usage(), heap()-before
			t.Logf("%d traces, %d bytes counted, %d taken", len(all.all), u.Used, took)
			if u.Used > limit || took > limit*5/4 || took < limit/2 {
				t.Errorf("%d bytes are counted and %d taken, of %d", u.Used, took, limit)
			}
			runtime.KeepAlive(all)
		})
	}
}

// others is a memory that has a conversation in common with another one, and a tracer of it.
func others(common *Memory) *Tracer {
	return New(Options{Memory: common.Beside(MemoryOptions{}, func(string) bool { return true })})
}

// TestEvictedConversation has traces of other sessions take all the room for conversations: a session begins anew without
// words, but the amounts that it has told and its pace stay.
func TestEvictedConversation(t *testing.T) {
	common := NewMemory(MemoryOptions{Room: &ownRoom{left: 100 << 10}})
	here, there := others(common), others(common)
	c := &Call{Session: session.Ref{Key: "s"}, Server: "mail", URI: "mcp://mail/send", Arguments: []byte(`{"to":"eve@evil.example","text":"three words more"}`)}
	here.AddUserMessages(c.Session, []string{"write to ann@example.com"})
	calls := 0
	call := func() *policy.Facts {
		f := &policy.Facts{}
		f.Session.Label, f.Session.Calls = label.Label{Untrusted: true}, calls
		here.AddCall(c, f, here.Trace(c, f, true))
		calls++
		return f
	}
	call()
	before := call()
	for n := range 200 {
		there.AddUserMessages(session.Ref{Key: fmt.Sprint("other", n)}, []string{"hello"})
	}
	if _, ok := common.all["s"]; ok {
		t.Fatal("the conversation was not evicted")
	}
	after := call()
	if after.Session.UserWords || !before.Session.UserWords {
		t.Errorf("words before %v, after %v", before.Session.UserWords, after.Session.UserWords)
	}
	if after.Call.Total <= before.Call.Total || after.Session.Burst <= before.Session.Burst {
		t.Errorf("told %d bits before and %d after, bursts %d and %d", before.Call.Total, after.Call.Total, before.Session.Burst, after.Session.Burst)
	}
}
