package interceptors

import (
	"crypto/sha256"
	"encoding/json"
	"slices"
	"sync"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/interceptor"
	"github.com/weir-mcp/weir/internal/bounded"
	"github.com/weir-mcp/weir/session"
)

// Limits of what is remembered. A result whose call is forgotten is one of a tool that may do anything.
const (
	maxSessions = 4096
	maxCalls    = 64      // open in an agent session
	maxOutcomes = 64      // of results
	maxOutcome  = 1 << 20 // bytes of a result whose outcome is remembered
)

// A callBook remembers the calls of agent sessions whose results may come. It is safe for concurrent use.
type callBook struct {
	mu       sync.Mutex
	sessions *bounded.Map[session.Ref, []*made]
	outcomes *bounded.Map[answer, guard.Outcome] // of results, for the mutator after the validator
}

// made is a call that was decided on.
type made struct {
	trace, span string
	call        *guard.Call
	answered    bool
}

// An answer is a result of a call, by its digest.
type answer struct {
	call   *made
	digest [sha256.Size]byte
}

func newCallBook() *callBook {
	return &callBook{
		sessions: bounded.NewMap[session.Ref, []*made](maxSessions), outcomes: bounded.NewMap[answer, guard.Outcome](maxOutcomes),
	}
}

// add remembers a call. Once all calls of an agent session have their results, the next one has the results after it.
func (b *callBook) add(about interceptor.Context, c *guard.Call) {
	b.mu.Lock()
	defer b.mu.Unlock()
	all, _ := b.sessions.Get(c.Session)
	if !slices.ContainsFunc(all, func(m *made) bool { return !m.answered }) {
		all = nil
	}
	all = append(all[max(0, len(all)-maxCalls+1):], &made{trace: about.TraceID, span: about.SpanID, call: c})
	b.sessions.Set(c.Session, all)
}

// find returns the call of a result: the one of its span, else of its trace, else the only one; nil if several could be
// meant or none.
func (b *callBook) find(about interceptor.Context, ref session.Ref, server, event string) *made {
	b.mu.Lock()
	defer b.mu.Unlock()
	all, _ := b.sessions.Get(ref)
	all = slices.DeleteFunc(slices.Clone(all), func(m *made) bool { return m.call.Server != server || m.call.Method != event })
	same := func(match func(m *made) bool) bool {
		some := slices.ContainsFunc(all, match)
		if some {
			all = slices.DeleteFunc(all, func(m *made) bool { return !match(m) })
		}
		return some
	}
	if about.TraceID == "" || !same(func(m *made) bool { return m.trace == about.TraceID && m.span == about.SpanID && m.span != "" }) {
		_ = about.TraceID != "" && same(func(m *made) bool { return m.trace == about.TraceID })
	}
	if len(all) != 1 {
		return nil
	}
	return all[0]
}

// decided returns the outcome of a result that was decided on before.
func (b *callBook) decided(m *made, result json.RawMessage) (guard.Outcome, bool) {
	if m == nil {
		return guard.Outcome{}, false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.outcomes.Get(answer{m, sha256.Sum256(result)})
}

// decide notes that a call has its result, and remembers the outcome.
func (b *callBook) decide(m *made, result json.RawMessage, o guard.Outcome) {
	if m == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if m.answered = true; len(o.Answer.Result) <= maxOutcome {
		b.outcomes.Set(answer{m, sha256.Sum256(result)}, o)
	}
}
