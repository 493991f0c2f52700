package hook_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-mcp/weir/detect"
	"github.com/weir-mcp/weir/guard"
)

// places remember where exceptions were asked for.
type places struct{ reached map[string]string }

func (p *places) At(_ context.Context, at guard.FindingPlace) ([]guard.Exception, error) {
	p.reached[at.Name] = at.Reached
	return nil, nil
}

// TestExceptionsOfTheHost has exceptions for tools that the host has itself, apart from those of other hosts, and for
// none of a server, which a project may name as it likes.
func TestExceptionsOfTheHost(t *testing.T) {
	p := &places{map[string]string{}}
	m := newMachine(t, "claude-code")
	m.detection = guard.Detection{Detector: detect.New(), Exceptions: p}
	m.start("s", "startup")
	for _, tool := range []string{"Bash", "Read", "mcp__docs__read", "mcp_docs_read", "Unheard"} {
		m.before("s", tool, input{"command": "echo AKIAQYLPMN5HFIQR7XYA", "file_path": "AKIAQYLPMN5HFIQR7XYA"})
	}
	if diff := cmp.Diff(map[string]string{"Bash": "host:claude-code", "Read": "host:claude-code"}, p.reached); diff != "" {
		t.Error(diff)
	}
}
