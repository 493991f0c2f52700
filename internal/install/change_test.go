//go:build unix

package install_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/weir-mcp/weir/internal/install"
)

const twoServers = `{"mcpServers": {"a": {"command": "npx", "args": ["a"]}, "b": {"command": "npx"}}, "state": 1}`

// TestHostWrites has the host write its file between the plan and the change.
func TestHostWrites(t *testing.T) {
	w := newWorld(t, "claude-code", ".claude.json")
	for _, c := range []struct {
		name, text string
		want       error
	}{
		{"its own state", strings.Replace(twoServers, `"state": 1`, `"state": 2`, 1), nil},
		{"another server", strings.Replace(twoServers, `"b"`, `"c"`, 1), install.ErrOther},
		{"another command", strings.Replace(twoServers, `["a"]`, `["evil"]`, 1), install.ErrOther},
	} {
		w.write(t, w.file, twoServers)
		plan, err := w.Plan(install.Selection{})
		if err != nil || len(plan.Files) != 1 {
			t.Fatal(err, plan)
		}
		w.write(t, w.file, c.text)
		if err := w.Apply(plan.Files[0]); !errors.Is(err, c.want) {
			t.Fatalf("%s: got %v, want %v", c.name, err, c.want)
		}
		now, err := os.ReadFile(w.file)
		if err != nil {
			t.Fatal(err)
		}
		if applied := strings.Contains(string(now), `"weir"`); applied != (c.want == nil) || !applied && string(now) != c.text {
			t.Errorf("%s: %s", c.name, now)
		}
		all, err := w.Removals(install.Selection{})
		if err != nil || len(all) > 1 || len(all) == 1 != (c.want == nil) {
			t.Fatalf("%s: %v, %d records", c.name, err, len(all))
		}
		for _, m := range all {
			if _, err := w.Remove(m); err != nil {
				t.Fatal(err)
			}
			if now, _ := os.ReadFile(w.file); string(now) != c.text {
				t.Errorf("%s: after removal: %s", c.name, now)
			}
		}
	}
}

// TestRemoveKeepsLaterWrites has the host write its file between the plan of a removal and the removal.
func TestRemoveKeepsLaterWrites(t *testing.T) {
	w := newWorld(t, "claude-code", ".claude.json")
	w.write(t, w.file, twoServers)
	plan, err := w.Plan(install.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Apply(plan.Files[0]); err != nil {
		t.Fatal(err)
	}
	all, err := w.Removals(install.Selection{})
	if err != nil || len(all) != 1 {
		t.Fatal(err, len(all))
	}
	installed, err := os.ReadFile(w.file)
	if err != nil {
		t.Fatal(err)
	}
	w.write(t, w.file, strings.Replace(string(installed), `"state": 1`, `"state": 2`, 1))
	if _, err := w.Remove(all[0]); err != nil {
		t.Fatal(err)
	}
	now, err := os.ReadFile(w.file)
	if err != nil || !strings.Contains(string(now), `"state": 2`) || strings.Contains(string(now), "weir") || !strings.Contains(string(now), `"b"`) {
		t.Errorf("%v: %s", err, now)
	}
}

// TestLinks follows the links of a user, and keeps them.
func TestLinks(t *testing.T) {
	w := newWorld(t, "claude-code", ".claude.json")
	real := filepath.Join(w.home, "dotfiles", "claude.json")
	w.write(t, real, twoServers)
	if err := os.Symlink(real, w.file); err != nil {
		t.Fatal(err)
	}
	plan, err := w.Plan(install.Selection{})
	if err != nil || len(plan.Files) != 1 {
		t.Fatal(err, plan)
	}
	if err := w.Apply(plan.Files[0]); err != nil {
		t.Fatal(err)
	}
	if to, err := os.Readlink(w.file); err != nil || to != real {
		t.Errorf("the link became %q, %v", to, err)
	}
	if now, _ := os.ReadFile(real); !strings.Contains(string(now), "weir") {
		t.Errorf("%s", now)
	}
}

// TestHostileProjects reads projects that want to do harm: nothing of them is taken, and nothing hangs.
func TestHostileProjects(t *testing.T) {
	for name, plant := range map[string]func(t *testing.T, path string){
		"a link out of it": func(t *testing.T, path string) { link(t, "/etc/passwd", path) },
		"a pipe": func(t *testing.T, path string) {
			if err := syscall.Mkfifo(path, 0o600); err != nil {
				t.Skip(err)
			}
		},
		"a device":  func(t *testing.T, path string) { link(t, "/dev/zero", path) },
		"a folder":  func(t *testing.T, path string) { check(t, os.Mkdir(path, 0o700)) },
		"too large": func(t *testing.T, path string) { check(t, os.WriteFile(path, make([]byte, 2<<20), 0o600)) },
		"too deep": func(t *testing.T, path string) {
			check(t, os.WriteFile(path, []byte(strings.Repeat(`{"a":[`, 100_000)), 0o600))
		},
		"two readings": func(t *testing.T, path string) {
			check(t, os.WriteFile(path, []byte(`{"mcpServers": {"a": {"command": "x"}}, "mcpServers": {}}`), 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "claude-code", ".claude.json")
			project := t.TempDir()
			plant(t, filepath.Join(project, ".mcp.json"))
			plan, err := w.Plan(install.Selection{Project: project})
			if err != nil || len(plan.Files) != 0 || len(plan.Notes) != 1 || !plan.Notes[0].Bad {
				t.Errorf("%v, %+v", err, plan)
			}
		})
	}
}

func link(t *testing.T, to, path string) { check(t, os.Symlink(to, path)) }
