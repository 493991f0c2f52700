package streamable

import (
	"bytes"
	"context"
	"crypto/rand"
	"net/http"
	"time"

	"github.com/weir-mcp/weir/internal/rpc"
)

// noSession refuses a request that names no session of its principal. The text must be plain: see the package
// comment.
func noSession() *refusal { return &refusal{status: http.StatusNotFound, text: "no such session"} }

// open begins a session with its first message.
func (h *Handler) open(w http.ResponseWriter, r *http.Request, m *rpc.Message) *refusal {
	if m.Method != "initialize" || !m.IsRequest() {
		return invalid(m, rpc.InvalidRequest, "header "+sessionHeader+" is missing")
	}
	s, f := h.newSession(r, rand.Text(), m)
	if f != nil {
		return f
	}
	defer s.pause()
	box := s.await(m.ID)
	defer box.release()
	if s.accept(r.Context(), m) != nil {
		s.end()
		return nil
	}
	a := h.answer(w, r)
	a.sessionID = s.id
	if last, err := a.run(r.Context(), box); err != nil || last.failed {
		s.end() // the client has no use for it, or does not know its id
	}
	return nil
}

// newSession enters a session that m opens into the books and starts to serve it. The caller holds it active.
func (h *Handler) newSession(r *http.Request, id string, m *rpc.Message) (*session, *refusal) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	s := &session{
		id:        id,
		principal: bearer(r.Context()),
		idle:      h.opts.IdleTimeout,
		maxBody:   h.opts.MaxBody,
		bytes:     h.opts.Budget.Bytes,
		cancel:    cancel,
		in:        make(chan *rpc.Message, inboxSize),
		done:      make(chan struct{}),
		waiting:   map[string]*outbox{},
		standing:  newOutbox(h.opts.MaxBody, h.opts.Budget.Bytes),
		active:    1,
		last:      time.Now(),
	}
	if len(m.Params) <= maxOpening {
		s.opening = rpc.NewRequest(wakingID, m.Method, bytes.Clone(m.Params))
	}
	s.forget = func(dormant bool) { h.forget(s, dormant) }
	s.expiry = time.AfterFunc(time.Hour, s.expire)
	s.expiry.Stop()
	conn := InfoOf(r)
	conn.Header, conn.SessionID = conn.Header.Clone(), s.id
	if s.lease = h.roomForSession(s.principal); s.lease == nil {
		cancel()
		return nil, unavailable("too many sessions")
	}
	if f := h.enroll(s); f != nil {
		cancel()
		s.lease.Release()
		return nil, f
	}
	go func() {
		defer h.running.Done()
		h.serve(ctx, conn, s)
		s.end()
	}()
	return s, nil
}

// session finds the session that r names, and wakes it if it sleeps. The caller must pause it.
func (h *Handler) session(r *http.Request) (*session, *refusal) {
	s, box, f := h.find(r)
	if box == nil {
		return s, f
	}
	defer box.release()
	if p, err := box.answer(r.Context()); err != nil || p.failed {
		s.end()
		s.pause()
		return nil, noSession()
	}
	return s, nil
}

// find finds the session that r names. If it slept it was opened again, under its id and with the same initialize,
// whose answer will be in the outbox. The caller must pause it.
func (h *Handler) find(r *http.Request) (*session, *outbox, *refusal) {
	id, by := r.Header.Get(sessionHeader), bearer(r.Context())
	h.waking.Lock()
	defer h.waking.Unlock()
	s, d := h.look(id, by)
	if d == nil {
		if s == nil || s.principal != by || !s.resume() {
			return nil, nil, noSession()
		}
		return s, nil, nil
	}
	s, f := h.newSession(r, d.id, d.opening)
	if f != nil {
		h.putBack(d)
		return nil, nil, f
	}
	box := s.await(wakingID)
	s.in <- d.opening // there is room: nobody else has the session yet
	return s, box, nil
}

// deliver hands m to a session, and to the client the session's answer.
func (h *Handler) deliver(w http.ResponseWriter, r *http.Request, s *session, m *rpc.Message) *refusal {
	if !m.IsRequest() {
		if s.accept(r.Context(), m) != nil {
			return noSession()
		}
		w.WriteHeader(http.StatusAccepted)
		return nil
	}
	box := s.await(m.ID)
	if box == nil {
		return invalid(m, rpc.InvalidRequest, "another request with this id is not answered yet")
	}
	defer box.release()
	defer s.abandon(m.ID, box)
	s.accept(r.Context(), m)             // if the session is over, box holds an error
	h.answer(w, r).run(r.Context(), box) // if the client is gone, there is nothing to do
	return nil
}

// stream serves the standing stream.
func (h *Handler) stream(w http.ResponseWriter, r *http.Request) *refusal {
	s, f := h.bodyless(r)
	if f != nil {
		return f
	}
	defer h.running.Done()
	defer s.pause()
	if !accepts(r.Header, "text/event-stream") {
		return &refusal{status: http.StatusNotAcceptable, text: "Accept must admit text/event-stream"}
	}
	a, box := h.answer(w, r), s.attach()
	defer s.detach()
	// Proxies that speak HTTP/2 hold a header back until there is a body.
	if a.comment("open") == nil {
		a.run(r.Context(), box) // an error is an end
	}
	return nil
}

// delete ends a session.
func (h *Handler) delete(w http.ResponseWriter, r *http.Request) *refusal {
	s, f := h.bodyless(r)
	if f != nil {
		return f
	}
	defer h.running.Done()
	defer s.pause()
	s.end()
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// bodyless finds the session of a GET or DELETE. The caller must pause it and call h.running.Done.
func (h *Handler) bodyless(r *http.Request) (*session, *refusal) {
	version := r.Header.Get(versionHeader)
	if f := h.supported(version, nil); f != nil {
		return nil, f
	}
	if isModern(version) {
		return nil, methodNotAllowed(http.MethodPost)
	}
	if len(r.Header.Values(sessionHeader)) != 1 {
		return nil, &refusal{status: http.StatusBadRequest, text: "header " + sessionHeader + " is missing"}
	}
	if f := h.enter(false); f != nil {
		return nil, f
	}
	s, f := h.session(r)
	if f != nil {
		h.running.Done()
	}
	return s, f
}
