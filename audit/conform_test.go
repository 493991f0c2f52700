package audit_test

import (
	"testing"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/audit/audittest"
)

func TestMemory(t *testing.T) {
	audittest.Run(t, func(*testing.T) audit.Store { return audit.NewMemory() })
}
