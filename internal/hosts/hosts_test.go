package hosts_test

import (
	"testing"

	"github.com/weir-mcp/weir/internal/hosts"
)

// TestResolve holds the paths of the table against what hosts document, on each system.
func TestResolve(t *testing.T) {
	vars := map[string]string{}
	lookup := func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
	linux := hosts.Machine{OS: "linux", Home: "/home/ann", Lookup: lookup}
	mac := hosts.Machine{OS: "darwin", Home: "/Users/ann", Lookup: lookup}
	windows := hosts.Machine{OS: "windows", Home: `C:\Users\ann`, Lookup: lookup}
	for _, c := range []struct {
		id      string
		file    int
		machine hosts.Machine
		vars    map[string]string
		want    string
	}{
		{"claude-code", 0, linux, nil, "/home/ann/.claude.json"},
		{"claude-code", 0, linux, map[string]string{"CLAUDE_CONFIG_DIR": "/c"}, "/c/.claude.json"},
		{"claude-code", 0, linux, map[string]string{"CLAUDE_CONFIG_DIR": "relative"}, "/home/ann/.claude.json"},
		{"claude-code", 0, windows, nil, `C:\Users\ann\.claude.json`},
		{"claude-code", 2, mac, nil, ".mcp.json"},
		{"claude-code", 3, linux, nil, "/etc/claude-code/managed-mcp.json"},
		{"claude-code", 3, mac, nil, "/Library/Application Support/ClaudeCode/managed-mcp.json"},
		{"claude-code", 3, windows, nil, `C:\Program Files\ClaudeCode\managed-mcp.json`},
		{"claude-desktop", 0, linux, nil, "/home/ann/.config/Claude/claude_desktop_config.json"},
		{"claude-desktop", 0, linux, map[string]string{"XDG_CONFIG_HOME": "/x"}, "/x/Claude/claude_desktop_config.json"},
		{"claude-desktop", 0, mac, map[string]string{"XDG_CONFIG_HOME": "/x"}, "/Users/ann/Library/Application Support/Claude/claude_desktop_config.json"},
		{"claude-desktop", 0, windows, map[string]string{"APPDATA": `C:\Users\ann\AppData\Roaming`}, `C:\Users\ann\AppData\Roaming\Claude\claude_desktop_config.json`},
		{"claude-desktop", 0, windows, nil, ""},
		{"vscode", 0, linux, nil, "/home/ann/.config/Code/User/mcp.json"},
		{"vscode", 0, mac, nil, "/Users/ann/Library/Application Support/Code/User/mcp.json"},
		{"cursor", 0, mac, nil, "/Users/ann/.cursor/mcp.json"},
		{"windsurf", 0, windows, nil, `C:\Users\ann\.codeium\windsurf\mcp_config.json`},
		{"gemini", 2, windows, nil, `C:\ProgramData\gemini-cli\settings.json`},
		{"qwen", 0, linux, nil, "/home/ann/.qwen/settings.json"},
		{"qwen", 0, linux, map[string]string{"QWEN_HOME": "/q"}, "/q/settings.json"},
		{"gemini", 0, linux, map[string]string{"GEMINI_CLI_HOME": "/g"}, "/g/.gemini/settings.json"},
		{"codex", 0, mac, map[string]string{"CODEX_HOME": "/c"}, "/c/config.toml"},
		{"opencode", 0, mac, nil, "/Users/ann/.config/opencode/opencode.json"},
		{"copilot", 0, linux, nil, "/home/ann/.copilot/mcp-config.json"},
		{"zed", 0, mac, nil, "/Users/ann/.config/zed/settings.json"},
		{"zed", 0, windows, map[string]string{"APPDATA": `D:\a`}, `D:\a\Zed\settings.json`},
		{"goose", 0, mac, nil, "/Users/ann/.config/goose/config.yaml"},
		{"goose", 0, windows, map[string]string{"APPDATA": `D:\a\`}, `D:\a\Block\goose\config\config.yaml`},
		{"cline", 0, linux, nil, "/home/ann/.cline/data/settings/cline_mcp_settings.json"},
		{"cline", 0, linux, map[string]string{"CLINE_DIR": "/c"}, "/c/data/settings/cline_mcp_settings.json"},
		{"cline", 0, linux, map[string]string{"CLINE_DIR": "/c", "CLINE_DATA_DIR": "/d"}, "/d/settings/cline_mcp_settings.json"},
		{"cline", 2, linux, nil, "/home/ann/.config/Cursor/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"},
		{"lm-studio", 0, linux, nil, "/home/ann/.lmstudio/mcp.json"},
		{"cursor", 0, hosts.Machine{OS: "linux"}, nil, ""},
	} {
		vars = c.vars
		h, ok := hosts.Lookup(c.id)
		if !ok {
			t.Fatalf("no host %s", c.id)
		}
		got, ok := h.Files[c.file].Resolve(c.machine)
		if !ok {
			got = ""
		}
		if got != c.want {
			t.Errorf("%s on %s: got %q, want %q", c.id, c.machine.OS, got, c.want)
		}
	}
}

// TestTable holds what every row must have.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, h := range hosts.Table {
		if h.ID == "" || h.Name == "" || seen[h.ID] || (len(h.Files) == 0) == (h.Manual == "") {
			t.Errorf("%+v", h)
		}
		seen[h.ID] = true
		if h.Hooks != nil && len(h.Hooks.Offs) == 0 {
			t.Errorf("%s: no file of a project is known that may keep its hooks from running", h.ID)
		}
		for _, f := range h.Files {
			if f.Scope == "" || f.Format == "" || len(f.List) == 0 || f.Path == "" {
				t.Errorf("%s: %+v", h.ID, f)
			}
		}
	}
	if len(hosts.Lists(hosts.TOML)) != 1 || len(hosts.Lists(hosts.JSON, hosts.JSONC)) < 4 {
		t.Error(hosts.Lists(hosts.JSON, hosts.JSONC))
	}
}
