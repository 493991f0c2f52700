package interceptor_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	diff "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/interceptor"
)

// fake is an interceptor of a host that a test plays: which result it has, and how it is declared.
type fake struct {
	name     string
	mutates  bool
	audit    bool
	failOpen bool
	priority int32
	answer   string // "ok", "warn", "refuse", "fail"
}

func (f fake) entry(heard *[]string) interceptor.Entry {
	e := interceptor.Entry{Descriptor: interceptor.Descriptor{
		Name: f.name, Type: interceptor.Validation, Hooks: interceptor.On("tools/call"), FailOpen: f.failOpen,
		Priority: interceptor.Priority{Request: f.priority, Response: -f.priority},
	}}
	if f.audit {
		e.Mode = interceptor.Audit
	}
	if f.mutates {
		e.Type = interceptor.Mutation
	}
	e.Invoke = func(_ context.Context, params json.RawMessage) (json.RawMessage, error) {
		var in interceptor.Invocation
		if err := json.Unmarshal(params, &in); err != nil {
			return nil, err
		}
		if f.mutates {
			*heard = append(*heard, f.name)
		}
		if f.answer == "fail" {
			return nil, errors.New("connection lost")
		}
		head := fmt.Sprintf(`{"interceptor":%q,"type":%q,"phase":%q,`, in.Name, e.Type, in.Phase)
		switch {
		case f.mutates:
			var steps []string
			if err := json.Unmarshal(in.Payload, &steps); err != nil {
				return nil, err
			}
			payload, err := json.Marshal(append(steps, f.name))
			return json.RawMessage(head + `"modified":true,"payload":` + string(payload) + `}`), err
		case f.answer == "ok":
			return json.RawMessage(head + `"valid":true}`), nil
		case f.answer == "warn":
			return json.RawMessage(head + `"valid":false,"severity":"warn"}`), nil
		}
		return json.RawMessage(head + `"valid":false}`), nil
	}
	return e
}

// TestPlanIsTheDraft holds plans against a model of the execution model, for any set of interceptors.
func TestPlanIsTheDraft(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var fakes []fake
		for range rapid.IntRange(0, 8).Draw(t, "size") {
			fakes = append(fakes, fake{
				name: rapid.SampledFrom([]string{"a", "b", "B", "é", "ab"}).Draw(t, "name"), mutates: rapid.Bool().Draw(t, "mutates"),
				audit: rapid.Bool().Draw(t, "audit"), failOpen: rapid.Bool().Draw(t, "open"),
				priority: rapid.SampledFrom([]int32{0, -1, 1, 1 << 30}).Draw(t, "priority"),
				answer:   rapid.SampledFrom([]string{"ok", "ok", "ok", "warn", "refuse", "fail"}).Draw(t, "answer"),
			})
		}
		phase := rapid.SampledFrom([]interceptor.Phase{interceptor.Request, interceptor.Response}).Draw(t, "phase")
		way := rapid.SampledFrom([]interceptor.Direction{interceptor.Sending, interceptor.Receiving}).Draw(t, "way")
		var heard []string
		var all []interceptor.Entry
		for _, f := range fakes {
			all = append(all, f.entry(&heard))
		}
		got := interceptor.NewPlan(all, "tools/call", phase).Run(context.Background(), way, json.RawMessage(`[]`), interceptor.Invocation{})

		sign := int32(1)
		if phase == interceptor.Response {
			sign = -1
		}
		mutators := slices.DeleteFunc(slices.Clone(fakes), func(f fake) bool { return !f.mutates })
		slices.SortStableFunc(mutators, func(a, b fake) int {
			return cmp.Or(cmp.Compare(sign*a.priority, sign*b.priority), cmp.Compare(a.name, b.name))
		})
		refused, broken := false, false
		for _, f := range fakes {
			refused = refused || !f.mutates && !f.audit && (f.answer == "refuse" || f.answer == "fail" && !f.failOpen)
		}
		var invoked []string
		steps := []string{}
		for _, m := range mutators {
			if broken || way == interceptor.Receiving && refused {
				break
			}
			invoked = append(invoked, m.name)
			broken = m.answer == "fail" && !m.audit && !m.failOpen
			if m.answer != "fail" && !m.audit {
				steps = append(steps, m.name)
			}
		}
		if got.Released == (refused || broken) {
			t.Fatalf("released is %v, with refused %v and broken %v", got.Released, refused, broken)
		}
		if d := diff.Diff(invoked, heard); d != "" {
			t.Fatalf("mutators (-want +got)\n%s", d)
		}
		want, err := json.Marshal(steps)
		if err != nil {
			t.Fatal(err)
		}
		if got.Released && string(got.Payload) != string(want) || !got.Released && got.Payload != nil {
			t.Fatalf("the payload is %s, want %s", got.Payload, want)
		}
	})
}

// TestMalformedResultsBlock tries results that are no answer to their invocation.
func TestMalformedResultsBlock(t *testing.T) {
	const head = `{"interceptor":"v","phase":"request",`
	for _, c := range []struct {
		name   string
		kind   interceptor.Type
		result string
		passes bool
	}{
		{"a good one", interceptor.Validation, head + `"type":"validation","valid":true}`, true},
		{"another name", interceptor.Validation, `{"interceptor":"w","phase":"request","type":"validation","valid":true}`, false},
		{"another phase", interceptor.Validation, `{"interceptor":"v","phase":"response","type":"validation","valid":true}`, false},
		{"another type", interceptor.Validation, head + `"type":"mutation","modified":false,"payload":{}}`, false},
		{"a type that nobody knows", "sink", head + `"type":"sink","valid":true}`, false},
		{"no decision", interceptor.Validation, head + `"type":"validation"}`, false},
		{"a decision in another case", interceptor.Validation, head + `"type":"validation","Valid":true}`, false},
		{"a decision that is no boolean", interceptor.Validation, head + `"type":"validation","valid":"true"}`, false},
		{"two decisions", interceptor.Validation, head + `"type":"validation","valid":false,"valid":true}`, false},
		{"refused without severity", interceptor.Validation, head + `"type":"validation","valid":false}`, false},
		{"refused with an unknown severity", interceptor.Validation, head + `"type":"validation","valid":false,"severity":"fatal"}`, false},
		{"refused with a number", interceptor.Validation, head + `"type":"validation","valid":false,"severity":3}`, false},
		{"refused as a warning", interceptor.Validation, head + `"type":"validation","valid":false,"severity":"warn"}`, true},
		{"accepted with an error", interceptor.Validation, head + `"type":"validation","valid":true,"severity":"error"}`, true},
		{"no JSON", interceptor.Validation, `{`, false},
		{"unmodified, the same", interceptor.Mutation, head + `"type":"mutation","modified":false,"payload":{ }}`, true},
		{"unmodified, another", interceptor.Mutation, head + `"type":"mutation","modified":false,"payload":{"x":1}}`, false},
		{"no payload", interceptor.Mutation, head + `"type":"mutation","modified":true}`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := interceptor.Entry{
				Descriptor: interceptor.Descriptor{Name: "v", Type: c.kind, Hooks: interceptor.On("*")},
				Invoke:     func(context.Context, json.RawMessage) (json.RawMessage, error) { return json.RawMessage(c.result), nil },
			}
			plan := interceptor.NewPlan([]interceptor.Entry{e}, "tools/call", interceptor.Request)
			if got := plan.Run(t.Context(), interceptor.Sending, json.RawMessage(`{}`), interceptor.Invocation{}); got.Released != c.passes {
				t.Errorf("released is %v: %v", got.Released, got.Steps)
			}
		})
	}
}

// TestDeadline has a plan end by the context of its caller, and by the time of one invocation.
func TestDeadline(t *testing.T) {
	var asked atomic.Int32
	waits := func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
		asked.Add(1)
		<-ctx.Done()
		return json.RawMessage(`{"interceptor":"v","phase":"request","type":"validation","valid":true}`), nil
	}
	e := interceptor.Entry{Descriptor: interceptor.Descriptor{Name: "v", Type: interceptor.Validation, Hooks: interceptor.On("*")}, Invoke: waits}
	e.Overrides.Timeout = time.Millisecond
	run := func(ctx context.Context) interceptor.Outcome {
		return interceptor.NewPlan([]interceptor.Entry{e}, "tools/call", interceptor.Request).
			Run(ctx, interceptor.Sending, json.RawMessage(`{}`), interceptor.Invocation{})
	}
	if got := run(t.Context()); got.Released || asked.Load() != 1 {
		t.Errorf("a late answer released the payload: %v", got.Steps)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if got := run(ended); got.Released || asked.Load() != 1 {
		t.Errorf("after the end of the plan %d were invoked: %v", asked.Load(), got.Steps)
	}
	open := true
	e.Overrides.FailOpen = &open
	if got := run(t.Context()); !got.Released {
		t.Errorf("failOpen blocked: %v", got.Steps)
	}
}

// TestHooks tells which events hooks match, and that overrides only narrow them.
func TestHooks(t *testing.T) {
	for _, c := range []struct {
		pattern, event string
		matches        bool
	}{
		{"tools/call", "tools/call", true}, {"tools/call", "tools/list", false}, {"*", "tools/call", true}, {"*", "custom/x", true},
		{"tools/*", "tools/call", true}, {"tools/*", "tools", false}, {"tool*", "tools/call", false}, {"*", "initialize", false},
		{"*", "ping", false}, {"*", "notifications/progress", false}, {"initialize", "initialize", false}, {"", "", false},
	} {
		e := interceptor.Entry{Descriptor: interceptor.Descriptor{Name: "v", Hooks: interceptor.On(c.pattern)}}
		if _, got := interceptor.NewPlan([]interceptor.Entry{e}, c.event, interceptor.Request).Order(); (len(got) == 1) != c.matches {
			t.Errorf("%q matches %q: %v", c.pattern, c.event, !c.matches)
		}
	}
	wide := interceptor.Entry{Descriptor: interceptor.Descriptor{Name: "v", Hooks: interceptor.On("tools/call")}}
	wide.Overrides.Hooks = interceptor.On("*")
	if _, got := interceptor.NewPlan([]interceptor.Entry{wide}, "prompts/get", interceptor.Request).Order(); got != nil {
		t.Error("an override widened the hooks")
	}
}
