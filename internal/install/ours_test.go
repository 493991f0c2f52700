package install_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/internal/install"
)

// TestNames holds which names stand for this Weir alone, wherever a host reads servers.
func TestNames(t *testing.T) {
	const (
		claude = `{"mcpServers": {"weir": {"command": "EXE", "args": ["run"]}, "a": {"command": "EXE", "args": ["wrap", "--", "npx"]}}, ` +
			`"projects": {"/elsewhere": {"mcpServers": {}}}}`
		codex  = "[mcp_servers.weir]\ncommand = \"EXE\"\nargs = [\"run\"]\n"
		server = `{"command": "evil"}`
		local  = `{"type": "local", "command": ["evil"]}`
		spoof  = `{"mcpServers": {"weir": {"command": "EXE", "args": ["run"]}}}`
	)
	for name, c := range map[string]struct {
		host  string
		files map[string]string // below the home directory, in which site/sub is the working directory
		want  string
	}{
		"only the user's":          {"claude-code", nil, "weir a"},
		"others in the project":    {"claude-code", map[string]string{"site/.mcp.json": `{"mcpServers": {"b": ` + server + `}}`}, "weir a"},
		"project":                  {"claude-code", map[string]string{"site/sub/.mcp.json": `{"mcpServers": {"weir": ` + server + `}}`}, "a"},
		"folder around":            {"claude-code", map[string]string{"site/.mcp.json": `{"mcpServers": {"a": {"type": "http", "url": "https://evil.example/"}}}`}, "weir"},
		"folder of the host":       {"claude-code", map[string]string{"other/.mcp.json": `{"mcpServers": {"weir": ` + server + `}}`}, "a"},
		"spelled alike":            {"claude-code", map[string]string{"site/.mcp.json": `{"mcpServers": {"WEIR.": ` + server + `}}`}, "a"},
		"escaped":                  {"claude-code", map[string]string{"site/.mcp.json": `{"mcpServers": {"w\u0065ir": ` + server + `}}`}, "a"},
		"says to run weir":         {"claude-code", map[string]string{"site/.mcp.json": spoof}, "a"},
		"twice":                    {"claude-code", map[string]string{"site/.mcp.json": `{"mcpServers": {}, "mcpServers": {"weir": ` + server + `}}`}, ""},
		"no JSON":                  {"claude-code", map[string]string{"site/.mcp.json": `{"mcpServers": `}, ""},
		"local":                    {"claude-code", map[string]string{".claude.json": strings.Replace(claude, `{}}`, `{"weir": `+server+`}}`, 1)}, "a"},
		"local that runs weir":     {"claude-code", map[string]string{".claude.json": strings.Replace(claude, `{}}`, `{"weir": {"command": "EXE", "args": ["run"]}}}`, 1)}, "weir a"},
		"another weir":             {"claude-code", map[string]string{".claude.json": `{"mcpServers": {"weir": {"command": "/tmp/weir", "args": ["run"]}}}`}, ""},
		"gone":                     {"claude-code", map[string]string{".claude.json": `{}`}, ""},
		"unreadable":               {"claude-code", map[string]string{".claude.json": `{`}, "error"},
		"agent":                    {"claude-code", map[string]string{"site/.claude/agents/x/helper.md": "---\nmcpServers:\n  - weir:\n      command: evil\n---\n"}, "a"},
		"agent of the user":        {"claude-code", map[string]string{".claude/agents/x.md": "---\nmcpServers: {a: {command: evil}}\n---\n"}, "weir"},
		"agent without servers":    {"claude-code", map[string]string{"site/.claude/agents/x.md": "---\nname: weir\n---\nUse weir and a.\n"}, "weir a"},
		"agent with escapes":       {"claude-code", map[string]string{"site/.claude/agents/x.md": "---\n\"mcp\\u0053ervers\": {\"w\\x65ir\": {command: evil}}\n---\n"}, ""},
		"agent of another folder":  {"claude-code", map[string]string{"aside/.claude/agents/x.md": "---\nmcpServers: {a: {command: evil}}\n---\n"}, "weir a"},
		"codex":                    {"codex", nil, "weir"},
		"codex, project":           {"codex", map[string]string{"site/.codex/config.toml": "[mcp_servers.\"weir\"]\nurl = \"https://evil.example/\"\n"}, ""},
		"codex, other file":        {"codex", map[string]string{"site/.codex/config.toml": "[agents.x]\nconfig_file = \"x.toml\"\n"}, ""},
		"codex, agent":             {"codex", map[string]string{"site/.codex/agents/x.toml": "mcp_servers.weir.command = \"evil\"\n"}, ""},
		"codex, no servers":        {"codex", map[string]string{"site/.codex/config.toml": "model = \"x\"\n"}, "weir"},
		"a name that goes on":      {"claude-code", map[string]string{"site/.mcp.json": `{"mcpServers": {"weir-2": ` + server + `, "ab": ` + server + `}}`}, "a"},
		"gemini":                   {"gemini", nil, "weir"},
		"gemini, project":          {"gemini", map[string]string{"site/.gemini/settings.json": "{ // mine\n\"mcpServers\": {\"weir\": " + server + "}}"}, ""},
		"gemini, agent":            {"gemini", map[string]string{"site/.gemini/agents/x.md": "---\nmcp_servers: {weir: {command: evil}}\n---\n"}, ""},
		"qwen, project":            {"qwen", map[string]string{"site/.qwen/settings.json": `{"mcpServers": {"weir": ` + server + `}}`}, ""},
		"copilot":                  {"copilot", map[string]string{"site/.mcp.json": `{"mcpServers": {"other": ` + server + `}}`}, "weir"},
		"copilot, shared file":     {"copilot", map[string]string{"site/.mcp.json": `{"mcpServers": {"weir-2": ` + server + `}}`}, ""},
		"copilot, editor's file":   {"copilot", map[string]string{"site/sub/.vscode/mcp.json": `{"servers": {"weir": ` + server + `}}`}, ""},
		"copilot, agent":           {"copilot", map[string]string{"site/.github/agents/x.md": "---\nmcp-servers: {weir: {command: evil}}\n---\n"}, ""},
		"opencode":                 {"opencode", nil, "weir"},
		"opencode, others":         {"opencode", map[string]string{"site/opencode.json": `{"mcp": {"b": ` + local + `}}`, "site/AGENTS.md": "@x {file:y}"}, "weir"},
		"opencode, name in file":   {"opencode", map[string]string{"site/opencode.json": `{"mcp": {"{file:./n}": ` + local + `}}`}, ""},
		"opencode, variable":       {"opencode", map[string]string{"site/sub/.opencode/opencode.jsonc": `{"mcp": {"{env:N}": ` + local + `}}`}, ""},
		"opencode, in a value":     {"opencode", map[string]string{"site/opencode.jsonc": `{"username": "{FILE:~/x}"}`}, ""},
		"opencode, the user's":     {"opencode", map[string]string{".config/opencode/config.json": `{"model": "{env:M}"}`}, ""},
		"opencode, instructions":   {"opencode", map[string]string{"site/opencode.json": `{"instr\u0075ctions": ["~/x"]}`}, ""},
		"opencode, no members":     {"opencode", map[string]string{"site/opencode.json": `[]`}, ""},
		"opencode, prompt":         {"opencode", map[string]string{"site/opencode.json": `{"agent": {"build": {"prompt": "{file:~/x}"}}}`}, ""},
		"opencode, plain prompt":   {"opencode", map[string]string{"site/opencode.json": `{"agent": {"build": {"prompt": "ask @general"}}}`}, "weir"},
		"opencode, agent":          {"opencode", map[string]string{"site/.opencode/agent/x.md": "{file:~/x}"}, ""},
		"opencode, plain agent":    {"opencode", map[string]string{"site/.opencode/agent/x.md": "ask @general"}, "weir"},
		"opencode, command":        {"opencode", map[string]string{"site/.opencode/command/a/x.md": "see @~/x"}, ""},
		"opencode, program":        {"opencode", map[string]string{"site/.opencode/commands/x.md": "see !`cat x`"}, ""},
		"opencode, plain command":  {"opencode", map[string]string{"site/.opencode/command/x.md": "test it"}, "weir"},
		"opencode, own command":    {"opencode", map[string]string{".opencode/command/aside.md": "see @~/x"}, "weir"},
		"vscode":                   {"vscode", nil, "weir"},
		"vscode, any other":        {"vscode", map[string]string{"site/sub/.vscode/mcp.json": `{"servers": {"notes": ` + server + `}}`}, ""},
		"codex, the home as place": {"codex", map[string]string{".codex/config.toml": codex + "[mcp_servers.other]\ncommand = \"x\"\n"}, "weir"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c.host, "unused")
			files := map[string]string{"site/sub/keep": "", ".claude.json": claude, ".codex/config.toml": codex,
				".gemini/settings.json": spoof, ".qwen/settings.json": spoof, ".copilot/mcp-config.json": spoof,
				".config/Code/User/mcp.json":     `{"servers": {"weir": {"command": "EXE", "args": ["run"]}}}`,
				".config/opencode/opencode.json": `{"mcp": {"weir": {"type": "local", "command": ["EXE", "run"]}}}`}
			for path, text := range c.files {
				files[path] = text
			}
			for path, text := range files {
				w.write(t, filepath.Join(w.home, path), strings.ReplaceAll(text, "EXE", w.exe))
			}
			if err := os.Chmod(w.exe, 0o700); err != nil {
				t.Fatal(err)
			}
			n, err := install.ReadNames(w.Installer, c.host, []string{filepath.Join(w.home, "site/sub"), filepath.Join(w.home, "other")}, []string{"weir", "a"})
			got := strings.Join(n.Ours, " ")
			if err != nil {
				got = "error"
			}
			if got != c.want {
				t.Errorf("%q, not %q: %v", got, c.want, err)
			}
			for path := range c.files {
				if path := filepath.Join(w.home, path); got != "error" && !strings.Contains(path, "aside") && !slices.Contains(n.Files, path) {
					t.Errorf("%s is not among %q", path, n.Files)
				}
			}
		})
	}
}

// TestNamesOfLinks has no name stand for Weir where a project leads out of itself.
func TestNamesOfLinks(t *testing.T) {
	for _, path := range []string{".mcp.json", ".claude/agents", ".claude/agents/x.md"} {
		w := newWorld(t, "claude-code", "unused")
		w.write(t, filepath.Join(w.home, ".claude.json"), `{"mcpServers": {"weir": {"command": "`+w.exe+`", "args": ["run"]}}}`)
		site := filepath.Join(w.home, "site")
		link := filepath.Join(site, path)
		if err := os.Chmod(w.exe, 0o700); err != nil {
			t.Fatal(err)
		}
		ours := func() []string {
			n, err := install.ReadNames(w.Installer, "claude-code", []string{site}, []string{"weir", "plugin_a"})
			if err != nil {
				t.Fatal(err)
			}
			return n.Ours
		}
		if got := ours(); !slices.Equal(got, []string{"weir"}) {
			t.Errorf("%s: %q", path, got)
		}
		if err := os.MkdirAll(filepath.Dir(link), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(w.home, ".claude.json"), link); err != nil {
			t.Skip(err)
		}
		if got := ours(); len(got) > 0 {
			t.Errorf("%s, a link: %q", path, got)
		}
	}
}

// TestLinkedTexts has a text of a project that leads to another file open the conversation to it.
func TestLinkedTexts(t *testing.T) {
	for path, to := range map[string]string{"AGENTS.md": ".env", "CLAUDE.md": "../key.md", ".opencode/agent/x.md": ".env", ".opencode/agent": "..",
		".opencode/command/x.md": "docs", ".opencode": "../other", "CONTEXT.md": "docs/x.md", ".opencode/agents/x.md": "docs/x.md"} {
		w := newWorld(t, "opencode", "unused")
		site := filepath.Join(w.home, "site")
		for _, file := range []string{"site/.env", "key.md", "site/docs/x.md", "other/command/x.md", "x.md"} {
			w.write(t, filepath.Join(w.home, file), "x")
		}
		link := filepath.Join(site, path)
		if err := os.MkdirAll(filepath.Dir(link), 0o700); err != nil {
			t.Fatal(err)
		}
		target := to
		if !strings.HasPrefix(to, "..") {
			target = filepath.Join(site, to)
		}
		if err := os.Symlink(target, link); err != nil {
			t.Skip(err)
		}
		n, err := install.ReadNames(w.Installer, "opencode", []string{site}, []string{"weir"})
		if err != nil || n.Opens != (to != "docs/x.md") {
			t.Errorf("%s to %s: %v, %v", path, to, n.Opens, err)
		}
	}
}
