package guard_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/detect"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
)

// A message outside of calls is searched as a result is. Its label and its alert enter each session with its next call,
// once: an alert that a person has answered does not come back.
func TestMessagesOutsideOfCallsAreHeard(t *testing.T) {
	f := newFixture(t, searching(guard.Detection{Detector: detect.New()}))
	message := json.RawMessage(`{"level":"info","data":"` + order + ` Key: ` + foundKey + `"}`)
	var heard guard.Heard
	heard.Join(f.g.Hear("srv", contract.Trusted, nil, message))
	next := func() *guard.Call {
		c := noteCall()
		c.Context = heard.Label()
		return c
	}
	v := f.g.Before(t.Context(), next())
	if v.Effect != policy.Ask || !strings.Contains(strings.Join(v.Question.Alerts, " "), "a message of mcp://srv/#messages") {
		t.Fatalf("the next effect is %v: %+v", v.Effect, v.Question)
	}
	if l := f.label(t); !l.Untrusted || !l.Sensitivity.Has(label.Credentials) || !l.Attribution.Has("mcp://srv/#messages") {
		t.Errorf("the session is %+v", l)
	}
	f.accepted[v.Question.Binding] = true
	for range 2 { // the one that was accepted, and one after it
		if v = f.g.Before(t.Context(), next()); v.Question != nil && len(v.Question.Alerts) > 0 {
			t.Errorf("after the answer: %+v", v.Question)
		}
	}
	heard.Join(f.g.Hear("srv", contract.Trusted, nil, message))
	if v = f.g.Before(t.Context(), next()); v.Question == nil || len(v.Question.Alerts) != 1 {
		t.Errorf("after another message: %+v", v)
	}
}

// However many messages speak to the agent, few alerts are kept, and the last is among them.
func TestHeardAlertsAreBounded(t *testing.T) {
	f := newFixture(t, searching(guard.Detection{Detector: detect.New()}))
	var heard guard.Heard
	var last []string
	for i := range 40 {
		l := f.g.Hear(fmt.Sprint("srv", i), contract.Trusted, nil, json.RawMessage(`"`+order+`"`))
		heard.Join(l)
		last = l.Findings.Slice()
	}
	if all := heard.Label().Findings.Slice(); len(all) > 16 || len(last) != 1 || !slices.Contains(all, last[0]) {
		t.Errorf("kept %d: %q", len(all), all)
	}
}

// A message without findings has the label of a message.
func TestPlainMessagesAreMessages(t *testing.T) {
	f := newFixture(t, searching(guard.Detection{Detector: detect.New()}))
	for _, trust := range []contract.Trust{contract.Trusted, contract.Known, contract.Untrusted} {
		if got, want := f.g.Hear("srv", trust, nil, json.RawMessage(`{"data":"ready"}`)), guard.Messages("srv", trust); !got.Covers(want) || !want.Covers(got) {
			t.Errorf("%v: %+v", trust, got)
		}
	}
}
