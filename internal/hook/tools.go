package hook

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/overlay"
)

//go:embed claude-code.yaml
var claudeCode []byte

//go:embed codex.yaml
var codex []byte

// table has every host. Arguments that are not listed may change the meaning of the others: such a call may do anything.
var table = []*Host{
	{ID: "claude-code", Kind: "claude-code", Events: []string{SessionStart, PreToolUse, PostToolUse, PostFailure},
		asks: true, replaces: true, shell: "Bash", search: "Grep", overlay: claudeCode, tools: map[string][]string{
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
		}},
	{ID: "codex", Kind: "codex", Events: []string{SessionStart, PreToolUse, PostToolUse}, roams: true, shell: bourne("Bash"),
		overlay: codex, tools: map[string][]string{
			"Bash":               {"command"},
			"apply_patch":        {"command"},
			"create_goal":        {"objective", "token_budget"},
			"get_goal":           {},
			"request_user_input": {"questions"},
			"update_goal":        {"status"},
			"update_plan":        {"explanation", "plan"},
			"view_image":         {"path", "detail"},
		}},
}

// bourne is the name of a shell that is another one on Windows.
func bourne(name string) string {
	if runtime.GOOS == "windows" {
		return ""
	}
	return name
}

var grepArguments = []string{"pattern", "path", "glob", "output_mode", "type", "head_limit", "offset", "multiline", "context",
	"-A", "-B", "-C", "-i", "-n", "-o"}

// Overlay returns the contracts of the tools of the host.
func (h *Host) Overlay() (*overlay.Set, error) {
	return overlay.Load("hook/"+h.ID+".yaml", h.overlay)
}

// here are the tools that look at the working directory if they are given no path.
var here = []string{"Glob", "Grep", "LS"}

// arguments returns the arguments of a call as the tool takes them.
func (e *Event) arguments() (json.RawMessage, error) {
	if _, given := rawjson.Get(e.Input, "path"); given || !slices.Contains(here, e.Tool) {
		return e.Input, nil
	}
	return rawjson.Set(e.Input, rawjson.Quote(e.Folder), "path")
}

// strange says which argument nothing is known of; "" if there is none, or the whole tool is not known, which may do anything.
func (e *Event) strange() string {
	known, ok := e.Host.tools[e.Tool]
	if !ok {
		return ""
	}
	for name := range rawjson.Members(e.Input) {
		if !slices.Contains(known, name) {
			return fmt.Sprintf("nothing is known of the argument %+.80q", name)
		}
	}
	return ""
}

// prefix begins the names of tools of MCP servers, in the hooks of every host that is known here.
const prefix = "mcp__"

// viaMCP are tools of the host that read resources of MCP servers.
var viaMCP = []string{"ReadMcpResourceTool", "ListMcpResourcesTool"}

// behind reports whether the call goes to one of the entries that run Weir, which decides on it there. A name that could be that of a
// tool of another entry, whose name continues the entry's, is not taken for one.
func (e *Event) behind(entries []string) bool {
	if slices.Contains(viaMCP, e.Tool) {
		raw, _ := rawjson.Get(e.Input, "server")
		server, _ := rawjson.String(raw)
		return slices.Contains(entries, server)
	}
	rest, ok := strings.CutPrefix(e.Tool, prefix)
	return ok && slices.ContainsFunc(entries, func(entry string) bool {
		tool, ok := strings.CutPrefix(rest, entry+"__")
		return ok && !strings.Contains(entry, "__") && !strings.HasPrefix(tool, "_") && !strings.Contains(tool, "__")
	})
}
