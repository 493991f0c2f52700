package cli

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/app"
	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/internal/setup"
)

// serverFlags are the flags that say more of a server that the arguments of a command name.
type serverFlags struct {
	trust, transport choice
	name             string
	headers          []string
	overlays         []string // paths, the first counts most
}

func (f *serverFlags) add(cmd *cobra.Command) {
	f.trust = choice{"untrusted", []string{"untrusted", "known", "trusted"}}
	f.transport = choice{"http", []string{"http", "sse"}}
	addChoice(cmd, &f.trust, "trust", "how far to trust the server's definitions of its tools")
	addChoice(cmd, &f.transport, "transport", "how to speak to a URL")
	cmd.Flags().StringVar(&f.name, "name", "", "call the server `NAME` (default from the command or URL)")
	cmd.Flags().StringArrayVar(&f.headers, "header", nil, "send this header, `NAME=VALUE`, with every request to a URL")
	cmd.Flags().StringArrayVar(&f.overlays, "overlay", nil,
		"describe tools by the overlays in this `FILE`; may be given several\ntimes, the first counts most")
	cmd.Flags().SetInterspersed(false)
}

func newWrap(env *home.Env) *cobra.Command {
	var flags serveFlags
	var named serverFlags
	cmd := &cobra.Command{
		Use:   "wrap [flags] -- COMMAND [ARGUMENT…] | URL",
		Short: "Serve one server, on stdio",
		Long: `Serve one MCP server on standard input and output: a command, whose arguments are passed on
as they are, or the URL of a streamable HTTP or SSE endpoint. In a host's configuration put
"weir", "wrap" and "--" in front of the command that is there.

The command gets the whole of weir's environment. ${NAME} in a header is replaced by the
variable, so that no secret has to stand on a command line.

On Linux all wraps that one host starts have one process decide, so that agent sessions are remembered
at all of them together. It ends with the last one.`,
		Example: `  weir wrap -- npx -y @modelcontextprotocol/server-filesystem .
  weir wrap --trust known --policy policy.yaml -- ./my-server --verbose
  weir wrap --overlay overlay.yaml -- npx -y @example/server
  weir wrap --header 'Authorization=Bearer ${TOKEN}' https://mcp.example/mcp`,
		Args: needsArg("a command or a URL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			status, err := shareWrap(cmd.Context(), env, &flags, &named, args)
			switch {
			case err == nil && status != remedy.OK:
				return remedy.Silent(status) // the process that decides has said why
			case !errors.Is(err, app.ErrAlone):
				return err
			}
			flags.logger(env).Debug("this wrap decides by itself", "why", err)
			service, err := wrapService(env, &flags, &named, args)
			if err != nil {
				return err
			}
			return app.Serve(cmd.Context(), env, service)
		},
	}
	flags.add(cmd)
	named.add(cmd)
	return cmd
}

// wrapService returns the service of the one server that the arguments name.
func wrapService(env *home.Env, flags *serveFlags, named *serverFlags, args []string) (*app.Service, error) {
	s, err := wrapped(env, named, flags.policy, args)
	if err != nil {
		return nil, err
	}
	if err := flags.apply(s.Config); err != nil {
		return nil, remedy.Usage(err, "see weir wrap --help")
	}
	if err := setup.CheckSecured(env, s); err != nil {
		return nil, err
	}
	words, err := flags.words()
	if err != nil {
		return nil, err
	}
	return &app.Service{
		Setup: s, BaseEnv: env.Environ, Log: flags.logger(env), TrustText: words, Session: flags.session,
	}, nil
}

// wrapped returns the setup of the one server that the arguments name, with the policy at a path, "" for the built-in
// one.
func wrapped(env *home.Env, named *serverFlags, policyPath string, args []string) (*setup.Setup, error) {
	dir, err := env.WorkDir()
	if err != nil {
		return nil, err
	}
	server, err := named.server(args)
	if err != nil {
		return nil, err
	}
	if server.Command != "" {
		server.Dir = literal(env.Dir)
	}
	draft := config.NewDraft("")
	draft.Config.Servers = []config.Server{server}
	s := setup.New("weir wrap")
	if s.Config, err = draft.Finish(config.Options{Dir: dir, Lookup: env.Getenv}); err != nil {
		return nil, err
	}
	if env.PID == 0 { // else the wrap has found it
		if problems := setup.MissingCommands(s.Config); len(problems) > 0 {
			return nil, config.Errors(problems)
		}
	}
	if policyPath != "" {
		if err := s.UsePolicy(policyPath); err != nil {
			return nil, err
		}
	}
	for _, path := range named.overlays {
		if err := s.UseOverlay(path); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// server returns the server that the arguments name, as a draft has it: only in headers are variables expanded.
func (f *serverFlags) server(args []string) (config.Server, error) {
	trust, err := contract.ParseTrust(f.trust.value)
	if err != nil {
		return config.Server{}, remedy.Usage(err, "")
	}
	s := config.Server{Name: f.name, Trust: trust}
	if strings.HasPrefix(args[0], "http://") || strings.HasPrefix(args[0], "https://") {
		if len(args) > 1 {
			return s, remedy.Usage(errors.New("arguments after a URL"), "give flags first, and nothing after the URL")
		}
		s.URL, s.Transport = literal(args[0]), config.Transport(f.transport.value)
	} else {
		s.Command = literal(args[0])
		for _, a := range args[1:] {
			s.Args = append(s.Args, literal(a))
		}
	}
	if s.Name == "" {
		s.Name = nameOf(args)
	}
	s.Headers = map[string]string{}
	for _, h := range f.headers {
		name, value, ok := strings.Cut(h, "=")
		if !ok {
			return s, remedy.Usage(errors.New("--header: a header without ="), "write --header NAME=VALUE")
		}
		if _, twice := s.Headers[name]; twice {
			return s, remedy.Usage(fmt.Errorf("--header: %.64q is given twice", name), "remove one of them")
		}
		s.Headers[name] = value
	}
	return s, nil
}

// literal writes s so that nothing in it is expanded.
func literal(s string) string { return strings.ReplaceAll(s, "${", "$${") }

// launchers are programs that run the program that their arguments name.
var launchers = []string{"bunx", "deno", "docker", "node", "npx", "pipx", "podman", "pnpx", "python", "python3", "uv", "uvx"}

// nameOf makes a name for the server that the arguments start: the host of a URL; the base name of the program,
// or with a launcher that of the first argument that could be one.
func nameOf(args []string) string {
	if u, err := url.Parse(args[0]); err == nil && u.Host != "" {
		return fitName(u.Hostname())
	}
	name := args[0]
	if slices.Contains(launchers, filepath.Base(name)) {
		for _, a := range args[1:] {
			if !strings.HasPrefix(a, "-") && a != "run" && a != "exec" {
				name = a
				break
			}
		}
	}
	base := filepath.Base(name)
	for dir := filepath.Dir(name); slices.Contains(places, stem(base)) && dir != "." && dir != "/"; dir = filepath.Dir(dir) {
		if up := filepath.Base(dir); !slices.Contains(places, up) {
			base = up
		}
	}
	return fitName(stem(base))
}

// places are names of files and directories that many programs share.
var places = []string{"bin", "build", "cli", "dist", "index", "lib", "main", "src"}

// stem returns the name of a file or package without its extension and version.
func stem(name string) string {
	if at := strings.LastIndexByte(name, '@'); at > 0 {
		name = name[:at]
	}
	return strings.TrimSuffix(name, filepath.Ext(name))
}

// fitName makes a name that a server can have.
func fitName(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_':
			return r
		}
		return '-'
	}, s)
	s = strings.Trim(s, "-_")
	if s == "" {
		return "server"
	}
	return s[:min(len(s), 64)]
}
