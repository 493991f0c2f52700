package gateway

import (
	"context"
	"strconv"
	"sync/atomic"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/gateway/protocol"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/label"
)

// Heard is the label of the text that hosts were sent outside of results and definitions. Where nothing says which agent session
// reads it, it enters each of them with its next call. The zero heard is ready to use.
type heard struct{ by atomic.Pointer[label.Label] }

func (h *heard) label() label.Label {
	if l := h.by.Load(); l != nil {
		return *l
	}
	return label.Label{}
}

// join adds a label.
func (h *heard) join(l label.Label) {
	for {
		was := h.by.Load()
		now := l
		if was != nil {
			if was.Covers(l) {
				return
			}
			now = label.Join(*was, l)
		}
		if h.by.CompareAndSwap(was, &now) {
			return
		}
	}
}

// mayTell reports whether a notification of the server may go to the host, after its text has entered what may read it: the agent
// session of the call that it belongs to, or else every session of the connection. It may tell of any call that is in flight.
func (l *link) mayTell(fl *flight, m *rpc.Message) bool {
	if l.wordless(m) {
		return true
	}
	said := guard.Messages(l.server.Name, l.trust())
	of := []*flight{fl}
	if fl == nil || fl.call == nil {
		l.set.heard.join(said)
		of = l.flights.among(func(fl *flight) bool { return fl.call != nil })
	}
	for _, fl := range of {
		if err := l.set.g.guard.Told(context.Background(), fl.call, said); err != nil {
			l.set.g.log.Error("a message of a server is not passed on", "server", l.server.Name, "method", m.Method, "error", err)
			return false
		}
	}
	return true
}

// wordless reports whether a notification has no text: progress in numbers, or that something has changed which the host knows by
// name. Any member that is not listed here may hold text.
func (l *link) wordless(m *rpc.Message) bool {
	if m.Method != "notifications/progress" && m.Method != updated && changed[m.Method] == nil {
		return false
	}
	for name, value := range rawjson.Members(m.Params) {
		switch {
		case m.Method == "notifications/progress" && name == "progressToken": // is replaced by the host's
		case m.Method == "notifications/progress" && (name == "progress" || name == "total"):
			if _, err := strconv.ParseFloat(string(value), 64); err != nil {
				return false
			}
		case m.Method == updated && name == "uri":
			if uri, _ := rawjson.String(value); !l.watched(uri) {
				return false
			}
		case name == "_meta": // is deleted or replaced if it is only this
			if string(rawjson.Canonical(rawjson.Delete(value, protocol.MetaSubscription))) != "{}" {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// watched reports whether a host has subscribed to just this resource.
func (l *link) watched(uri string) bool {
	l.watches.mu.Lock()
	defer l.watches.mu.Unlock()
	return l.watches.by[uri] != nil
}
