package hook

import (
	_ "embed"
	"runtime"

	"github.com/weir-mcp/weir/internal/cmdline"
)

var (
	//go:embed claude-code.yaml
	claudeOverlay []byte

	//go:embed codex.yaml
	codexOverlay []byte

	//go:embed gemini.yaml
	geminiOverlay []byte

	//go:embed qwen.yaml
	qwenOverlay []byte

	//go:embed copilot.yaml
	copilotOverlay []byte

	//go:embed cursor.yaml
	cursorOverlay []byte

	//go:embed opencode.yaml
	opencodeOverlay []byte

	//go:embed vscode.yaml
	vscodeOverlay []byte
)

// table has every host. Arguments that are not listed may change the meaning of the others: such a call may do
// anything.
var table = []*Host{claudeCode, codex, gemini, qwen, copilot, opencode, cursor, vscode}

// snake is the form of Claude Code, which others took.
var snake = form{event: "hook_event_name", session: "session_id", source: "source", tool: "tool_name", input: "tool_input", call: "tool_use_id",
	response: "tool_response"}

// viaMCP are tools of the host that read resources of MCP servers.
var viaMCP = []string{"ReadMcpResourceTool", "ListMcpResourcesTool"}

// resourceTools are those of opencode.
var resourceTools = []string{"list_mcp_resources", "list_mcp_resource_templates", "read_mcp_resource"}

var claudeCode = &Host{
	ID: "claude-code", Kind: "claude-code", Events: []string{SessionStart, PreToolUse, PostToolUse, PostFailure},
	form: snake, begins: []string{"startup", "clear"}, answered: `"assistant"`, asks: true, streams: true, answer: claudeAnswer,
	serves: servesDoubly, resources: viaMCP, shell: shell{"Bash", cmdline.Understand, ""}, search: "Grep",
	searches: map[string]search{"Glob": {path: "path", patterns: []string{"pattern"}}, "Grep": {path: "path"}, "LS": {path: "path"}},
	expands:  []string{"Skill", "SlashCommand"},
	paths: map[string]string{"Edit": "file_path", "LSP": "filePath", "MultiEdit": "file_path", "NotebookEdit": "notebook_path",
		"Read": "file_path", "Write": "file_path"},
	overlay: claudeOverlay, tools: map[string][]string{
		"Agent":             {"description", "prompt", "subagent_type", "model", "run_in_background"},
		"AskUserQuestion":   {"questions", "answers", "metadata"},
		"Bash":              {"command", "timeout", "description", "run_in_background"},
		"BashOutput":        {"bash_id", "filter"},
		"Edit":              {"file_path", "old_string", "new_string", "replace_all"},
		"EnterPlanMode":     {},
		"ExitPlanMode":      {"plan"},
		"Glob":              {"pattern", "path"},
		"Grep":              grepArguments,
		"KillShell":         {"shell_id"},
		"LS":                {"path", "ignore"},
		"LSP":               {"operation", "filePath", "line", "character"},
		"MultiEdit":         {"file_path", "edits"},
		"NotebookEdit":      {"notebook_path", "cell_id", "new_source", "cell_type", "edit_mode"},
		"Read":              {"file_path", "offset", "limit", "pages"},
		"ReportFindings":    {"level", "findings"},
		"Skill":             {"skill", "args"},
		"SlashCommand":      {"command"},
		"Task":              {"description", "prompt", "subagent_type", "model", "run_in_background"},
		"TaskCreate":        {"subject", "description", "activeForm", "metadata"},
		"TaskGet":           {"taskId"},
		"TaskList":          {},
		"TaskOutput":        {"task_id", "block", "timeout"},
		"TaskStop":          {"task_id", "shell_id"},
		"TaskUpdate":        {"taskId", "subject", "description", "activeForm", "status", "addBlocks", "addBlockedBy", "owner", "metadata"},
		"TodoWrite":         {"todos"},
		"ToolSearch":        {"query", "max_results"},
		"WaitForMcpServers": {"timeout", "servers"},
		"WebFetch":          {"url", "prompt"},
		"WebSearch":         {"query", "allowed_domains", "blocked_domains"},
		"Write":             {"file_path", "content"},
	},
}

// codex lets the model choose among the shells of the machine, and does not tell which.
var codex = &Host{
	ID: "codex", Kind: "codex", Events: []string{SessionStart, PreToolUse, PostToolUse},
	form: snake, begins: []string{"startup", "clear"}, answered: `"assistant"`, roams: true, streams: true, answer: claudeAnswer,
	serves: servesDoubly, resources: viaMCP, shell: shell{"Bash", anyShell, ""}, overlay: codexOverlay, tools: map[string][]string{
		"Bash":               {"command"},
		"apply_patch":        {"command"},
		"create_goal":        {"objective", "token_budget"},
		"get_goal":           {},
		"request_user_input": {"questions"},
		"update_goal":        {"status"},
		"update_plan":        {"explanation", "plan"},
		"view_image":         {"path", "detail"},
	},
}

// gemini has one event after each call, whether it has failed or not, and gives calls no ids.
var gemini = &Host{
	ID: "gemini", Events: []string{"SessionStart", "BeforeTool", "AfterTool"},
	steps: map[string]string{"BeforeTool": PreToolUse, "AfterTool": PostToolUse},
	form: form{event: "hook_event_name", session: "session_id", source: "source", tool: "tool_name", input: "tool_input", response: "tool_response",
		server: []string{"mcp_context", "server_name"}},
	begins: []string{"startup", "clear"}, answered: `"gemini"`, answer: geminiAnswer, serves: servesTold,
	shell: shell{"run_shell_command", posix, "dir_path"},
	searches: map[string]search{
		"glob":           {path: "dir_path", patterns: []string{"pattern"}, everywhere: true},
		"grep_search":    {path: "dir_path", patterns: []string{"include_pattern"}, everywhere: true},
		"list_directory": {path: "dir_path", everywhere: true, flat: true},
	},
	paths: map[string]string{"read_file": "file_path", "replace": "file_path", "write_file": "file_path"}, finds: "replace",
	overlay: geminiOverlay, tools: map[string][]string{
		"activate_skill":    {"name"},
		"ask_user":          {"questions"},
		"enter_plan_mode":   {"reason"},
		"glob":              {"pattern", "dir_path", "case_sensitive", "respect_git_ignore", "respect_gemini_ignore"},
		"google_web_search": {"query"},
		"grep_search": {"pattern", "dir_path", "include_pattern", "exclude_pattern", "names_only", "max_matches_per_file",
			"total_max_matches"},
		"list_background_processes": {"wait_for_previous"},
		"list_directory":            {"dir_path", "ignore", "file_filtering_options"},
		"read_background_output":    {"pid", "lines", "delay_ms", "wait_for_previous"},
		"read_file":                 {"file_path", "start_line", "end_line"},
		"replace":                   {"file_path", "instruction", "old_string", "new_string", "allow_multiple"},
		"run_shell_command":         {"command", "description", "dir_path", "is_background", "delay_ms"},
		"update_topic":              {"title", "summary", "strategic_intent", "wait_for_previous"},
		"web_fetch":                 {"prompt"},
		"write_file":                {"file_path", "content"},
		"write_todos":               {"todos"},
	},
}

// qwen tells of no beginning where nobody sits before it, so the first message of the user is one.
var qwen = &Host{
	ID: "qwen", Events: []string{"UserPromptSubmit", PreToolUse, PostToolUse, PostFailure},
	steps: map[string]string{"UserPromptSubmit": SessionStart},
	form: form{event: "hook_event_name", session: "session_id", tool: "tool_name", input: "tool_input", call: "tool_use_id",
		response: "tool_response"},
	answered: `"assistant"`, answer: qwenAnswer, serves: servesDoubly, shell: shell{"run_shell_command", posix, "directory"},
	searches: map[string]search{
		"glob":           {path: "path", patterns: []string{"pattern"}, everywhere: true},
		"grep_search":    {path: "path", patterns: []string{"glob"}, everywhere: true},
		"list_directory": {path: "path", everywhere: true, flat: true},
	},
	paths: map[string]string{"edit": "file_path", "read_file": "file_path", "write_file": "file_path"}, finds: "edit",
	overlay: qwenOverlay, tools: map[string][]string{
		"ask_user_question": {"questions"},
		"edit":              {"file_path", "old_string", "new_string", "replace_all"},
		"exit_plan_mode":    {"plan"},
		"glob":              {"pattern", "path"},
		"grep_search":       {"pattern", "glob", "path", "limit"},
		"list_directory":    {"path", "ignore", "file_filtering_options"},
		"read_file":         {"file_path", "offset", "limit", "pages"},
		"run_shell_command": {"command", "description", "directory", "is_background", "timeout"},
		"skill":             {"skill"},
		"task_stop":         {"task_id"},
		"todo_write":        {"todos"},
		"tool_search":       {"query", "max_results"},
		"web_fetch":         {"url", "prompt", "format"},
		"write_file":        {"file_path", "content"},
	},
}

// copilot has a new shell for each command, unless the call names one that is there: nothing is known of that one's
// folder and variables, so shellId is no argument that is known.
var copilot = &Host{
	ID: "copilot", Kind: "copilot-cli", Events: []string{"sessionStart", "preToolUse", "postToolUse", "postToolUseFailure"},
	steps:  map[string]string{"sessionStart": SessionStart, "preToolUse": PreToolUse, "postToolUse": PostToolUse, "postToolUseFailure": PostFailure},
	form:   form{session: "sessionId", source: "source", tool: "toolName", input: "toolArgs", response: "toolResult"},
	begins: []string{"new"}, answer: copilotAnswer, serves: servesDashed,
	shell:    shell{"bash", posix, ""},
	searches: map[string]search{"glob": {path: severalPaths, patterns: []string{"pattern"}}, "grep": {path: severalPaths}},
	paths:    map[string]string{"create": "path", "edit": "path", "view": "path"}, finds: "edit",
	overlay: copilotOverlay, tools: map[string][]string{
		"ask_user":                        {"question", "choices", "allow_freeform"},
		"bash":                            {"command", "description", "mode", "initial_wait", "detach"},
		"create":                          {"path", "file_text"},
		"edit":                            {"path", "old_str", "new_str"},
		"fetch_copilot_cli_documentation": {},
		"glob":                            {"pattern", "paths"},
		"grep":                            {"pattern", "paths", "output_mode", "glob", "type", "head_limit", "multiline", "-A", "-B", "-C", "-i", "-n"},
		"list_bash":                       {},
		"read_bash":                       {"shellId", "delay"},
		"report_intent":                   {"intent"},
		"skill":                           {"skill"},
		"stop_bash":                       {"shellId"},
		"view":                            {"path", "view_range", "forceReadLargeFiles"},
		"web_fetch":                       {"url", "max_length", "start_index", "raw"},
	},
}

// opencode is asked by a plugin, which knows whether a conversation has an answer of the model yet. It tells of no call
// that failed. Its shell is the user's but for fish and nushell, and has one output for both streams.
var opencode = &Host{
	ID: "opencode", Events: []string{"chat.message", "tool.execute.before", "tool.execute.after"},
	steps:  map[string]string{"chat.message": SessionStart, "tool.execute.before": PreToolUse, "tool.execute.after": PostToolUse},
	form:   form{event: "event", session: "sessionID", source: "source", tool: "tool", input: "args", call: "callID", response: "output"},
	begins: []string{"new"}, answer: opencodeAnswer, serves: servesLowered, resources: resourceTools, shell: shell{"bash", anyShell, "workdir"},
	searches: map[string]search{
		"glob": {path: "path", patterns: []string{"pattern"}},
		"grep": {path: "path", patterns: []string{"include"}},
		"list": {path: "path"},
	},
	paths:   map[string]string{"edit": "filePath", "read": "filePath", "write": "filePath"},
	expands: []string{"task", "skill"},
	overlay: opencodeOverlay, tools: map[string][]string{
		"bash":      {"command", "timeout", "workdir", "description"},
		"edit":      {"filePath", "oldString", "newString", "replaceAll"},
		"glob":      {"pattern", "path"},
		"grep":      {"pattern", "path", "include"},
		"list":      {"path", "ignore"},
		"plan_exit": {},
		"question":  {"questions"},
		"read":      {"filePath", "offset", "limit"},
		"skill":     {"name"},
		"task":      {"description", "prompt", "subagent_type", "task_id", "command"},
		"todowrite": {"todos"},
		"webfetch":  {"url", "format", "timeout"},
		"websearch": {"query", "numResults", "livecrawl", "type", "contextMaxCharacters"},
		"write":     {"filePath", "content"},
	},
}

// cursor gives several calls of a turn one id, has one process of a server for all its windows, and does not tell of
// the text that Read and Grep return. Its shell, any of the user, keeps the folder that a command has changed to.
var cursor = &Host{
	ID: "cursor", Events: []string{"sessionStart", "preToolUse", "beforeMCPExecution", "postToolUse", "postToolUseFailure"},
	steps: map[string]string{"sessionStart": SessionStart, "preToolUse": PreToolUse, "beforeMCPExecution": PreToolUse, "postToolUse": PostToolUse,
		"postToolUseFailure": PostFailure},
	form: form{event: "hook_event_name", session: "conversation_id", tool: "tool_name", input: "tool_input", response: "tool_output",
		failure: "error_message", roots: "workspace_roots", server: []string{"mcp_server_name"}, fresh: true},
	shared: "cursor", detail: detail{"beforeMCPExecution", "MCP:"}, answered: `"assistant"`,
	roams: true, answer: cursorAnswer, serves: servesNamed, shell: shell{"Shell", anyShell, ""},
	searches: map[string]search{"Grep": {path: "file_path", everywhere: true}},
	paths:    map[string]string{"Delete": "file_path", "Read": "file_path", "Write": "file_path"}, expands: []string{"Task"},
	overlay: cursorOverlay, tools: map[string][]string{
		"Delete": {"file_path"},
		"Grep":   {"pattern", "file_path"},
		"Read":   {"file_path"},
		"Shell":  {"command", "cwd", "timeout"},
		"Task":   {"description", "prompt", "subagent_type", "run_in_background"},
		"Write":  {"file_path", "content"},
	},
}

// vscode has one terminal of any shell for several commands, which keeps the folder that one has changed to, and
// searches every folder of its window. Its file tools take absolute paths alone.
var vscode = &Host{
	ID: "vscode", Kind: "vscode", Events: []string{SessionStart, PreToolUse, PostToolUse},
	form: snake, begins: []string{"new"}, answered: `"assistant.`, roams: true, answer: claudeAnswer, serves: servesShortly,
	shell: shell{"run_in_terminal", anyShell, ""},
	searches: map[string]search{
		"file_search": {path: "folder", everywhere: true}, "grep_search": {path: "folder", everywhere: true},
		"list_dir": {path: "path", everywhere: true, flat: true}, "semantic_search": {path: "folder", everywhere: true},
	},
	paths: map[string]string{"create_directory": "dirPath", "create_file": "filePath", "insert_edit_into_file": "filePath",
		"read_file": "filePath", "replace_string_in_file": "filePath", "view_image": "filePath"},
	overlay: vscodeOverlay, tools: map[string][]string{
		"apply_patch":                  {"input", "explanation"},
		"create_directory":             {"dirPath"},
		"create_file":                  {"filePath", "content"},
		"fetch_webpage":                {"urls", "query"},
		"file_search":                  {"query", "maxResults"},
		"get_changed_files":            {"repositoryPath", "sourceControlState"},
		"get_errors":                   {"filePaths"},
		"get_terminal_output":          {"id"},
		"github_repo":                  {"repo", "query"},
		"grep_search":                  {"query", "isRegexp", "includePattern", "maxResults", "includeIgnoredFiles"},
		"insert_edit_into_file":        {"explanation", "filePath", "code"},
		"list_dir":                     {"path"},
		"manage_todo_list":             {"operation", "todoList"},
		"multi_replace_string_in_file": {"explanation", "replacements"},
		"read_file":                    {"filePath", "startLine", "endLine"},
		"replace_string_in_file":       {"filePath", "oldString", "newString"},
		"run_in_terminal":              {"command", "explanation", "goal", "isBackground", "timeout"},
		"semantic_search":              {"query"},
		"view_image":                   {"filePath"},
		"vscode_askQuestions":          {"questions"},
	},
}

// posix reads the lines of the Bourne shell, Bash and Zsh, where these are not another shell on Windows.
func posix(line string) (cmdline.Deed, bool) {
	if runtime.GOOS == "windows" {
		return cmdline.UnderstandInWindows(line)
	}
	return cmdline.Understand(line)
}

// anyShell reads the lines of any shell that the user has.
func anyShell(line string) (cmdline.Deed, bool) {
	if runtime.GOOS == "windows" {
		return cmdline.UnderstandInWindows(line)
	}
	return cmdline.UnderstandAnywhere(line)
}

var grepArguments = []string{"pattern", "path", "glob", "output_mode", "type", "head_limit", "offset", "multiline", "context",
	"-A", "-B", "-C", "-i", "-n", "-o"}
