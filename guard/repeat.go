package guard

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/weir-mcp/weir/contract"
)

var errRepeat = errors.New("only a plain read that is decided as before is sent once more")

// Repeat reports by a nil error whether the call may be sent once more to its server, which has died before it
// answered. The decision stays the same, and the same admission accepts the answer. Now is the call as routed once
// the server is back.
//
// Only plain reads are repeated, by the contract of the decision, in which the claims of a server count as far as it is
// trusted. MCP gives idempotentHint no meaning for a tool that changes nothing, so silence is enough there; a stated no
// is not. A call goes out once if it holds hidden values or answers to questions, if the dead process had narrowed its
// contract, if its server describes the tool in another way now, and if it would get another contract, a question or a
// refusal at this moment. Nothing is counted, raised, recorded or redeemed.
func (a *Admission) Repeat(ctx context.Context, now *Call) error {
	if a == nil || a.state.Load() != open || !isRepeatable(a.request) || !isListedAs(a.request, now) {
		return errRepeat
	}
	again, err := a.guard.Resolve(ctx, now)
	switch {
	case err != nil:
		return err
	case !again.Verdict.Allowed() || !again.Contract.Equal(a.request.Effective):
		return errRepeat
	}
	return nil
}

// repeated are the methods whose requests are made again.
var repeated = []string{"tools/call", "prompts/get", "resources/read"}

// isRepeatable reports whether to make a call twice is to make it once.
func isRepeatable(r *request) bool {
	return slices.Contains(repeated, r.Method) && !r.asked && !r.Further && len(r.Uses) == 0 && r.Resolved == nil && r.anything() == "" &&
		r.Effective.ReadOnly == contract.Yes && r.said.Idempotent != contract.No
}

// isListedAs reports whether another call is the same one, of a server that describes it as before.
func isListedAs(r *request, now *Call) bool {
	return now.Session == r.Session && now.Server == r.Server && now.Reached == r.Reached && now.Trust == r.Trust &&
		now.Method == r.Method && now.Name == r.Name && bytes.Equal(now.Params, r.Params) && now.Held == "" && now.Resolved == nil &&
		now.Declared.Equal(r.Declared) && now.Effective.Equal(r.tool) &&
		bytes.Equal(now.Schema, r.Schema) && bytes.Equal(now.Output, r.Output)
}
