package app

import (
	"slices"
	"testing"

	"github.com/weir-mcp/weir/internal/status"
)

// TestServedBy lists the processes that serve a server: not those whose configuration leaves it out.
func TestServedBy(t *testing.T) {
	of := func(pid int, disabled bool) status.Process {
		return status.Process{PID: pid, Servers: []status.Server{{Name: "mail", Disabled: disabled}}}
	}
	all := servedBy([]status.Process{of(1, false), of(2, true), of(3, false)})
	if len(all) != 2 || !slices.Equal(all[0].Processes, []int{1, 3}) || !all[1].Disabled || all[1].Processes != nil {
		t.Errorf("served by %+v", all)
	}
}
