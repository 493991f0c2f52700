package exchange

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/weir-mcp/weir/internal/hosterror"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/internal/upstream"
	"github.com/weir-mcp/weir/record"
)

var errChanged = hosterror.New("its server describes it in another way now")

// sendOrRepeat sends a request to its server, and once more if the server dies before it answers and the guard lets the
// call go out twice. The server has the time of one call for both.
func sendOrRepeat(ctx context.Context, x *exchange, params json.RawMessage) (*rpc.Message, error) {
	answer, err := x.send(ctx, params, 0)
	lost := x.out
	if err == nil || lost == nil || ctx.Err() != nil || !upstream.IsLost(err) || lost.Heard() {
		return answer, err
	}
	bounded, cancel := context.WithTimeout(ctx, lost.Left())
	defer cancel()
	if why := routeAnew(bounded, x); why != nil {
		x.f.Engine.Log.Debug("a call is not repeated", "server", x.route.call.Server, "why", why)
		return nil, err
	}
	left := lost.Left()
	if left <= 0 {
		return nil, err
	}
	if recording := x.f.Engine.State.Record(ctx, newEvent(x, eventRepeated, err)); recording != nil {
		x.f.Engine.Log.Error("recording", "error", recording)
		return nil, err
	}
	return x.send(ctx, params, left)
}

// routeAnew connects to the server again, and asks the guard about the call as it is routed now. It returns the reason
// why the call must not be repeated.
func routeAnew(ctx context.Context, x *exchange) error {
	was, call := x.route, x.route.call
	if _, err := was.link.Connection(ctx); err != nil {
		return err
	}
	now, rerr := x.f.route(ctx, &rpc.Message{ID: x.m.ID, Method: call.Method, Params: call.Params, Odd: true}, was.set)
	if rerr != nil {
		return rerr
	}
	if now.link != was.link || now.rename != was.rename || now.resolvable != was.resolvable || !bytes.Equal(now.tool, was.tool) {
		return errChanged
	}
	err := x.f.Engine.holdEnded(ctx, now.call)
	if err == nil {
		now.call.Context, err = shown(ctx, x.f, now.set, now.call)
	}
	if err != nil {
		return err
	}
	return x.admission.Repeat(ctx, now.call)
}

// Effects of the events of a call whose server gave no answer.
const (
	eventUnanswered = "unanswered" // for good
	eventRepeated   = "repeated"   // and gets the call once more
)

// newEvent returns the event of an error that a request got in place of an answer.
func newEvent(x *exchange, effect string, err error) *record.Event {
	e, call := record.New(record.Upstream, time.Now()), x.route.call
	e.Session, e.Call, e.Server, e.Method, e.Name = call.Session.Key, call.ID, call.Server, call.Method, call.Name
	e.Effect, e.Message = effect, fmt.Sprintf("%.1000q", err.Error())
	return e
}
