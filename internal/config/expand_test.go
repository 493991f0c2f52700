package config_test

import (
	"strings"
	"testing"

	"github.com/weir-mcp/weir/internal/config"
)

func TestExpand(t *testing.T) {
	vars := lookup(map[string]string{"A": "a", "EMPTY": "", "_x1": "x", "REF": "${A}"})
	for _, c := range []struct{ in, want, problem string }{
		{in: "plain", want: "plain"},
		{in: "${A}", want: "a"},
		{in: "${env:A}", want: "a"},
		{in: "-${A}-${_x1}-", want: "-a-x-"},
		{in: "${EMPTY}", want: ""},
		{in: "${EMPTY:-d}", want: "d"},
		{in: "${UNSET:-}", want: ""},
		{in: "${UNSET:-a:-b}", want: "a:-b"},
		{in: "${env:UNSET:-d}", want: "d"},
		{in: "${A:-d}", want: "a"},
		{in: "${REF}", want: "${A}"}, // a value is not expanded again
		{in: "$A $$ $", want: "$A $$ $"},
		{in: "$${A}", want: "${A}"},
		{in: "$${A} ${A}", want: "${A} a"},
		{in: "${UNSET}", problem: "the variable UNSET is not set"},
		{in: "${}", problem: "no variable"},
		{in: "${1A}", problem: "no variable"},
		{in: "${A", problem: "without its }"},
		{in: "${input:key}", problem: "asks the editor"},
		{in: "${workspaceFolder}/x", problem: "known to the editor only"},
		{in: "${userHome}/x", problem: "known to the editor only"},
	} {
		src := "version: 1\nservers: {s: {command: c, args: ['" + c.in + "']}}"
		got, err := config.Load("weir.yaml", []byte(src), config.Options{Lookup: vars})
		switch {
		case c.problem != "":
			if err == nil || !strings.Contains(err.Error(), c.problem) {
				t.Errorf("%q: got %v, want a problem with %q", c.in, err, c.problem)
			}
		case err != nil:
			t.Errorf("%q: %v", c.in, err)
		case got.Servers[0].Args[0] != c.want:
			t.Errorf("%q: got %q, want %q", c.in, got.Servers[0].Args[0], c.want)
		}
	}
}

func TestParseListen(t *testing.T) {
	for _, c := range []struct {
		in, addr string
		open, ok bool
	}{
		{"127.0.0.1:80", "127.0.0.1:80", false, true},
		{":80", "127.0.0.1:80", false, true},
		{"localhost:0", "localhost:0", false, true},
		{"[::1]:80", "[::1]:80", false, true},
		{"0.0.0.0:80", "0.0.0.0:80", true, true},
		{"[::]:80", "[::]:80", true, true},
		{"example.com:80", "example.com:80", true, true},
		{in: "80"}, {in: "127.0.0.1"}, {in: "127.0.0.1:http"}, {in: "127.0.0.1:65536"}, {in: ""}, {in: "a b:80"}, {in: "http://a:80"},
	} {
		addr, open, ok := config.ParseListen(c.in)
		if addr != c.addr || open != c.open || ok != c.ok {
			t.Errorf("%q: got %q, %t, %t", c.in, addr, open, ok)
		}
	}
}
