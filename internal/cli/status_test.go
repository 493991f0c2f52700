package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-mcp/weir/internal/status"
)

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
