package exchange

import (
	"encoding/json"
	"testing"
)

func TestStateOpensForItsRequestOnly(t *testing.T) {
	s, err := newSealer()
	if err != nil {
		t.Fatal(err)
	}
	other, err := newSealer()
	if err != nil {
		t.Fatal(err)
	}
	const params = `{"name":"a","arguments":{"x":1,"y":2}}`
	sealed, err := s.seal(stateBinding("ann", "tools/call", json.RawMessage(params)), returnState{Kind: stateServer, Server: "s", Value: json.RawMessage(`"v"`)})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, principal, method, params string
		sealer                          *sealer
		opens                           bool
	}{
		{"the same", "ann", "tools/call", params, s, true},
		{"with what a retry adds", "ann", "tools/call", `{"_meta":{"a":1},"arguments":{"y":2,"x":1},"name":"a","requestState":"z","inputResponses":{}}`, s, true},
		{"another principal", "bob", "tools/call", params, s, false},
		{"another method", "ann", "prompts/get", params, s, false},
		{"other arguments", "ann", "tools/call", `{"name":"a","arguments":{"x":1,"y":3}}`, s, false},
		{"another process", "ann", "tools/call", params, other, false},
		{"parts moved", "annt", "ools/call", params, s, false},
	} {
		got, err := c.sealer.open(stateBinding(c.principal, c.method, json.RawMessage(c.params)), sealed)
		if opens := err == nil; opens != c.opens || opens && string(got.Value) != `"v"` {
			t.Errorf("%s: %v, %v", c.name, got, err)
		}
	}
}

func FuzzStateOpen(f *testing.F) {
	s, err := newSealer()
	if err != nil {
		f.Fatal(err)
	}
	binding := stateBinding("ann", "tools/call", nil)
	sealed, err := s.seal(binding, returnState{Kind: stateHeld, Value: json.RawMessage(`"x"`)})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sealed)
	f.Add(sealPrefix)
	f.Add("weir1.ABC")
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := s.open(binding, text); err == nil && text != sealed {
			t.Errorf("%q opens", text)
		}
	})
}
