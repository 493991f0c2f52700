package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/overlay"
)

// five are servers that describe their tools with few or no annotations, in a combination that a user might have.
var five = []string{"commands", "github-reference", "memory", "tavily", "time-mcp"}

// TestLintExplainsFiveServers puts five servers into a scratch configuration: the risk of the combination is told in a few lines
// that name tools, and the catalogue or a draft covers every tool.
func TestLintExplainsFiveServers(t *testing.T) {
	needEnabled(t)
	dir := t.TempDir()
	for _, known := range []bool{true, false} {
		config := filepath.Join(dir, fmt.Sprintf("weir-%t.yaml", known))
		writeFive(t, config, known)
		out := weirOutput(t, "lint", "--config", config, "--fail-on", "never", "--format", "json")
		var found struct {
			Findings []struct {
				Rule, Message, Hint string
				Details             []string
			}
		}
		if err := json.Unmarshal(out, &found); err != nil {
			t.Fatalf("%v in %s", err, out)
		}
		told := ""
		for _, f := range found.Findings {
			if f.Rule == "trifecta" {
				told = strings.Join(append(append([]string{f.Message}, f.Details...), f.Hint), "\n")
			}
		}
		if told == "" || strings.Count(told, "\n")+1 >= 10 || !strings.Contains(told, "github-reference.") {
			t.Errorf("with the catalogue %t the combination is told as:\n%s", known, told)
		}
		draft := weirOutput(t, "annotate", "--config", config)
		checkDraft(t, draft, known)
	}
}

// writeFive writes a configuration of the five servers, as the catalogue knows them or not.
func writeFive(t *testing.T, path string, known bool) {
	t.Helper()
	servers := map[string]any{}
	for _, name := range five {
		for _, l := range listedServers {
			if l.entry != name {
				continue
			}
			to, _ := l.program(t)
			s := map[string]any{"command": to.Command, "args": to.Args, "env": to.Env, "catalogue": name}
			if !known {
				delete(s, "catalogue")
			}
			servers[name] = s
		}
	}
	config := map[string]any{"version": 1, "servers": servers, "pins": map[string]string{"mode": "off"}}
	if !known {
		config["catalogue"] = false
	}
	data, err := json.Marshal(config) // JSON is YAML
	if err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// weirOutput runs weir and returns its standard output.
func weirOutput(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(world.weir, args...)
	cmd.Env = os.Environ()
	for name, value := range homeless(t) {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.Stderr = &strings.Builder{}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("weir %s: %v\n%s\n%s", strings.Join(args, " "), err, out, cmd.Stderr)
	}
	return out
}

// checkDraft holds that a proposal is an overlay, empty where the built-in overlays know every tool, and with each
// server where it knows none.
func checkDraft(t *testing.T, draft []byte, known bool) {
	t.Helper()
	if known {
		if strings.Contains(string(draft), "draft: true") {
			t.Errorf("the catalogue leaves something to draft:\n%s", draft)
		}
		return
	}
	set, err := overlay.Load("draft.yaml", draft)
	if err != nil {
		t.Fatalf("%v\n%s", err, draft)
	}
	if n := len(set.Entries()); n != len(five) {
		t.Errorf("%d of %d servers are drafted", n, len(five))
	}
}
