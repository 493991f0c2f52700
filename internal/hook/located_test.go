package hook_test

import (
	"testing"

	"github.com/weir-mcp/weir/internal/hook"
)

// TestOtherMachines has the tools of a host look at paths that name another machine, by their text or by a link: in a
// conversation that holds private data and untrusted content each look may tell that machine something.
func TestOtherMachines(t *testing.T) {
	m := newMachine(t, "claude-code")
	m.warm = true
	m.file("src/a.go", "package a\n")
	m.link("/", "top")
	m.link("top/net/host", "deep")
	m.start("s", "startup")
	m.before("s", "Read", input{"file_path": "src/a.go"})
	m.before("s", "WebFetch", fetch)
	for _, at := range []string{"/net/ann.evil.example/x.md", m.work + "/top/net/ann.evil.example", m.work + "/deep/x"} {
		for tool, in := range map[string]input{
			"Read": {"file_path": at}, "Glob": {"pattern": "*", "path": at}, "Grep": {"pattern": "x", "path": at, "output_mode": "content"},
		} {
			if a := m.before("s", tool, in); a.Effect != hook.Ask {
				t.Errorf("%s %s: %+v", tool, at, a)
			}
		}
	}
	if a := m.before("s", "Grep", input{"pattern": "x", "path": m.work + "/src", "output_mode": "content"}); a.Effect != hook.Pass {
		t.Errorf("%+v", a)
	}
}
