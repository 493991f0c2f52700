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
	maxCalls    = 64      // whose results may come in an agent session
	maxOutcomes = 64      // of results
	maxOutcome  = 1 << 20 // bytes of a result whose outcome is remembered
)

// A callBook remembers the calls of agent sessions whose results may come. It is safe for concurrent use.
type callBook struct {
	mu       sync.Mutex
	sessions *bounded.Map[session.Ref, openCalls]
	outcomes *bounded.Map[answer, guard.Outcome] // of results, for the mutator after the validator
}

// openCalls are the calls of an agent session. Errors of servers reach no interceptor, so a call may stay among them.
type openCalls struct {
	all     []*made
	dropped bool // whether one was forgotten whose result may come
}

// A made is a call that was decided on, or could not be. An invoker may let it happen in any case.
type made struct {
	trace, span   string
	server, event string
	call          *guard.Call // nil if nothing is known of it
	answered      bool        // by a result of its own span
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

// add remembers a call, whatever was decided on it; nil stands for one of which nothing is known.
func (b *callBook) add(about interceptor.Context, ref session.Ref, server, event string, c *guard.Call) {
	b.mu.Lock()
	defer b.mu.Unlock()
	o, _ := b.sessions.Get(ref)
	o.all = append(slices.Clone(o.all), &made{trace: about.TraceID, span: about.SpanID, server: server, event: event, call: c})
	if len(o.all) > maxCalls {
		oldest := max(0, slices.IndexFunc(o.all, func(m *made) bool { return m.answered }))
		o.dropped = o.dropped || !o.all[oldest].answered
		o.all = slices.Delete(o.all, oldest, oldest+1)
	}
	b.sessions.Set(ref, o)
}

// find returns the calls that a result may be of: those of its span, else all that may have it by what is told of them
// and that no result of their own has answered. One without a call is among them if it may be of a call that is not
// there.
func (b *callBook) find(about interceptor.Context, ref session.Ref, server, event string) (all []*made) {
	b.mu.Lock()
	defer b.mu.Unlock()
	o, _ := b.sessions.Get(ref)
	for _, m := range o.all {
		if m.server == server && m.event == event && m.is(about) {
			all = append(all, m)
		}
	}
	if len(all) > 0 {
		return all
	}
	may := func(mine, told string) bool { return mine == "" || told == "" || mine == told }
	for _, m := range o.all {
		if m.server == server && m.event == event && !m.answered && may(m.trace, about.TraceID) &&
			(about.TraceID == "" || may(m.span, about.SpanID)) {
			all = append(all, m)
		}
	}
	if o.dropped || len(all) == 0 {
		all = slices.Insert(all, 0, &made{})
	}
	return all
}

// is reports whether a call is the one of a span.
func (m *made) is(about interceptor.Context) bool {
	return about.TraceID != "" && about.SpanID != "" && m.trace == about.TraceID && m.span == about.SpanID
}

// decided returns the outcome of a result that was decided on before.
func (b *callBook) decided(of []*made, result json.RawMessage) (guard.Outcome, bool) {
	if of[len(of)-1].call == nil {
		return guard.Outcome{}, false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.outcomes.Get(answer{of[len(of)-1], sha256.Sum256(result)})
}

// decide notes the calls that have a result of their own, and remembers the outcome.
func (b *callBook) decide(about interceptor.Context, of []*made, result json.RawMessage, out guard.Outcome) {
	if of[len(of)-1].call == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range of {
		m.answered = m.answered || m.is(about)
	}
	if passes(out.Effect) && len(out.Answer.Result) <= maxOutcome { // a person may accept any other
		b.outcomes.Set(answer{of[len(of)-1], sha256.Sum256(result)}, out)
	}
}
