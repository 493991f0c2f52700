package protocol

import (
	"strings"
	"testing"
)

// TestIntroductionIsShort holds what servers are told of a client to a few hundred bytes of names.
func TestIntroductionIsShort(t *testing.T) {
	long := strings.Repeat("x", maxIntroduced+1)
	for info, want := range map[string]string{
		``:                           ``,
		`7`:                          ``,
		`{"name":"h","version":"1"}`: `{"name":"h","version":"1"}`,
		`{"name":"h","version":"1","x":"secret","icons":[{"src":"data:secret"}],"title":"H"}`: `{"name":"h","title":"H","version":"1"}`,
		`{"name":"` + long + `","version":{"a":"secret"}}`:                                    `{"name":"","version":""}`,
		`{"name" : "a\u0062" ,"version":"1"}`:                                                 `{"name":"ab","version":"1"}`,
	} {
		if got := (&Client{Info: []byte(info)}).Introduction(); string(got) != want {
			t.Errorf("%s: %s, want %s", info, got, want)
		}
	}
}

// TestAbilitiesAreBounded keeps capabilities as they are while they are short.
func TestAbilitiesAreBounded(t *testing.T) {
	short := `{"roots":{"listChanged":true},"extensions":{"a":{}}}`
	long := `{"sampling":{"x":1},"experimental":{"a":"` + strings.Repeat("x", maxAbilities) + `"}}`
	for given, want := range map[string]string{short: short, long: `{"sampling":{}}`} {
		if got := (&Client{Capabilities: []byte(given)}).Abilities(); string(got) != want {
			t.Errorf("%.60s: %.60s, want %s", given, got, want)
		}
	}
}
