package kit_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-mcp/weir/internal/kit"
)

// gateway returns the proxy of this test's program with a fault.
func gateway(fault string) kit.Gateway {
	p := program("proxy")
	p.Command = append(p.Command, fault, "{server}")
	return kit.Gateway{Program: p, Relay: []string{"env", "WEIR_KIT_PROGRAM=relay", os.Args[0]}, Timeout: 20 * time.Second, Start: time.Minute}
}

// Each fault of a gateway breaks exactly the checks of the rules that it breaks; a gateway without one breaks none.
func TestFaultyGateways(t *testing.T) {
	for fault, want := range map[string]string{
		"none":                         "",
		"quotes bad answers":           "fault.quoted",
		"forwards every request":       "notification.call reading.request",
		"forwards every result":        "reading.result",
		"forwards notifications":       "notification.call",
		"refuses surrogates":           "request.surrogate result.surrogate reading.plain",
		"makes calls again":            "fault.ended",
		"reads numbers as doubles":     "request.integers request.decimals",
		"drops _meta of requests":      "request.meta",
		"has tokens of its own":        "notification.progress",
		"names the last origins":       "propagation.attribution",
		"keeps the last label":         "propagation.open-world propagation.attribution",
		"passes second answers":        "fault.twice",
		"matches answers by order":     "fault.foreign",
		"has errors of its own":        "result.error result.error-data stateless.metadata stateless.version",
		"resolves to the static hints": "resolve.answer",
		"drops warnings":               "malicious.result result.sep-1913-2025-11 result.sep-1913",
		"knows no _meta of extensions": "result.trust-annotations",
		"drops structured content":     "result.structured result.integers result.decimals result.range result.names",
		"drops isError":                "result.failed",
		"asks every host":              "stateless.undeclared",
		"drops questions":              "stateless.input",
		"drops answers":                "stateless.retry",
		"drops states":                 "stateless.retry",
		"drops types":                  "stateless.result",
		"says nothing of hosts":        "stateless.request stateless.result stateless.input",
		"knows the hints of MCP alone": "tool.action-metadata tool.emails tool.mcp tool.organization tool.sep-1487 tool.sep-1560 tool.sep-1561 " +
			"tool.sep-1913-2025-11 tool.sep-1913 tool.sep-1984 tool.sep-2061 stateless.type stateless.caching",
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			r, err := gateway(fault).Check(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, strings.Join(failing(r, kit.Failed, kit.Warned), " ")); diff != "" {
				t.Error(diff)
			}
			for _, one := range r.Checks {
				if one.Verdict == kit.Failed && one.Broken[0].Text == "" {
					t.Errorf("%s does not say why it fails", one.ID)
				}
			}
		})
	}
}

// inTime checks with short timeouts first. Longer ones follow if something is wrong, for what answers on a slow machine.
func inTime(t *testing.T, check func(timeout time.Duration) (wrong []string)) {
	t.Helper()
	var wrong []string
	for timeout := 100 * time.Millisecond; timeout < 10*time.Second; timeout *= 4 {
		if wrong = check(timeout); wrong == nil {
			return
		}
	}
	t.Error(strings.Join(wrong, "\n"))
}

// A gateway that hangs fails within a few timeouts, and one that cannot be run is an error.
func TestGatewaysThatHang(t *testing.T) {
	g := gateway("hangs")
	inTime(t, func(timeout time.Duration) (wrong []string) {
		g.Timeout = timeout
		r, err := g.Check(t.Context())
		if err != nil {
			return []string{err.Error()}
		}
		for _, one := range r.Checks {
			passes := strings.HasPrefix(one.ID, "tool.") || one.ID == "resolve.answer" || one.ID == "stateless.discover"
			if passes != (one.Verdict == kit.Passed) || one.Verdict == "" {
				wrong = append(wrong, fmt.Sprintf("%s: %s, %v", one.ID, one.Verdict, one.Broken))
			}
		}
		return wrong
	})
	for name, bad := range map[string]kit.Gateway{
		"no placeholder": {Program: kit.Program{Command: []string{"true"}}},
		"no program":     {Program: kit.Program{Command: []string{"/nowhere", "{server}"}}, Start: time.Second},
		"ends":           {Program: kit.Program{Command: []string{"true", "{server}"}}, Start: time.Minute},
		"says nothing":   {Program: kit.Program{Command: []string{"sleep", "100", "{server}"}}, Start: 100 * time.Millisecond},
		"no endpoint": {
			Program: kit.Program{Command: []string{"sleep", "100", "{url}"}}, URL: "http://127.0.0.1:1/mcp", Start: 100 * time.Millisecond,
		},
	} {
		if _, err := bad.Check(t.Context()); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// A gateway that starts no more, once it has left a call in the newest revision without an answer, holds up nobody.
func TestGatewayThatStartsNoMore(t *testing.T) {
	t.Parallel()
	g := gateway("starts no more, by " + filepath.Join(t.TempDir(), "mark"))
	g.Timeout = 250 * time.Millisecond
	r, err := g.Check(t.Context())
	if err != nil || len(failing(r, kit.Failed)) == 0 {
		t.Errorf("it fails nothing: %v", err)
	}
}
