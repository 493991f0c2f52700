package agentsession

import (
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/weir-mcp/weir/internal/gateway/protocol"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/session"
)

// maxName bounds the name of a client, in bytes.
const maxName = 128

// A Tracker finds the agent sessions of the requests of one host connection, and remembers which these were: a request
// of a server outside of any call belongs to one of them.
type Tracker struct {
	Host
	log    *slog.Logger
	latest *atomic.Pointer[string] // key of the agent session of the last request on stdio

	first   atomic.Pointer[session.Ref]
	several atomic.Bool

	mu     sync.Mutex
	client *protocol.Client // the client of the handshake; nil before it and in 2026-07-28
	name   *string          // of the client; nil before a request needs it
}

// New returns a tracker for the connection of a host. It keeps the key of the last agent session on stdio in latest.
func New(h Host, latest *atomic.Pointer[string], log *slog.Logger) *Tracker {
	return &Tracker{Host: h, latest: latest, log: log}
}

// Shake says which client has made a handshake; nil if it came to nothing.
func (t *Tracker) Shake(c *protocol.Client) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.client = c
}

// Handshake returns the client of the handshake; nil if there was none.
func (t *Tracker) Handshake() *protocol.Client {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.client
}

// ClientName returns how the client of the connection calls itself: in the handshake, or in its first request that the
// servers are asked about. It stays, so that no later request belongs to another session.
func (t *Tracker) ClientName(params json.RawMessage) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.name != nil {
		return *t.name
	}
	info, _ := rawjson.Get(params, "_meta", protocol.MetaClientInfo)
	_, modern := rawjson.Get(params, "_meta", protocol.MetaVersion)
	switch {
	case !modern && t.client == nil:
		return ""
	case !modern:
		info = t.client.Info
	}
	raw, _ := rawjson.Get(info, "name")
	name, _ := rawjson.String(raw)
	name = strings.ToValidUTF8(name[:min(len(name), maxName)], "")
	t.name = &name
	return name
}

// Of returns the agent session of a request with these params.
func (t *Tracker) Of(params json.RawMessage) (session.Ref, *rpc.Error) {
	ref, err := t.sessionRef(params, t.ClientName(params))
	if err != nil {
		var said *rpc.Error
		if !errors.As(err, &said) {
			t.log.Error("finding the agent session of a request", "error", err, "hint", "remove that file, then run weir session new")
			said = rpc.Errorf(rpc.InternalError, "which agent session the request belongs to is not known: weir's own log says why")
		}
		return ref, said
	}
	if last := t.latest.Load(); t.Local != nil && (last == nil || *last != ref.Key) {
		t.latest.Store(&ref.Key)
	}
	first := t.first.Load()
	if first == nil {
		only := ref
		if isolated, _ := Isolated(params); isolated {
			only.Parent = "" // a question of a server does not join an isolated session into its parent
		}
		t.first.CompareAndSwap(nil, &only)
		first = t.first.Load()
	}
	if first.Key != ref.Key {
		t.several.Store(true)
	}
	return ref, nil
}

// Only returns the agent session that all requests so far belonged to; if there were none, the connection's own.
func (t *Tracker) Only() (session.Ref, bool) {
	if first := t.first.Load(); first != nil {
		return *first, !t.several.Load()
	}
	ref, err := t.sessionRef(nil, t.ClientName(nil))
	return ref, err == nil
}

// Unsure reports whether the connection may be of a conversation which is not known yet, with a label of its own: its
// session is of a place alone, and no request has come so far, or the host names conversations in calls only.
func (t *Tracker) Unsure() bool {
	ref, _ := t.Only()
	return !NamesConversation(ref.Key) && (t.first.Load() == nil || namesInCalls(ref.Key))
}

// Beside returns the key of the session whose label counts in that of a request too; "" for none.
func (t *Tracker) Beside(key string) (string, error) { return t.Host.beside(key, t.ClientName(nil)) }
