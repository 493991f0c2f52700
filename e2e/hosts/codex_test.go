//go:build unix

package hosts

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
)

var codex = host{id: "codex", prepare: prepareCodex, run: runCodex, shell: [2]string{"exec_command", "cmd"},
	files: []string{".codex/config.toml", ".codex/hooks.json"}}

func prepareCodex(r *rig, servers []server) {
	var b strings.Builder
	fmt.Fprintf(&b, "# The model is scripted.\n"+
		"model = \"gpt-5\"\nmodel_provider = \"scripted\"\napproval_policy = \"never\"\nsandbox_mode = \"danger-full-access\"\n"+
		"check_for_update_on_startup = false\n[analytics]\nenabled = false\n\n"+
		"[model_providers.scripted]\nname = \"scripted\"\nbase_url = %q\nenv_key = \"SCRIPTED_KEY\"\nwire_api = \"responses\"\n\n"+
		"[projects.%q]\ntrust_level = \"trusted\"\n", r.model.URL+"/v1", r.project)
	for _, s := range servers {
		fmt.Fprintf(&b, "\n[mcp_servers.%s] # of the test\ncommand = %q\nargs = %s\ndefault_tools_approval_mode = \"approve\"\n",
			s.name, s.command, encode(append([]string{}, s.args...)))
		if len(s.env) > 0 {
			fmt.Fprintf(&b, "\n[mcp_servers.%s.env]\n", s.name)
		}
		for name, value := range s.env {
			fmt.Fprintf(&b, "%s = %q\n", name, value)
		}
	}
	r.write(filepath.Join(r.home, ".codex", "config.toml"), b.String())
	r.env = []string{"SCRIPTED_KEY=x"}
}

func runCodex(r *rig, prompt, resume string) (string, error) {
	args := []string{"exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-hook-trust"}
	if resume != "" {
		args = append(args, "resume", resume)
	}
	out, err := r.command(filepath.Join(world.modules, ".bin", "codex"), append(args, prompt)...)
	if err != nil {
		return "", err
	}
	thread := ""
	for line := range strings.Lines(out) {
		var e struct {
			Thread string `json:"thread_id"`
		}
		if json.Unmarshal([]byte(line), &e) == nil && e.Thread != "" {
			thread = e.Thread
		}
	}
	if thread == "" || !strings.Contains(out, final) {
		return "", fmt.Errorf("codex: %s", out)
	}
	return thread, nil
}
