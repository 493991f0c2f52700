package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/internal/app"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/hook"
	"github.com/weir-mcp/weir/internal/remedy"
)

// hookFlags are the flags of weir hook.
type hookFlags struct {
	config  string
	env     []string // NAME=VALUE
	entries []string
}

func newHook(env *home.Env) *cobra.Command {
	var flags hookFlags
	cmd := &cobra.Command{
		Use:   "hook HOST EVENT",
		Short: "Decide on a tool that a host has itself, as a hook of the host",
		Long: `Decide on the shell, the files and the web of a host, which are no MCP servers. A host with hooks runs
this before and after each of its tools, with a JSON object on standard input; the answer on standard
output is in the form that the host takes. weir install sets the hooks up.

A service that is started on demand decides: see weir serve.

The tools are those of a server called host. They count in the agent session of the conversation,
together with the servers behind weir. The exit status is 2 if weir cannot decide: then the host does not
run the tool.

Hosts: ` + strings.Join(hook.IDs(), ", "),
		Example: `  weir hook claude-code PreToolUse < event.json
  weir hook codex PostToolUse --config ~/.local/state/weir/hosts/codex-user/weir.yaml < event.json`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			out := answerHook(cmd.Context(), env, &flags, args[0], args[1])
			if _, err := io.WriteString(env.Stdout, out.Stdout); err != nil {
				out = hook.Failed("writing the answer: " + err.Error())
			}
			_, _ = io.WriteString(env.Stderr, out.Stderr)
			if out.Status != 0 {
				return remedy.Silent(out.Status) // said above
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&flags.config, "config", "", "decide by this `FILE` (default the built-in policy and store)")
	cmd.Flags().StringArrayVar(&flags.env, "env", nil, "take the variable `NAME=VALUE`, not that of the host; may be given several times")
	cmd.Flags().StringArrayVar(&flags.entries, "entry", nil, "the `NAME` of an entry of the host that runs weir; may be given several times")
	return cmd
}

// answerHook has the owner of the agent sessions answer an event. On any failure the call does not happen.
func answerHook(ctx context.Context, env *home.Env, flags *hookFlags, host, event string) hook.Output {
	ctx, cancel := context.WithTimeout(ctx, app.HookTime)
	defer cancel()
	input, err := io.ReadAll(io.LimitReader(env.Stdin, hook.MaxInput+1))
	if err == nil && len(input) > hook.MaxInput {
		err = fmt.Errorf("the event is larger than %d bytes", hook.MaxInput)
	}
	if err != nil {
		return hook.Failed(err.Error())
	}
	with := *env
	with.Environ = slices.Concat(env.Environ, flags.env)
	r := &app.HookRequest{Host: host, Event: event, Entries: flags.entries, Environ: with.Environ}
	if flags.config != "" {
		r.Config = home.Absolute(flags.config)
	}
	out, err := app.AskOwner(ctx, &with, r, input)
	if err != nil {
		return hook.Failed(err.Error())
	}
	return out
}
