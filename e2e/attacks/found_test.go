package attacks

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestConfigurationOfAClone starts weir as hosts do, in the folder of an untrusted project, which brings its own
// configuration.
func TestConfigurationOfAClone(t *testing.T) {
	needEnabled(t)
	for _, name := range []string{"weir.yaml", ".mcp.json"} {
		for _, remote := range []string{"[remote \"origin\"]\nurl = https://evil.example/x.git\n", "[include]\npath = ../more\n"} {
			dir := t.TempDir()
			mark := filepath.Join(dir, "started")
			content := map[string]string{
				"weir.yaml": "version: 1\nmode: audit\nservers: {x: {command: touch, args: [" + mark + "]}}\n",
				".mcp.json": `{"mcpServers":{"x":{"command":"touch","args":["` + mark + `"]}}}`,
			}[name]
			for path, text := range map[string]string{".git/config": remote, "project/" + name: content} {
				path = filepath.Join(dir, path)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.Command(weir, "run")
			cmd.Dir, cmd.Env = filepath.Join(dir, "project"), append(os.Environ(), "HOME="+dir, "XDG_STATE_HOME="+dir+"/state")
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "clone") {
				t.Errorf("through: %s of an untrusted project counts: %s", name, out)
			}
			if _, err := os.Stat(mark); err == nil {
				t.Errorf("through: %s of an untrusted project started a program", name)
			}
		}
	}
}
