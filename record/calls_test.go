package record_test

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/record"
)

func TestCallsOf(t *testing.T) {
	for body, want := range map[string]int64{
		`{"calls":3}`: 3, `{"v":1,"calls":0}`: 0, `{"v":1,"calls":-1}`: -1, `{"message":"x","calls":12}`: 12,
	} {
		if n, ok := record.CallsOf([]byte(body)); !ok || n != want {
			t.Errorf("%s: %d, %v", body, n, ok)
		}
	}
	for _, body := range []string{
		``, `{}`, `}`, `"calls":5}`, `{"calls":"5"}`, `{"calls":5.5}`, `{"a":{"calls":5}}`, `{"recalls":5}`, `{"message":",\"calls\":5"}`,
		`{"calls":5,"v":1}`, `{"calls":99999999999999999999}`,
	} {
		if n, ok := record.CallsOf([]byte(body)); ok {
			t.Errorf("%s: %d", body, n)
		}
	}
	for _, body := range []string{``, `{`, `[]`, `null`} {
		if told, ok := record.WithCalls([]byte(body), 1); ok {
			t.Errorf("%q becomes %q", body, told)
		}
	}
}

// No text in an event tells of calls, and what is told is read back, beside all else.
func TestCallsOfAnyEvent(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		part := rapid.SampledFrom([]string{`"`, `\`, `,`, `{`, `}`, `:`, `calls`, `"calls":7`, `,"calls":7}`, `5`, ` `})
		text := rapid.StringOf(rapid.SampledFrom([]rune(`",\{}:5calls `)))
		e := record.Event{Message: text.Draw(rt, "message") + part.Draw(rt, "part"), Binding: text.Draw(rt, "binding") + part.Draw(rt, "end")}
		body, err := json.Marshal(e)
		if err != nil {
			rt.Fatal(err)
		}
		if n, ok := record.CallsOf(body); ok {
			rt.Fatalf("%s tells of %d calls", body, n)
		}
		want := rapid.Int64().Draw(rt, "calls")
		told, ok := record.WithCalls(body, want)
		var back record.Event
		if err := json.Unmarshal(told, &back); !ok || err != nil || back.Message != e.Message || back.Binding != e.Binding {
			rt.Fatalf("%s: %v", told, err)
		}
		if n, ok := record.CallsOf(told); !ok || n != want {
			rt.Fatalf("%s tells of %d calls, want %d", told, n, want)
		}
	})
}
