//go:build unix

package hosts

import (
	"encoding/json"
	"fmt"
	"path/filepath"
)

var claude = host{id: "claude-code", prepare: prepareClaude, run: runClaude, shell: [2]string{"Bash", "command"},
	files: []string{".claude.json", ".claude/settings.json"}, rewrites: ".claude.json"}

// claudeKey is the key of the API that Claude Code has; its user has agreed to the last 20 characters.
const claudeKey = "sk-ant-scripted-model-00000000"

func prepareClaude(r *rig, servers []server) {
	list := map[string]any{}
	for _, s := range servers {
		list[s.name] = map[string]any{"type": "stdio", "command": s.command, "args": append([]string{}, s.args...), "env": s.env}
	}
	r.write(filepath.Join(r.home, ".claude.json"), encode(map[string]any{
		"hasCompletedOnboarding": true, "theme": "dark", "mcpServers": list,
		"customApiKeyResponses": map[string]any{"approved": []string{claudeKey[len(claudeKey)-20:]}},
		"projects":              map[string]any{r.project: map[string]any{"hasTrustDialogAccepted": true}},
	}))
	r.write(filepath.Join(r.home, ".claude", "settings.json"), "{\n  \"env\": {},\n  \"model\": \"sonnet\"\n}\n")
	r.env = []string{"ANTHROPIC_BASE_URL=" + r.model.URL, "ANTHROPIC_API_KEY=" + claudeKey, "DISABLE_AUTOUPDATER=1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "ENABLE_TOOL_SEARCH=false", "MCP_CONNECTION_NONBLOCKING=false"}
}

// claudeTools are what the user of Claude Code has allowed once and for all: everything in the test.
const claudeTools = "mcp__weir,mcp__files,mcp__web,Bash"

// claudeProgram is the program itself: the package's own way to it is made by a script at its installation.
func claudeProgram(r *rig) string {
	found, _ := filepath.Glob(filepath.Join(world.modules, "@anthropic-ai", "claude-code-*-*", "claude"))
	if len(found) != 1 {
		r.t.Fatalf("programs of Claude Code: %q", found)
	}
	return found[0]
}

func runClaude(r *rig, prompt, resume string) (string, error) {
	args := []string{"-p", prompt, "--output-format", "json", "--allowedTools", claudeTools}
	if resume != "" {
		args = append(args, "--resume", resume)
	}
	out, err := r.command(claudeProgram(r), args...)
	if err != nil {
		return "", err
	}
	var result struct {
		Session string `json:"session_id"`
		Result  string
	}
	if err := json.Unmarshal([]byte(out), &result); err != nil || result.Session == "" || result.Result != final {
		return "", fmt.Errorf("claude: %v: %s", err, out)
	}
	return result.Session, nil
}
