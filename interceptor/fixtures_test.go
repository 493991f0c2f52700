package interceptor_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-mcp/weir/interceptor"
	"github.com/weir-mcp/weir/internal/rawjson"
)

// A fixture is one of the working group's: see testdata.
type fixture struct {
	ID           string
	Kind         string
	Interceptors []struct {
		Name, Type, Behavior string
		Events               []string
		Phases               string
		Mode                 interceptor.Mode
		FailOpen             bool
	}
	Steps []struct {
		Op, Event string
		Phase     interceptor.Phase
		Params    json.RawMessage
		Payload   json.RawMessage
		Expect    struct {
			Result       json.RawMessage
			ErrorCode    int
			Decision     string
			FinalPayload json.RawMessage
		}
	}
	Volatile []string
}

func note(in *interceptor.Invocation) (string, bool) {
	raw, _ := rawjson.Get(in.Payload, "arguments", "note")
	return rawjson.String(raw)
}

func needs(ok bool, why string) (interceptor.Verdict, error) {
	if ok {
		return interceptor.Verdict{Valid: true}, nil
	}
	return interceptor.Verdict{Messages: []interceptor.Message{{Message: why, Severity: interceptor.Error}}}, nil
}

// validators are the behaviours of validators in the suite's adapter contract.
var validators = map[string]func(*interceptor.Invocation) (interceptor.Verdict, error){
	"allow-all": func(*interceptor.Invocation) (interceptor.Verdict, error) { return needs(true, "") },
	"deny-all":  func(*interceptor.Invocation) (interceptor.Verdict, error) { return needs(false, "denied by policy") },
	"require-uppercase-note": func(in *interceptor.Invocation) (interceptor.Verdict, error) {
		n, ok := note(in)
		return needs(ok && n == strings.ToUpper(n), "note must be uppercase")
	},
	"crash": func(*interceptor.Invocation) (interceptor.Verdict, error) { panic("crash") },
}

func uppercaseNote(_ context.Context, in *interceptor.Invocation) (interceptor.Change, error) {
	n, ok := note(in)
	if !ok {
		return interceptor.Change{}, nil
	}
	payload, err := rawjson.Set(in.Payload, rawjson.Quote(strings.ToUpper(n)), "arguments", "note")
	return interceptor.Change{Payload: payload}, err
}

func (f *fixture) host(t *testing.T) *interceptor.Host {
	t.Helper()
	var all []interceptor.Interceptor
	for _, i := range f.Interceptors {
		one := interceptor.Interceptor{Descriptor: interceptor.Descriptor{Name: i.Name, Hooks: interceptor.On(i.Events...), Mode: i.Mode, FailOpen: i.FailOpen}}
		if i.Phases != "both" {
			one.Hooks = []interceptor.Hook{{Events: i.Events, Phase: interceptor.Phase(i.Phases)}}
		}
		if behave, ok := validators[i.Behavior]; ok {
			one.Validate = func(_ context.Context, in *interceptor.Invocation) (interceptor.Verdict, error) { return behave(in) }
		} else if i.Behavior == "uppercase-note" {
			one.Mutate = uppercaseNote
		} else {
			t.Fatalf("unknown behaviour %s", i.Behavior)
		}
		all = append(all, one)
	}
	h, err := interceptor.NewHost(all...)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// entries asks a host for its descriptors, as an invoker does.
func entries(t *testing.T, h *interceptor.Host) (all []interceptor.Entry) {
	t.Helper()
	raw, err := h.List(nil)
	if err != nil {
		t.Fatal(err)
	}
	var listed struct{ Interceptors []interceptor.Descriptor }
	if err := json.Unmarshal(raw, &listed); err != nil {
		t.Fatal(err)
	}
	for _, d := range listed.Interceptors {
		all = append(all, interceptor.Entry{Descriptor: d, Invoke: h.Invoke})
	}
	return all
}

// canonical returns a result without volatile members in canonical form.
func canonical(result json.RawMessage, volatile []string) string {
	for _, name := range volatile {
		result = rawjson.Delete(result, name)
	}
	return string(rawjson.JCS(result))
}

// TestFixtures replays the working group's fixtures of the protocol.
func TestFixtures(t *testing.T) {
	text, err := os.ReadFile("testdata/fixtures.json")
	if err != nil {
		t.Fatal(err)
	}
	var fixtures []fixture
	if err := json.Unmarshal(text, &fixtures); err != nil {
		t.Fatal(err)
	}
	fixtures = slices.DeleteFunc(fixtures, func(f fixture) bool { return f.Kind != "protocol" })
	if len(fixtures) != 14 {
		t.Errorf("there are %d fixtures of the protocol, not 14", len(fixtures))
	}
	for _, f := range fixtures {
		t.Run(strings.TrimPrefix(f.ID, "protocol/"), func(t *testing.T) { f.replay(t) })
	}
}

func (f *fixture) replay(t *testing.T) {
	h := f.host(t)
	for i, s := range f.Steps {
		switch s.Op {
		case "list":
			params := json.RawMessage(`{}`)
			if s.Event != "" {
				params = json.RawMessage(`{"event":` + string(rawjson.Quote(s.Event)) + `}`)
			}
			got, err := h.List(params)
			if diff := cmp.Diff(canonical(s.Expect.Result, nil), canonical(got, f.Volatile)); err != nil || diff != "" {
				t.Errorf("step %d: %v (-want +got)\n%s", i, err, diff)
			}
		case "invoke":
			got, err := h.Invoke(t.Context(), s.Params)
			var failed *interceptor.Failure
			if errors.As(err, &failed) || s.Expect.ErrorCode != 0 {
				if failed == nil || failed.Code != s.Expect.ErrorCode {
					t.Errorf("step %d: failed with %v, want the code %d", i, err, s.Expect.ErrorCode)
				}
				continue
			}
			if diff := cmp.Diff(canonical(s.Expect.Result, nil), canonical(got, f.Volatile)); diff != "" {
				t.Errorf("step %d (-want +got)\n%s", i, diff)
			}
		case "apply":
			way := interceptor.Sending
			if s.Phase == interceptor.Response {
				way = interceptor.Receiving
			}
			got := interceptor.NewPlan(entries(t, h), s.Event, s.Phase).Run(t.Context(), way, s.Payload, interceptor.Invocation{})
			if got.Released != (s.Expect.Decision == "allow") {
				t.Errorf("step %d: released is %v, want the decision %s", i, got.Released, s.Expect.Decision)
			}
			if want := s.Expect.FinalPayload; want != nil {
				if diff := cmp.Diff(canonical(want, nil), canonical(got.Payload, nil)); diff != "" {
					t.Errorf("step %d: payload (-want +got)\n%s", i, diff)
				}
			}
		default:
			t.Fatalf("unknown step %s", s.Op)
		}
	}
}
