package cli

import (
	"bytes"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/files"
	"github.com/weir-mcp/weir/internal/home"
)

// open are the commands that an agent may run: they show something, try something out or serve. Those with an option in
// brackets decide something with it. There is no run, which serves the console if its configuration says so.
var open = strings.Split(`
analyze, annotate [--accept --forget], approvals, approvals suggest, audit, audit export, audit key, audit prove, audit show, audit tail, audit verify,
bench, bench agentdojo, bench day, completion, completion bash, completion fish, completion powershell, completion zsh, config, config check, conformance,
conformance answer, conformance gateway, conformance reader, conformance relay, conformance server, conformance vectors, demo, demo server,
detect, detect exceptions, detect rules, detect test, doctor, exec, exec check, exec child, folders, help, install [--no-hooks], interceptor, labels, lint, login,
logout, overlay, overlay check, overlay list, plan, plan check, policy, policy check, policy default, policy explain, policy prove, policy replay, policy test,
reload [--accept], report, review [--accept], serve [--stop], servers, service, service status, session, session list, state, state backup [--keys], status, tools,
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

// ungated are the commands for people that need no gate, with the reason.
var ungated = map[string]string{
	"weir deny": "it refuses", "weir session end": "it refuses", "weir folders remove": "the folder counts for less",
	"weir detect exceptions remove": "the finding counts again",
	"weir console":                  "the browser that has its link decides", "weir run": "the browser that has the link of its console decides",
	"weir hook":      "a host's, which decides by policy",
	"weir uninstall": "it takes hosts from behind weir, and changes nothing that weir goes by", "weir service install": "it starts a configuration",
	"weir service uninstall": "it ends a process",
	"weir audit anchor new":  "it makes keys of a log that is not there", "weir audit anchor import": "it replaces no key",
	"weir audit rotate": "the log tells of it, by the old key", "weir state init": "it needs the owner of a database",
	"weir state prune": "it removes what is older than a day and has rested since, as retention does",
}

// gatesOf returns the flags of the gates of commands, by path.
func gatesOf(c *cobra.Command, all map[string]string) map[string]string {
	for _, sub := range c.Commands() {
		gatesOf(sub, all)
	}
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if _, marked := f.Annotations[gateMark]; marked {
			all[c.CommandPath()] = f.Name
		}
	})
	return all
}

// TestGates holds each command that is for people to have a gate, or a reason for none, and each gate to be that of a
// command that is refused to agents, with its flag if the command without it is open to them.
func TestGates(t *testing.T) {
	gates, ground, left := gatesOf(Commands(), map[string]string{}), files.New(files.Options{}), maps.Clone(ungated)
	var check func(c *cobra.Command)
	check = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			check(sub)
		}
		path := c.CommandPath()
		_, gated := gates[path]
		_, reasoned := ungated[path]
		delete(left, path)
		if gated && reasoned {
			t.Errorf("%s has a gate, and a reason for none", path)
		}
		listed := slices.ContainsFunc(open, func(o string) bool {
			name, options, _ := strings.Cut(strings.TrimSpace(o), " [")
			return "weir "+name == path && !strings.Contains(options, "--accept")
		})
		if c.Runnable() && c.HasParent() && !listed && !gated && !reasoned {
			t.Errorf("%s is for people, and has no gate", path)
		}
	}
	if check(Commands()); len(left) > 0 {
		t.Errorf("there are no commands %v", left)
	}
	page, err := os.ReadFile("../../docs/approvals.md")
	if err != nil {
		t.Fatal(err)
	}
	for path, flag := range gates {
		if name := strings.TrimPrefix(path, "weir "); !strings.Contains(string(page), "`"+name+"`") && !strings.Contains(string(page), "`"+name+" --") {
			t.Errorf("docs/approvals.md does not name the gate of %s", name)
		}
		text := guard.Text{Path: "command", Text: path + " --accept --" + flag + " x"}
		if ground.Own(guard.Touch{Name: "Bash", Changes: true, Texts: []guard.Text{text}}) == "" {
			t.Errorf("%s has a gate, and agents may run it", path)
		}
	}
}

// TestGatesAreShut runs each command that has a gate with the flag that wants it, but without a terminal: it does
// nothing before the gate has refused, unless a script may say yes.
func TestGatesAreShut(t *testing.T) {
	for path, flag := range gatesOf(Commands(), map[string]string{}) {
		for variable, shut := range map[string]bool{"": true, files.Scripted + "=": true, files.Scripted + "=0": true, files.Scripted + "=true": true,
			files.Scripted + "=1": false} {
			env := &home.Env{Stdin: strings.NewReader("y\ny\n"), Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}, Environ: []string{variable}}
			c, _, err := newRoot(env).Find(strings.Fields(path)[1:])
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Flags().Set(flag, "true"); err != nil {
				t.Fatal(err)
			}
			err = c.PreRunE(c, nil)
			if shut != (err != nil && strings.Contains(err.Error(), "nobody is at a terminal")) || !shut && err != nil {
				t.Errorf("%s --%s with %q: %v", path, flag, variable, err)
			}
		}
	}
}
