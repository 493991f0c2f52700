package exchange

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/weir-mcp/weir/internal/hosterror"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/internal/upstream"
)

var errChanged = hosterror.New("its server describes it in another way now")

// sendOrRepeat sends the request to its server, and once more if the server dies before it answers and the guard lets the call go out
// twice. The time for the answer is that of one call.
func (x *exchange) sendOrRepeat(ctx context.Context, params json.RawMessage, asked bool) (*rpc.Message, error) {
	answer, err := x.send(ctx, params, 0)
	if err == nil || asked || x.out == nil || ctx.Err() != nil || !upstream.IsLost(err) || x.out.Heard() {
		return answer, err
	}
	lost := x.out
	bounded, cancel := context.WithTimeout(ctx, lost.Left())
	defer cancel()
	if why := x.repeatable(bounded); why != nil {
		x.f.Engine.Log.Debug("a call is not repeated", "server", x.route.call.Server, "why", why)
		return nil, err
	}
	left := lost.Left()
	if left <= 0 {
		return nil, err
	}
	e := x.event(eventRepeated, err)
	if recording := x.f.Engine.State.Record(ctx, e); recording != nil {
		x.f.Engine.Log.Error("recording", "error", recording)
		return nil, err
	}
	return x.send(ctx, params, left)
}

// repeatable connects to the server again, and asks the guard about the call as it is routed now.
func (x *exchange) repeatable(ctx context.Context) error {
	call := x.route.call
	if _, err := x.route.link.Connection(ctx); err != nil {
		return err
	}
	now, rerr := x.f.route(ctx, &rpc.Message{ID: x.m.ID, Method: call.Method, Params: call.Params, Odd: true}, x.route.set)
	if rerr != nil {
		return rerr
	}
	if now.link != x.route.link || now.rename != x.route.rename || now.resolvable != x.route.resolvable || !bytes.Equal(now.tool, x.route.tool) {
		return errChanged
	}
	if err := x.f.Engine.holdEnded(ctx, now.call); err != nil {
		return err
	}
	var err error
	if now.call.Context, err = shown(ctx, x.f, now.set, now.call); err != nil {
		return err
	}
	return x.admission.Repeat(ctx, now.call)
}
