package guard

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/hosterror"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/session"
)

// Callers that put approval requests to a person, and questions of servers to a host, share the loops of this file.

// Approved decides, has a person asked if policy wants that, and decides again if the person has accepted. The second decision may
// ask too, if something has changed that the acceptance is bound to; it is final. ask reports whether the request was accepted.
func Approved[D interface{ request() *Question }](decide func() D, ask func(*Question) bool) D {
	d := decide()
	if q := d.request(); q != nil && ask(q) {
		return decide()
	}
	return d
}

// PermitReplies decides on the answers with which a host of 2026-07-28 sends the call again. It returns the call's params with the
// answers as they may go, and the verdict on the first that may not go, or an allow.
func (c *Call) PermitReplies(permit func(reply *Call) Verdict) (json.RawMessage, Verdict) {
	params := c.Params
	if responses, ok := rawjson.Get(params, "inputResponses"); ok && rawjson.Kind(responses) != '{' {
		return nil, Denied(fmt.Errorf("answers to server %s: not an object", c.Server))
	}
	for _, r := range InputResponses(params) {
		v := permit(c.Inquiry(r.Method, nil).Reply(r.Answer))
		if !v.Allowed() {
			return nil, v
		}
		if bytes.Equal(v.Params, r.Answer) {
			continue
		}
		var err error
		if params, err = rawjson.Set(params, v.Params, "inputResponses", r.Name); err != nil {
			return nil, Denied(fmt.Errorf("answers to server %s: %w", c.Server, err))
		}
	}
	return params, Verdict{Effect: policy.Allow}
}

// AdmitQuestions decides on the questions in a result of the call's server. It returns the outcome of the first that may not reach the
// host, or an allow.
func (c *Call) AdmitQuestions(result json.RawMessage, admit func(inquiry *Call) Outcome) Outcome {
	for _, q := range InputRequests(result) {
		if o := admit(c.Inquiry(q.Method, q.Params)); !o.Allowed() {
			return o
		}
	}
	return Outcome{Effect: policy.Allow}
}

// ErrSeveralSessions says that a request of a server may belong to any of several agent sessions.
var ErrSeveralSessions = hosterror.New("several agent sessions could be meant, and nothing says which")

// Pair returns the call to which a request of a server belongs, and its index among the calls in flight at that server, which stand
// oldest first: the newest, as long as all of them are of one agent session. Without a call in flight the request belongs to a call
// of only, the one agent session that has used the server, and the index is -1; of several sessions only returns false.
func Pair(inFlight []*Call, only func() (session.Ref, bool), idle Call) (*Call, int, error) {
	for _, other := range inFlight {
		if other.Session != inFlight[0].Session {
			return nil, 0, ErrSeveralSessions
		}
	}
	if n := len(inFlight) - 1; n >= 0 {
		return inFlight[n], n, nil
	}
	ref, ok := only()
	if !ok {
		return nil, 0, ErrSeveralSessions
	}
	idle.Session, idle.Effective = ref, contract.Pessimistic()
	return &idle, -1, nil
}
