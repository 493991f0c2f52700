package guard_test

import (
	"encoding/json"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/session"
)

func TestApproved(t *testing.T) {
	asks := guard.Verdict{Effect: policy.Ask, Question: &guard.Question{Binding: "b"}}
	allows := guard.Verdict{Effect: policy.Allow}
	for _, c := range []struct {
		name      string
		decisions []guard.Verdict
		yes       bool
		asked     int
		want      policy.Effect
	}{
		{"an allow asks nobody", []guard.Verdict{allows}, true, 0, policy.Allow},
		{"a denial asks nobody", []guard.Verdict{{}}, true, 0, policy.Block},
		{"an accepted request is decided again", []guard.Verdict{asks, allows}, true, 1, policy.Allow},
		{"a request that is not accepted stays open", []guard.Verdict{asks, allows}, false, 1, policy.Ask},
		{"the second decision is final", []guard.Verdict{asks, asks, allows}, true, 1, policy.Ask},
		{"an acceptance overrules no denial", []guard.Verdict{asks, {}}, true, 1, policy.Block},
	} {
		made, asked := 0, 0
		v := guard.Approved(func() guard.Verdict { made++; return c.decisions[made-1] },
			func(q *guard.Question) bool { asked++; return c.yes && q.Binding == "b" })
		if v.Effect != c.want || asked != c.asked {
			t.Errorf("%s: %v after %d requests, want %v after %d", c.name, v.Effect, asked, c.want, c.asked)
		}
	}
}

func TestPair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b"}), 0, 4).Draw(t, "sessions in flight")
		known := rapid.Bool().Draw(t, "one session has used the server")
		var calls []*guard.Call
		same := true
		for _, k := range keys {
			calls = append(calls, &guard.Call{Session: session.Ref{Key: k}})
			same = same && k == keys[0]
		}
		call, i, err := guard.Pair(calls, func() (session.Ref, bool) { return session.Ref{Key: "only"}, known }, guard.Call{Server: "s"})
		switch {
		case !same || len(calls) == 0 && !known:
			if !errors.Is(err, guard.ErrSeveralSessions) || call != nil {
				t.Fatalf("%v, %v: the request has no certain session", call, err)
			}
		case len(calls) > 0:
			if err != nil || i != len(calls)-1 || call != calls[i] {
				t.Fatalf("%v, %d, %v: want the newest call", call, i, err)
			}
		default:
			if err != nil || i != -1 || call.Session.Key != "only" || call.Server != "s" || !call.Effective.Destinations.Has("public") {
				t.Fatalf("%+v, %d, %v: want a call of the only session that may do anything", call, i, err)
			}
		}
	})
}

func TestRepliesAndQuestionsStopAtTheFirstDenial(t *testing.T) {
	c := call("ask", fetchPage, `{"inputResponses":{"a":{"action":"accept"},"b":{"roots":[]}},"name":"ask"}`)
	for denied, want := range map[string]bool{"": true, guard.Elicitation: false, guard.Roots: false} {
		params, v := c.PermitReplies(func(reply *guard.Call) guard.Verdict {
			if reply.Method == denied {
				return guard.Verdict{}
			}
			return guard.Verdict{Effect: policy.Allow, Params: json.RawMessage(`{"method":"` + reply.Method + `"}`)}
		})
		if v.Allowed() != want {
			t.Errorf("%q denied: %v", denied, v.Effect)
		}
		if whole := `{"inputResponses":{"a":{"method":"elicitation/create"},"b":{"method":"roots/list"}},"name":"ask"}`; want && string(params) != whole ||
			!want && params != nil {
			t.Errorf("%q denied: params %s", denied, params)
		}
	}
	result := json.RawMessage(`{"inputRequests":{"a":{"method":"elicitation/create"},"b":{"method":"roots/list"}}}`)
	for denied, want := range map[string]bool{"": true, guard.Elicitation: false, guard.Roots: false} {
		o := c.AdmitQuestions(result, func(inquiry *guard.Call) guard.Outcome {
			if inquiry.Method == denied {
				return guard.Outcome{}
			}
			return guard.Outcome{Effect: policy.Allow}
		})
		if o.Allowed() != want {
			t.Errorf("%q denied: %v", denied, o.Effect)
		}
	}
}
