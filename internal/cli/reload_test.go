package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/status"
	"github.com/weir-mcp/weir/policy"
)

func TestFixed(t *testing.T) {
	started := config.Config{Listen: "127.0.0.1:1", Record: "a", Approval: time.Minute, Limits: config.Limits{Message: 1 << 20}, HTTP: config.Listener{Hosts: []string{"a"}}}
	for _, test := range []struct {
		change func(*config.Config)
		want   string
	}{
		{func(*config.Config) {}, ""},
		{func(c *config.Config) { c.Mode, c.Policy, c.Servers = policy.Audit, "p", []config.Server{{Name: "a"}} }, ""},
		{func(c *config.Config) { c.Listen = "127.0.0.1:2" }, "listen"},
		{func(c *config.Config) { c.HTTP.Hosts = []string{"b"} }, "http"},
		{func(c *config.Config) { c.HTTP.Token = "hunter2hunter2hunter2" }, "http"},
		{func(c *config.Config) { c.Record = config.NoRecord }, "record"},
		{func(c *config.Config) { c.Durability, c.Retention.Events = config.Strict, time.Hour }, "durability retention"},
		{func(c *config.Config) { c.Capture.Content, c.Checkpoints.Every = true, time.Hour }, "capture checkpoints"},
		{func(c *config.Config) { c.Approval, c.Limits.Message = time.Hour, 1 }, "limits.message"},
	} {
		after := started
		test.change(&after)
		var got []string
		for _, p := range fixed(&started, &after) {
			name, _, _ := strings.Cut(p.Msg, " ")
			got = append(got, name)
			if strings.Contains(p.Msg+p.Hint, "hunter2") {
				t.Errorf("a secret is told: %s", p)
			}
		}
		if diff := cmp.Diff(test.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestPrintProcess(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.Local)
	var b strings.Builder
	for _, p := range []status.Process{
		{PID: 1, Error: "timeout\x1b[2J"},
		{PID: 2, Command: "weir wrap", Serves: "stdio", Started: now.AddDate(0, 0, -1), Mode: "audit", Policy: "built-in", Digest: strings.Repeat("0", 64),
			Hosts: 1, Calls: 3, InFlight: 1, Questions: 2, Servers: []status.Server{
				{Name: "a", Transport: "http", Trust: "known", State: "failed", Retry: now.Add(time.Second), Error: "no\nsuch\x1b]0;host", ErrorAt: now},
				{Name: "long", Transport: "stdio", Trust: "trusted", State: "connected", Connections: 2, Protocols: []string{"2025-11-25"}, PIDs: []int{7, 8}},
				{Name: "b", Transport: "sse", Trust: "untrusted", State: "ended"},
			}},
	} {
		printProcess(&b, p, now)
	}
	const want = `1  does not answer: timeout\u{1b}[2J
2  weir wrap, on stdio, since 2026-11-20 12:00:00
    mode audit, policy built-in (000000000000)
    hosts 1, calls 3, in flight 1, questions 2
    a     http  known      cannot be reached, is not tried again before 12:00:01, last error at 12:00:00: no\u{a}such\u{1b}]0;host
    long  stdio trusted    connected 2 times, 2025-11-25, pid 7, pid 8
    b     sse   untrusted  has ended, is connected to again when it is needed
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
