package home

import (
	"strings"
	"testing"
)

func TestBaseEnv(t *testing.T) {
	env := Env{Environ: []string{"PATH=/bin", "HOME=/h", "TOKEN=x", "LC_ALL=C", "PATHS=x", "lc_x=x", "odd"}}
	if got := strings.Join(env.BaseEnv(), " "); got != "PATH=/bin HOME=/h LC_ALL=C" {
		t.Errorf("got %q", got)
	}
}

func TestGetenv(t *testing.T) {
	env := Env{Environ: []string{"A=1", "A=2", "B=", "C"}}
	for _, c := range []struct {
		name, value string
		set         bool
	}{{"A", "2", true}, {"B", "", true}, {"C", "", false}, {"D", "", false}} {
		if value, set := env.Getenv(c.name); value != c.value || set != c.set {
			t.Errorf("%s: got %q, %t", c.name, value, set)
		}
	}
}
