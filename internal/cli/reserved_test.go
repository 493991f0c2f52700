package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/files"
)

// open are the commands that an agent may run: they show something, try something out or serve. Those with an option in
// brackets decide something with it. There is no run, which serves the console if its configuration says so.
var open = strings.Split(`
analyze, annotate [--accept --forget], approvals, approvals suggest, audit, audit export, audit key, audit prove, audit show, audit tail, audit verify,
bench, bench agentdojo, bench day, completion, completion bash, completion fish, completion powershell, completion zsh, config, config check, conformance,
conformance answer, conformance gateway, conformance reader, conformance relay, conformance server, conformance vectors, demo, demo server,
detect, detect exceptions, detect rules, detect test, doctor, exec, exec check, exec child, folders, help, install [--no-hooks], interceptor, labels, lint, login,
logout, overlay, overlay check, overlay list, plan, plan check, policy, policy check, policy default, policy explain, policy prove, policy replay, policy test,
reload [--accept], report, review [--accept], serve [--stop], servers, service, service status, session, session list, state, state backup, status, tools,
version, watch, wrap [--console]`, ",")

// TestReservedCommands holds each command to be one that an agent may run, or one that hooks and the gateway refuse.
func TestReservedCommands(t *testing.T) {
	ground := files.New(files.Options{})
	refused := func(words ...string) bool {
		text := guard.Text{Path: "command", Text: strings.Join(words, " ")}
		return ground.Own(guard.Touch{Name: "Bash", Changes: true, Texts: []guard.Text{text}}) != ""
	}
	seen := map[string]bool{}
	var check func(c *cobra.Command)
	check = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			check(sub)
		}
		path := c.CommandPath()
		if !c.Runnable() || !c.HasParent() {
			return
		}
		i := slices.IndexFunc(open, func(o string) bool {
			name, _, _ := strings.Cut(strings.TrimSpace(o), " [")
			return "weir "+name == path
		})
		if got := refused(path, "x"); got == (i >= 0) {
			t.Errorf("%s: refused to agents: %v", path, got)
		}
		if i < 0 {
			return
		}
		seen[open[i]] = true
		_, options, _ := strings.Cut(strings.Trim(open[i], " ]\n"), " [")
		for _, o := range strings.Fields(options) {
			if c.Flags().Lookup(o[2:]) == nil || !refused(path, o) {
				t.Errorf("%s: %s is no option, or not refused to agents", path, o)
			}
		}
	}
	root := Commands()
	root.InitDefaultCompletionCmd("x")
	root.InitDefaultHelpCmd()
	check(root)
	for _, o := range open {
		if !seen[o] {
			t.Errorf("there is no command %s", o)
		}
	}
}
