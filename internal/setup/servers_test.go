package setup

import (
	"testing"

	"github.com/weir-mcp/weir/internal/upstream"
)

// TestProgramsInFolders holds that a command in two folders is one program that is reached in two ways, and that neither a
// URL nor another command has to do with it.
func TestProgramsInFolders(t *testing.T) {
	in := func(folder string, command ...string) *upstream.Spec {
		return &upstream.Spec{Command: command, Dir: folder}
	}
	one, other := in("/a", "npx", "crm"), in("/b", "npx", "crm")
	if program(one) != program(other) || program(one) == "" || reached(one) == reached(other) {
		t.Errorf("one command in two folders: programs %s and %s, reached %s and %s", program(one), program(other), reached(one), reached(other))
	}
	if like := in("/a", "npx crm"); program(one) == program(like) {
		t.Error("two commands are one program")
	}
	if at := (&upstream.Spec{URL: "https://crm.example"}); program(at) != "" || reached(at) == "" {
		t.Errorf("a URL is program %q, reached %q", program(at), reached(at))
	}
}
