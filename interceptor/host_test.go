package interceptor_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/weir-mcp/weir/interceptor"
	"github.com/weir-mcp/weir/internal/rawjson"
)

// TestFailures has a host answer requests that it cannot take with the draft's errors (Single-invocation errors).
func TestFailures(t *testing.T) {
	h, err := interceptor.NewHost(interceptor.Interceptor{
		Descriptor: interceptor.Descriptor{Name: "v", Hooks: []interceptor.Hook{{Events: []string{"tools/call"}, Phase: interceptor.Request}}},
		Validate: func(ctx context.Context, in *interceptor.Invocation) (interceptor.Verdict, error) {
			if in.Timeout > 0 {
				<-ctx.Done()
			}
			return interceptor.Verdict{Valid: true}, errors.New("no store")
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		params, member, value string // a member of error.data, and its value
		code                  int
	}{
		{`[]`, "", "", interceptor.CodeParams},
		{`{"name":"v","event":"tools/call","phase":"request"}`, "", "", interceptor.CodeParams},
		{`{"name":"v","event":"tools/call","phase":"both","payload":{}}`, "", "", interceptor.CodeParams},
		{`{"name":"v","event":"tools/call","phase":"request","payload":{},"config":[]}`, "", "", interceptor.CodeParams},
		{`{"name":"v","event":"tools/call","phase":"request","payload":{},"context":1}`, "", "", interceptor.CodeParams},
		{`{"name":"v","event":"tools/call","phase":"request","payload":{},"timeoutMs":0}`, "", "", interceptor.CodeParams},
		{`{"name":"v","event":"tools/call","phase":"request","payload":{},"timeoutMs":1.5}`, "", "", interceptor.CodeParams},
		{`{"name":"v","event":"tools/call","phase":"request","payload":{"a":1,"a":2}}`, "", "", interceptor.CodeParams},
		{`{"name":"w","event":"tools/call","phase":"request","payload":{}}`, "name", `"w"`, interceptor.CodeParams},
		{`{"name":"v","event":"tools/call","phase":"response","payload":{}}`, "advertisedHooks", `[{"events":["tools/call"],"phase":"request"}]`, interceptor.CodeParams},
		{`{"name":"v","event":"initialize","phase":"request","payload":{}}`, "event", `"initialize"`, interceptor.CodeParams},
		{`{"name":"v","event":"tools/call","phase":"request","payload":{}}`, "reason", `"no store"`, interceptor.CodeInternal},
		{`{"name":"v","event":"tools/call","phase":"request","payload":{},"timeoutMs":1}`, "reason", `"timeout"`, interceptor.CodeInternal},
	} {
		result, err := h.Invoke(t.Context(), json.RawMessage(c.params))
		var failed *interceptor.Failure
		if !errors.As(err, &failed) || failed.Code != c.code || result != nil {
			t.Errorf("%s: %s, %v, want the code %d", c.params, result, err, c.code)
			continue
		}
		if got, _ := rawjson.Get(failed.Data, c.member); c.member != "" && string(got) != c.value {
			t.Errorf("%s: the data is %s, want %s as %s", c.params, failed.Data, c.value, c.member)
		}
	}
	for _, params := range []string{`{"event":"*"}`, `{"event":"tools/*"}`, `{"event":""}`, `{"event":1}`, `[]`} {
		if _, err := h.List(json.RawMessage(params)); err == nil {
			t.Errorf("%s is listed", params)
		}
	}
}

// FuzzInvoke holds that no params make a host panic, or answer with anything but JSON.
func FuzzInvoke(f *testing.F) {
	f.Add([]byte(`{"name":"m","event":"tools/call","phase":"request","payload":{"<":1},"config":{},"context":{"principal":{"type":"user"}}}`))
	h, err := interceptor.NewHost(interceptor.Interceptor{
		Descriptor: interceptor.Descriptor{Name: "m", Hooks: interceptor.On("*")},
		Mutate: func(context.Context, *interceptor.Invocation) (interceptor.Change, error) {
			return interceptor.Change{}, nil
		},
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, params []byte) {
		result, err := h.Invoke(t.Context(), params)
		if err != nil {
			return
		}
		sent, _ := rawjson.Get(params, "payload")
		if got, ok := rawjson.Get(result, "payload"); !ok || string(rawjson.Canonical(got)) != string(rawjson.Canonical(sent)) {
			t.Errorf("the payload %s came back as %s", sent, got)
		}
	})
}

func Example() {
	h, err := interceptor.NewHost(interceptor.Interceptor{
		Descriptor: interceptor.Descriptor{Name: "needs-a-note", Hooks: interceptor.On("tools/call")},
		Validate: func(_ context.Context, in *interceptor.Invocation) (interceptor.Verdict, error) {
			var call struct {
				Params struct{ Arguments struct{ Note string } }
			}
			err := json.Unmarshal(in.Payload, &call)
			return interceptor.Verdict{Valid: call.Params.Arguments.Note != ""}, err
		},
	})
	if err != nil {
		panic(err)
	}
	entry := interceptor.Entry{Invoke: h.Invoke, Descriptor: interceptor.Descriptor{ // as its list has it
		Name: "needs-a-note", Type: interceptor.Validation, Hooks: interceptor.On("tools/call"),
	}}
	plan := interceptor.NewPlan([]interceptor.Entry{entry}, "tools/call", interceptor.Request)
	for _, arguments := range []string{`{"note":"hi"}`, `{}`} {
		call := json.RawMessage(`{"method":"tools/call","params":{"name":"echo","arguments":` + arguments + `}}`)
		fmt.Println(plan.Run(context.Background(), interceptor.Sending, call, interceptor.Invocation{}).Released)
	}
	// Output:
	// true
	// false
}
