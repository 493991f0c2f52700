package gateway

import (
	"context"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/gateway/catalog"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/internal/upstream"
	"github.com/weir-mcp/weir/policy"
)

// A change of goroutines costs more than all that is decided about a small call. So a call that has to wait for nobody but
// its server changes none: who reads it from the host decides and writes it to the server, and who reads the answer from the
// server decides and writes it to the host. As soon as something may wait - for a list, a connection, a person, a pipe that
// is full, a record on disk - the crew takes over, at the same point of the same way (guarded.go).

// maxSwift is the size in bytes up to which a message is dealt with by who reads it. What is larger would keep that
// goroutine from reading for too long.
const maxSwift = 64 << 10

// An offerer is a connection that can send without waiting. It reports whether the message was begun; if not, nothing of it
// was sent.
type offerer interface {
	Offer(m *rpc.Message) (begun bool, err error)
}

// offered sends a message to the host if that needs no waiting.
func (f *front) offered(m *rpc.Message) bool {
	if f.offer == nil {
		return false
	}
	begun, err := f.offer.Offer(m)
	if err != nil {
		f.g.log.Debug("writing to the host", "error", err)
	}
	return begun
}

// swift takes a call to its server in the caller's goroutine, which waits for nothing, and has the answer handed on. If that
// may not be possible it does nothing and returns false.
func (f *front) swift(ctx context.Context, p *pending) bool {
	x, conn := f.ready(p.m)
	if x == nil {
		return false
	}
	f.crew.wg.Add(1) // until the answer is out
	s := &swiftCall{x, p}
	v := x.before(ctx, x.route.call)
	if v.Effect == policy.Ask {
		s.later(ctx, func() *rpc.Message { return x.rounds(ctx, v) })
		return true
	}
	params, refusal := x.cleared(ctx, v)
	if refusal != nil {
		s.answer(ctx, refusal)
		return true
	}
	x.modernServer, x.reached = conn.Modern(), true
	l, fl := x.route.link, newFlight(f, x.m, x.who)
	fl.call = x.route.call
	params, err := l.depart(fl, params, p.cancel)
	if err != nil {
		s.answer(ctx, f.internalError(x.m, err))
		return true
	}
	err = conn.Start(x.withHeaders(ctx, conn, params), x.m.Method, params, func(m *rpc.Message, err error) {
		l.land(fl)
		x.redeemed = nil
		s.came(ctx, m, l.failed(ctx, err))
	})
	if err != nil {
		l.land(fl)
		err = l.failed(ctx, err)
		s.later(ctx, func() *rpc.Message { return x.unanswered(ctx, err) })
	}
	return true
}

// ready returns the exchange for a call that nothing has to be waited for, and its server's connection; nil for any other.
func (f *front) ready(m *rpc.Message) (*exchange, *upstream.Conn) {
	var kind catalog.Kind
	switch m.Method {
	case "tools/call":
		kind = catalog.Tools
	case "prompts/get":
		kind = catalog.Prompts
	default:
		return nil, nil
	}
	if f.offer == nil || len(m.Params) > maxSwift || f.g.guard.Waits() {
		return nil, nil
	}
	for _, member := range [...]string{"requestState", "inputResponses"} {
		if _, returns := rawjson.Get(m.Params, member); returns {
			return nil, nil
		}
	}
	who, rerr := f.caller(m)
	if rerr != nil {
		return nil, nil
	}
	f.mu.Lock()
	set := f.links
	f.mu.Unlock()
	if set == nil {
		return nil, nil
	}
	e, ok := set.known(m, kind)
	if !ok {
		return nil, nil
	}
	r, rerr := f.named(m, set, e)
	if rerr != nil || r.link == nil || r.learns() {
		return nil, nil
	}
	conn := r.link.live()
	if conn == nil || conn.Modern() != who.modern() {
		return nil, nil
	}
	return &exchange{f: f, sent: m, m: m, who: who, route: r}, conn
}

// known finds the tool or prompt that a request names in the list as it was read last.
func (set *links) known(m *rpc.Message, kind catalog.Kind) (e catalog.Entry, ok bool) {
	l := set.cached(kind)
	raw, _ := rawjson.Get(m.Params, "name")
	shown, isString := rawjson.String(raw)
	if l == nil || !isString {
		return e, false
	}
	return l.Find(shown)
}

// A swiftCall is a call that the crew had nothing to do with so far.
type swiftCall struct {
	x *exchange
	p *pending
}

// came takes what the server has answered.
func (s *swiftCall) came(ctx context.Context, m *rpc.Message, err error) {
	if err != nil {
		s.later(ctx, func() *rpc.Message { return s.x.unanswered(ctx, err) })
		return
	}
	answer, refusal := s.x.received(ctx, m)
	switch {
	case refusal != nil:
		s.answer(ctx, refusal)
	case s.x.mustFulfil():
		s.later(ctx, func() *rpc.Message { return s.x.goOnWith(ctx, answer) })
	case len(answer.Raw()) > maxSwift:
		s.later(ctx, func() *rpc.Message { return s.x.handOn(ctx, *answer) })
	default:
		s.handOn(ctx, *answer)
	}
}

// handOn gives the agent an answer, unless a person has to be asked first, or the answer asks.
func (s *swiftCall) handOn(ctx context.Context, a guard.Answer) {
	o := s.x.after(ctx, s.x.route.call, a)
	if o.Effect == policy.Ask || s.x.asking || s.x.inquires || s.x.hasNews(o) {
		s.later(ctx, func() *rpc.Message { return s.x.handOnAs(ctx, a, o) })
		return
	}
	s.answer(ctx, s.x.handOnAs(ctx, a, o))
}

// later has the crew make the answer.
func (s *swiftCall) later(ctx context.Context, reply func() *rpc.Message) {
	s.x.f.crew.run(func() {
		m := reply()
		if s.over(ctx, m) {
			s.x.f.write(context.WithoutCancel(ctx), m)
		}
		s.leave()
	})
}

// answer answers the host.
func (s *swiftCall) answer(ctx context.Context, m *rpc.Message) {
	if !s.over(ctx, m) || s.x.f.offered(m) {
		s.leave()
		return
	}
	s.x.f.crew.run(func() {
		s.x.f.write(context.WithoutCancel(ctx), m)
		s.leave()
	})
}

// over takes the request off the books, and reports whether it is to be answered with m.
func (s *swiftCall) over(ctx context.Context, m *rpc.Message) bool {
	m.ID = s.p.m.ID
	return s.x.f.end(ctx, s.p)
}

// leave gives the request's place to another.
func (s *swiftCall) leave() {
	<-s.x.f.slots
	s.x.f.crew.wg.Done()
}
