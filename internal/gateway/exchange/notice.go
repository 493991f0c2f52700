package exchange

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/gateway/approve"
	"github.com/weir-mcp/weir/internal/gateway/protocol"
	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
)

// Weir has few things to say of its own to the people at a host: that a question waits for a person, and that a server gave malicious
// content. It says them as log messages and progress, which hosts show to people; a host that asked for neither is told nothing.

// The severities of Weir's own log messages.
const (
	levelAsked   = "notice"
	levelFinding = "warning"
)

// ownLogger is the name of Weir among loggers.
const ownLogger = "weir"

// logsAt reports whether the host wants log messages of this severity with the request.
func (x *request) logsAt(level string) bool {
	least := protocol.MetaString(x.sent.Params, protocol.MetaLogLevel)
	if !x.who.Modern() {
		least = x.route.set.LevelOf(x.f.peer)
	}
	at := slices.Index(protocol.Levels, least)
	return at >= 0 && at <= slices.Index(protocol.Levels, level)
}

// tell logs something at the host, if it wants that. It waits for a host that does not read.
func (x *request) tell(ctx context.Context, level, text string) {
	if !x.logsAt(level) {
		return
	}
	params, err := json.Marshal(map[string]string{"level": level, "logger": ownLogger, "data": text})
	if err == nil {
		x.f.peer.Write(ctx, rpc.NewNotification("notifications/message", params))
	}
}

// tellAsked tells that a question waits, and gives of the call its name alone.
func (x *request) tellAsked(ctx context.Context, q *guard.Question) {
	about := plain.Quote(q.Name, MaxNotice) + " of server " + plain.Text(q.Server, MaxNotice)
	if x.veiled {
		about = "a call of a program"
	}
	x.tell(ctx, levelAsked, "weir: a person is asked about "+about+"; weir approvals shows it")
}

// tellFinding tells of malicious content, and whether the agent gets it.
func (x *request) tellFinding(ctx context.Context, o guard.Outcome, withheld bool) {
	if !o.Label.Malicious {
		return
	}
	place := "is in the agent's context now"
	if withheld {
		place = "was kept from the agent"
	}
	call := x.route.call
	x.tell(ctx, levelFinding, "weir: malicious content "+place+
		"; it came with "+plain.Quote(call.Name, MaxNotice)+" of server "+plain.Text(call.Server, MaxNotice))
}

// waitEvery is how often a host is told that a call waits for a person, so that it does not take it for lost.
const waitEvery = 5 * time.Second

// progressToken returns the token by which the host is told of the progress of the request; nil if it is not. A request that went to its
// server already has the server's own progress, which must not go back (2025-11-25, Progress).
func (x *request) progressToken() json.RawMessage {
	token, ok := rawjson.Get(x.sent.Params, "_meta", "progressToken")
	if !ok || x.route.call.Further {
		return nil
	}
	return token
}

// waits tells the host that its request waits for a person, as progress, until stop is called.
func (x *request) waits(ctx context.Context, p *approve.Pending) (stop func()) {
	token := x.progressToken()
	if token == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		tick := time.NewTicker(waitEvery)
		defer tick.Stop()
		for n := 0; ; n++ {
			x.f.peer.Write(ctx, rpc.NewNotification("notifications/progress", waitParams(token, p.ID, n)))
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}()
	return func() {
		cancel()
		<-over
	}
}

// waitParams is the n-th progress of a request that waits: far below all that a server may make of it.
func waitParams(token json.RawMessage, id string, n int) json.RawMessage {
	params := []byte(`{"progressToken":`)
	params = append(append(params, token...), `,"progress":`...)
	params = strconv.AppendFloat(params, float64(n)/1e9, 'f', -1, 64)
	return append(append(append(params, `,"message":`...), rawjson.Quote("waiting for approval: "+approve.Command(id))...), '}')
}
