package app

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/policy"
)

func TestFixed(t *testing.T) {
	started := config.Config{
		Listen: "127.0.0.1:1", Record: "a", Approval: config.Approval{Timeout: time.Minute},
		Limits: config.Limits{Message: 1 << 20}, HTTP: config.Listener{Hosts: []string{"a"}},
	}
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
		{func(c *config.Config) { c.Approval.Timeout, c.Limits.Message = time.Hour, 1 }, "limits.message"},
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
