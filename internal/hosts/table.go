package hosts

// The lists of servers that several hosts have.
var (
	mcpServers = []string{"mcpServers"}
	mcp        = []string{"mcp"}
	contexts   = []string{"context_servers"}
	codexList  = []string{"mcp_servers"} // also of sub-agents of Gemini CLI

	agentServers = []string{"mcp-servers"}
)

var stdio = Entry{Extra: []Member{{"type", `"stdio"`}}}

// Table has every host that Weir knows, the most common first. A file that two hosts read belongs to the first of them.
var Table = []Host{
	{ID: "claude-code", Name: "Claude Code", Entry: stdio, Files: []File{
		{Scope: User, Format: JSON, List: mcpServers, Path: "~/.claude.json", Env: "CLAUDE_CONFIG_DIR"},
		{Scope: Local, Format: JSON, List: []string{"projects", "*", "mcpServers"}, Path: "~/.claude.json", Env: "CLAUDE_CONFIG_DIR",
			Off: [][]string{{"projects", "*", "disabledMcpServers"}}},
		{Scope: Project, Format: JSON, List: mcpServers, Path: ".mcp.json"},
		{Scope: Managed, Format: JSON, List: mcpServers, Path: "/etc/claude-code/managed-mcp.json",
			MacOS:   "/Library/Application Support/ClaudeCode/managed-mcp.json",
			Windows: "C:/Program Files/ClaudeCode/managed-mcp.json"},
	}, Hooks: claudeHooks, Agents: []File{
		{Scope: User, List: mcpServers, Path: "~/.claude/agents", Env: "CLAUDE_CONFIG_DIR"},
		{Scope: Project, List: mcpServers, Path: ".claude/agents"},
	}},
	{ID: "claude-desktop", Name: "Claude Desktop", Files: []File{
		{Scope: User, Format: JSON, List: mcpServers, Path: "{config}/Claude/claude_desktop_config.json"},
	}},
	{ID: "vscode", Name: "VS Code", Entry: stdio, Announced: true, Files: []File{
		{Scope: User, Format: JSONC, List: []string{"servers"}, Path: "{config}/Code/User/mcp.json"},
		{Scope: Project, Format: JSONC, List: []string{"servers"}, Path: ".vscode/mcp.json"},
	}, Hooks: vscodeHooks, Agents: []File{
		{Scope: Project, List: mcpServers, Path: ".mcp.json"},
		{Scope: User, List: agentServers, Path: "~/.copilot/agents"},
		{Scope: Project, List: agentServers, Path: ".github/agents"},
	}},
	{ID: "cursor", Name: "Cursor", Files: []File{
		{Scope: User, Format: JSON, List: mcpServers, Path: "~/.cursor/mcp.json"},
		{Scope: Project, Format: JSON, List: mcpServers, Path: ".cursor/mcp.json"},
	}, Hooks: cursorHooks, Session: "cursor"},
	{ID: "windsurf", Name: "Windsurf", Files: []File{
		{Scope: User, Format: JSON, List: mcpServers, Path: "~/.codeium/windsurf/mcp_config.json"},
	}},
	{ID: "gemini", Name: "Gemini CLI", Files: geminiFiles("~/.gemini", ".gemini", geminiHome), Hooks: geminiHooks, Agents: []File{
		{Scope: User, List: codexList, Path: "~/.gemini/agents", Env: geminiHome},
		{Scope: Project, List: codexList, Path: ".gemini/agents"},
	}},
	{ID: "qwen", Name: "Qwen Code", Files: geminiFiles("~/.qwen", ".qwen", qwenHome)[:2], Hooks: qwenHooks},
	{ID: "codex", Name: "Codex CLI", Entry: codexEntry, Files: []File{
		{Scope: User, Format: TOML, List: codexList, Path: "~/.codex/config.toml", Env: "CODEX_HOME"},
		{Scope: Project, Format: TOML, List: codexList, Path: ".codex/config.toml", Refers: "config_file"},
		{Scope: Managed, Format: TOML, List: codexList, Path: "/etc/codex/config.toml"},
	}, Hooks: codexHooks, Agents: []File{
		{Scope: User, List: codexList, Path: "~/.codex/agents", Env: "CODEX_HOME"},
		{Scope: Project, List: codexList, Path: ".codex/agents"},
	}},
	{ID: "opencode", Name: "opencode", Entry: opencodeEntry, Files: []File{
		{Scope: User, Format: JSONC, List: mcp, Path: "{xdg}/opencode/opencode.json"},
		{Scope: User, Format: JSONC, List: mcp, Path: "{xdg}/opencode/opencode.jsonc"},
		{Scope: Project, Format: JSONC, List: mcp, Path: "opencode.json"},
		{Scope: Project, Format: JSONC, List: mcp, Path: "opencode.jsonc"},
	}, Hooks: opencodeHooks, Agents: []File{
		{Scope: User, List: mcp, Path: "{xdg}/opencode/config.json"},
		{Scope: User, List: mcp, Path: "~/.opencode/opencode.json"},
		{Scope: User, List: mcp, Path: "~/.opencode/opencode.jsonc"},
		{Scope: Project, List: mcp, Path: ".opencode/opencode.json"},
		{Scope: Project, List: mcp, Path: ".opencode/opencode.jsonc"},
	}},
	{ID: "copilot", Name: "Copilot CLI", Entry: Entry{Extra: []Member{{"type", `"local"`}, {"tools", `["*"]`}}}, Files: []File{
		{Scope: User, Format: JSON, List: mcpServers, Path: "~/.copilot/mcp-config.json", Env: "COPILOT_HOME"},
		{Scope: Project, Format: JSON, List: mcpServers, Path: ".github/mcp.json"},
	}, Hooks: copilotHooks, Agents: []File{
		{Scope: Project, List: mcpServers, Path: ".mcp.json"},
		{Scope: Project, List: []string{"servers"}, Path: ".vscode/mcp.json"},
		{Scope: User, List: agentServers, Path: "~/.copilot/agents", Env: "COPILOT_HOME"},
		{Scope: Project, List: agentServers, Path: ".github/agents"},
	}},
	{ID: "zed", Name: "Zed", Entry: Entry{Extra: []Member{{"source", `"custom"`}, {"enabled", "true"}}}, Files: []File{
		{Scope: User, Format: JSONC, List: contexts, Path: "{xdg}/zed/settings.json", Windows: "{config}/Zed/settings.json"},
		{Scope: Project, Format: JSONC, List: contexts, Path: ".zed/settings.json"},
	}},
	{ID: "goose", Name: "Goose", Entry: gooseEntry, Files: []File{
		{Scope: User, Format: YAML, List: []string{"extensions"}, Path: "{xdg}/goose/config.yaml",
			Windows: "{config}/Block/goose/config/config.yaml"},
	}},
	{ID: "cline", Name: "Cline", Files: []File{
		{Scope: User, Format: JSON, List: mcpServers, Path: "~/.cline/data/settings/cline_mcp_settings.json",
			Env: "CLINE_DATA_DIR/settings CLINE_DIR/data/settings"},
		{Scope: User, Format: JSON, List: mcpServers, Path: "{config}/Code/User/globalStorage/" + clineSettings},
		{Scope: User, Format: JSON, List: mcpServers, Path: "{config}/Cursor/User/globalStorage/" + clineSettings},
	}},
	{ID: "junie", Name: "JetBrains Junie", Files: []File{
		{Scope: User, Format: JSON, List: mcpServers, Path: "~/.junie/mcp/mcp.json"},
		{Scope: Project, Format: JSON, List: mcpServers, Path: ".junie/mcp/mcp.json"},
	}},
	{ID: "continue", Name: "Continue", Files: []File{
		{Scope: User, Format: YAML, List: mcpServers, Path: "~/.continue/config.yaml"},
	}},
	{ID: "lm-studio", Name: "LM Studio", Files: []File{
		{Scope: User, Format: JSON, List: mcpServers, Path: "~/.lmstudio/mcp.json"},
	}},
	{ID: "kiro", Name: "Kiro", Files: []File{
		{Scope: User, Format: JSON, List: mcpServers, Path: "~/.kiro/settings/mcp.json"},
		{Scope: Project, Format: JSON, List: mcpServers, Path: ".kiro/settings/mcp.json"},
	}},
	{ID: "crush", Name: "Crush", Entry: stdio, Files: []File{
		{Scope: User, Format: JSON, List: mcp, Path: "{xdg}/crush/crush.json", Windows: "~/AppData/Local/crush/crush.json"},
		{Scope: Project, Format: JSON, List: mcp, Path: ".crush.json"},
		{Scope: Project, Format: JSON, List: mcp, Path: "crush.json"},
	}},
	{ID: "jetbrains-ai", Name: "JetBrains AI Assistant", Manual: "in Settings, Tools, AI Assistant, Model Context Protocol, " +
		"replace the servers by one with the command weir and the arguments run --config FILE"},
}

var hookEvents = []string{"hooks"}

// claudeOffs are the settings of a project in Claude Code, which Copilot CLI reads too.
var claudeOffs = []string{".claude/settings.json", ".claude/settings.local.json"}

// The variables for the folder around .gemini, and for .qwen.
const (
	geminiHome = "GEMINI_CLI_HOME/.gemini"
	qwenHome   = "QWEN_HOME"
)

// Claude Code goes on where a hook fails or is too slow, unless it is told otherwise, which versions before 2.1.295 do
// not understand.
var claudeHooks = &Hooks{
	File:   File{Scope: User, Format: JSON, List: hookEvents, Path: "~/.claude/settings.json", Env: "CLAUDE_CONFIG_DIR"},
	Offs:   claudeOffs,
	Events: []string{"SessionStart", "PreToolUse", "PostToolUse", "PostToolUseFailure"}, Listed: true,
	Extra: []Member{{"timeout", "60"}, {"onFailure", `"block"`}},
}

var codexHooks = &Hooks{
	File: File{Scope: User, Format: JSON, List: hookEvents, Path: "~/.codex/hooks.json", Env: "CODEX_HOME"}, Offs: []string{".codex/config.toml"},
	Events: []string{"SessionStart", "PreToolUse", "PostToolUse"}, Extra: []Member{{"timeout", "60"}},
	Trust: "Codex runs them only after you accept them there: /hooks",
}

// Gemini CLI and Qwen Code count milliseconds.
var (
	geminiHooks = &Hooks{
		File: File{Scope: User, Format: JSONC, List: hookEvents, Path: "~/.gemini/settings.json", Env: geminiHome}, Offs: []string{".gemini/settings.json"},
		Events: []string{"SessionStart", "BeforeTool", "AfterTool"}, Guarded: true, Extra: []Member{{"name", `"weir"`}, {"timeout", "60000"}},
	}
	qwenHooks = &Hooks{
		File: File{Scope: User, Format: JSONC, List: hookEvents, Path: "~/.qwen/settings.json", Env: qwenHome}, Offs: []string{".qwen/settings.json"},
		Events: []string{"UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure"}, Guarded: true,
		Extra: []Member{{"name", `"weir"`}, {"timeout", "60000"}},
	}
)

// Cursor goes on where a hook fails, is too slow or writes nothing, unless the hook says otherwise.
var cursorHooks = &Hooks{
	File: File{Scope: User, Format: JSON, List: hookEvents, Path: "~/.cursor/hooks.json"}, Offs: []string{".cursor/hooks.json"}, Steers: true,
	Events: []string{"sessionStart", "preToolUse", "beforeMCPExecution", "postToolUse", "postToolUseFailure"},
	Flat:   true, Guarded: true, New: "{\n  \"version\": 1\n}\n", Extra: []Member{{"timeout", "60"}, {"failClosed", "true"}},
}

// VS Code can read the hooks of Claude Code, and reads those of Copilot CLI, which have other tools. So those for its
// own chat are in a file that a setting names. It goes on where a hook fails or is too slow.
var vscodeHooks = &Hooks{
	File:   File{Scope: User, Format: JSON, List: hookEvents, Path: vscodeHookFile},
	Events: []string{"SessionStart", "PreToolUse", "PostToolUse"}, Flat: true, Guarded: true, Extra: []Member{{"timeout", "60"}},
	Offs: []string{".vscode/settings.json"},
	Setting: &Setting{Name: vscodeHookFile, Use: "chat.useHooks", Also: "chat.useClaudeHooks",
		File: File{Scope: User, Format: JSONC, List: []string{"chat.hookFilesLocations"}, Path: "{config}/Code/User/settings.json"}},
}

const vscodeHookFile = "~/.vscode/weir-hooks.json"

var copilotHooks = &Hooks{
	File:   File{Scope: User, Format: JSONC, List: hookEvents, Path: "~/.copilot/settings.json", Env: "COPILOT_HOME"},
	Offs:   append([]string{".github/copilot/settings.json", ".github/copilot/settings.local.json"}, claudeOffs...),
	Events: []string{"sessionStart", "preToolUse", "postToolUse", "postToolUseFailure"}, Flat: true, Command: "bash", Guarded: true,
	Extra: []Member{{"timeoutSec", "60"}},
}

var opencodeHooks = &Hooks{
	File:   File{Scope: User, Path: "{xdg}/opencode/plugins/weir.js"},
	Offs:   []string{"opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc"},
	Code:   []string{".opencode/plugin", ".opencode/plugins", ".opencode/tool", ".opencode/tools"},
	Events: []string{"chat.message", "tool.execute.before", "tool.execute.after"}, Plugin: true, Inlines: []string{"{file:", "{env:"},
	Plain: []string{"$schema", "agent", "autoupdate", "compaction", "default_agent", "disabled_providers", "enabled_providers", "keybinds", "layout",
		"logLevel", "mcp", "mode", "model", "permission", "small_model", "snapshot", "subagent_depth", "theme", "tool_output", "tools", "tui", "watcher"},
	Texts: []string{"AGENTS.md", "CLAUDE.md", "CONTEXT.md", ".opencode/agent", ".opencode/agents", ".opencode/mode", ".opencode/modes",
		".opencode/command", ".opencode/commands"},
}

// clineSettings is where the extension kept its servers before the command line and the extensions had one file.
const clineSettings = "saoudrizwan.claude-dev/settings/cline_mcp_settings.json"

// Codex asks before each call of a tool that does not declare itself read-only, and Weir asks by its policy: approve
// leaves the question to Weir. It waits 10 s for a server to start and 60 s for a call, unless told otherwise.
var codexEntry = Entry{Extra: []Member{
	{"startup_timeout_sec", "60"}, {"tool_timeout_sec", "600"}, {"default_tools_approval_mode", `"approve"`},
}}

// opencode waits 5 s for the tools of a server, unless told otherwise.
var opencodeEntry = Entry{Joined: true, Env: "environment", Extra: []Member{
	{"type", `"local"`}, {"enabled", "true"}, {"timeout", "60000"},
}}

var gooseEntry = Entry{Command: "cmd", Env: "envs", Extra: []Member{
	{"enabled", "true"}, {"type", `"stdio"`}, {"name", `"weir"`}, {"timeout", "300"},
}}

var excluded = [][]string{{"mcp", "excluded"}}

// geminiFiles returns the files of Gemini CLI, and of a program that was made from it.
func geminiFiles(home, project, env string) []File {
	return []File{
		{Scope: User, Format: JSONC, List: mcpServers, Path: home + "/settings.json", Env: env, Off: excluded},
		{Scope: Project, Format: JSONC, List: mcpServers, Path: project + "/settings.json", Off: excluded},
		{Scope: Managed, Format: JSONC, List: mcpServers, Path: "/etc/gemini-cli/settings.json",
			MacOS:   "/Library/Application Support/GeminiCli/settings.json",
			Windows: "C:/ProgramData/gemini-cli/settings.json"},
	}
}
