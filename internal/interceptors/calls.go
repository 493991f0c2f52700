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

// Limits of what is remembered. A result without a call is one of a tool that may do anything.
const (
	maxSessions = 4096
	maxCalls    = 8       // whose results may come in an agent session
	maxOutcomes = 64      // of results
	maxOutcome  = 1 << 20 // bytes of a result whose outcome is remembered
)

// A callBook remembers the calls of agent sessions whose results may come. It is safe for concurrent use.
type callBook struct {
	mu       sync.Mutex
	sessions *bounded.Map[session.Ref, openCalls]
	outcomes *bounded.Map[answer, guard.Outcome] // of results, for the mutator after the validator
}

// openCalls are the last calls of an agent session. Errors of servers reach no interceptor, so a call may stay among
// them.
type openCalls struct {
	all     []*made
	results int // that were decided on since the first of them
}

// A made is a call that was decided on.
type made struct {
	trace, span string
	call        *guard.Call
	refused     bool // so it has a result only if the invoker ignores that
}

// An answer is a result of calls, by the last of them and its digest.
type answer struct {
	last   *made
	digest [sha256.Size]byte
}

func newCallBook() *callBook {
	return &callBook{
		sessions: bounded.NewMap[session.Ref, openCalls](maxSessions), outcomes: bounded.NewMap[answer, guard.Outcome](maxOutcomes),
	}
}

// add remembers a call. Once all calls before it have their results, it is the only one that was not refused.
func (b *callBook) add(about interceptor.Context, c *guard.Call, refused bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	o, _ := b.sessions.Get(c.Session)
	var ignored []*made // by the invoker, maybe
	for _, m := range o.all {
		if m.refused {
			ignored = append(ignored, m)
		}
	}
	if o.results >= len(o.all)-len(ignored) {
		o = openCalls{all: ignored}
	}
	o.all = append(slices.Clone(o.all), &made{about.TraceID, about.SpanID, c, refused})
	o.all = o.all[max(0, len(o.all)-maxCalls):]
	b.sessions.Set(c.Session, o)
}

// find returns the calls that a result may be of: those of its span, else of its trace, else all; of these, those that
// were not refused, if there are any.
func (b *callBook) find(about interceptor.Context, ref session.Ref, server, event string) []*made {
	b.mu.Lock()
	defer b.mu.Unlock()
	o, _ := b.sessions.Get(ref)
	all := slices.DeleteFunc(slices.Clone(o.all), func(m *made) bool { return m.call.Server != server || m.call.Method != event })
	narrow := func(match func(m *made) bool) {
		if slices.ContainsFunc(all, match) {
			all = slices.DeleteFunc(all, func(m *made) bool { return !match(m) })
		}
	}
	if about.TraceID != "" {
		narrow(func(m *made) bool { return m.trace == about.TraceID })
		narrow(func(m *made) bool { return about.SpanID != "" && m.trace == about.TraceID && m.span == about.SpanID })
	}
	narrow(func(m *made) bool { return !m.refused })
	return all
}

// decided returns the outcome of a result that was decided on before.
func (b *callBook) decided(of []*made, result json.RawMessage) (guard.Outcome, bool) {
	if len(of) == 0 {
		return guard.Outcome{}, false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.outcomes.Get(answer{of[len(of)-1], sha256.Sum256(result)})
}

// decide notes that a call has its result, and remembers the outcome.
func (b *callBook) decide(ref session.Ref, of []*made, result json.RawMessage, out guard.Outcome) {
	if len(of) == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if o, ok := b.sessions.Get(ref); ok {
		o.results++
		b.sessions.Set(ref, o)
	}
	if passes(out.Effect) && len(out.Answer.Result) <= maxOutcome { // a person may accept any other
		b.outcomes.Set(answer{of[len(of)-1], sha256.Sum256(result)}, out)
	}
}
