package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/kit"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/remedy"
)

func newConformance(env *home.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "conformance",
		Short: "Hold a server, a gateway or a reader of annotations to the proposals",
		Long: `Tell which parts of SEP-1913, SEP-2061, SEP-1487, SEP-1561 and the other vocabularies an
implementation keeps: one check a rule, with the section of the proposal and the vectors that break it. A check of an ability that
the implementation does not have is not applicable, which is no pass. docs/conformance.md describes the checks.`,
		Example: `  weir conformance reader -- ./my-reader
  weir conformance gateway -- my-gateway --stdio {server}
  weir conformance server --call 'read={"name":"a"}' -- ./my-server`,
		Args: cobra.ArbitraryArgs,
		RunE: needsSubcommand,
	}
	cmd.AddCommand(newConformanceServer(env), newConformanceGateway(env), newConformanceReader(env),
		newConformanceVectors(env), newConformanceAnswer(env), newConformanceRelay(env))
	return cmd
}

// reportFlags are the flags of every command that writes a report of the kit.
type reportFlags struct {
	json, junit, sarif string
	strict             bool
	timeout            time.Duration
}

func (f *reportFlags) add(cmd *cobra.Command, timeout time.Duration, waits string) {
	cmd.Flags().StringVar(&f.json, "json", "", "write the report as JSON to this `FILE`, or - for standard output")
	cmd.Flags().StringVar(&f.junit, "junit", "", "write the report as JUnit's XML to this `FILE`, or -")
	cmd.Flags().StringVar(&f.sarif, "sarif", "", "write failures and warnings as SARIF to this `FILE`, or -")
	cmd.Flags().BoolVar(&f.strict, "strict", false, "fail on warnings too")
	cmd.Flags().DurationVar(&f.timeout, "timeout", timeout, waits)
	cmd.Flags().SetInterspersed(false)
}

// write writes the report in each form that was asked for, and returns the failure that it is, if it is one.
func (f *reportFlags) write(env *home.Env, target string, r kit.Report) error {
	r.Target, r.Version = target, home.Version()
	forms := []struct {
		path  string
		write func(io.Writer) error
	}{
		{f.json, func(w io.Writer) error { return kit.WriteJSON(w, r) }},
		{f.junit, func(w io.Writer) error { return kit.WriteJUnit(w, r, f.strict) }},
		{f.sarif, func(w io.Writer) error { return kit.WriteSARIF(w, r) }},
	}
	shown := false
	for _, form := range forms {
		switch form.path {
		case "":
		case "-":
			shown = true
			if err := form.write(env.Stdout); err != nil {
				return err
			}
		default:
			if err := writeReportFile(form.path, form.write); err != nil {
				return err
			}
		}
	}
	if !shown {
		if err := kit.WriteText(env.Stdout, r); err != nil {
			return err
		}
	}
	if r.Count(kit.Failed) > 0 || f.strict && r.Count(kit.Warned) > 0 {
		return remedy.Silent(remedy.Failed) // the report says so
	}
	return nil
}

func writeReportFile(path string, write func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return errors.Join(write(file), file.Close())
}

// program returns the implementation that the arguments of a command start.
func program(env *home.Env, args []string) kit.Program {
	return kit.Program{Command: args, Env: env.Environ, Stderr: env.Stderr}
}

func newConformanceServer(env *home.Env) *cobra.Command {
	var flags reportFlags
	var url string
	var calls, asks []string
	cmd := &cobra.Command{
		Use:   "server [flags] [-- COMMAND [ARGUMENT…]]",
		Short: "Hold a server and its annotations to the proposals",
		Long: `Start a server, or speak to one at --url, and check the annotations of its tools and its handling of unusual messages, in
2025-11-25 and, if the server speaks it, in 2026-07-28. Tools are called only as --call says, each three times: alone, with annotations of
the data that the agent has seen, and with annotations that their schema refuses; and once more in 2026-07-28. Tools that ask their client
for input are called as --ask says: with answers that decline, with a state that the server has not made, and as a client that cannot be
asked. Without --call the checks of results are not applicable.

The exit status is 1 if a check fails or the server cannot be run.`,
		Example: `  weir conformance server -- npx -y @example/server
  weir conformance server --call 'read={"name":"minutes"}' --ask 'publish={"name":"minutes"}' --junit report.xml -- ./my-server
  weir conformance server --url http://127.0.0.1:3000/mcp`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if url == "" && len(args) == 0 {
				return usage(cmd, errors.New("needs a command or --url"))
			}
			s := kit.Server{Program: program(env, args), URL: url, Timeout: flags.timeout, Start: startWait}
			var err error
			if s.Calls, err = callsOf("--call", calls); err == nil {
				s.Asks, err = callsOf("--ask", asks)
			}
			if err != nil {
				return usage(cmd, err)
			}
			r, err := s.Check(cmd.Context())
			if err != nil {
				return fmt.Errorf("checking the server: %w", err)
			}
			target := strings.Join(args, " ")
			if target == "" {
				target = url
			}
			return flags.write(env, target, r)
		},
	}
	flags.add(cmd, 10*time.Second, "how long to wait for each answer")
	cmd.Flags().StringVar(&url, "url", "", "speak to the server at this `URL` over streamable HTTP")
	cmd.Flags().StringArrayVar(&calls, "call", nil, "call this tool, `NAME=ARGUMENTS` with a JSON object; may be given several times")
	cmd.Flags().StringArrayVar(&asks, "ask", nil, "call this tool, which asks its client for input first, in 2026-07-28; as --call")
	return cmd
}

// callsOf reads calls of tools in the form NAME=OBJECT.
func callsOf(flag string, texts []string) (all []kit.Call, err error) {
	for _, text := range texts {
		tool, arguments, _ := strings.Cut(text, "=")
		if rawjson.Check([]byte(arguments)) != nil || rawjson.Kind([]byte(arguments)) != '{' {
			return nil, fmt.Errorf("%s %.200q is not NAME=OBJECT", flag, text)
		}
		all = append(all, kit.Call{Tool: tool, Arguments: []byte(arguments)})
	}
	return all, nil
}

// startWait is the longest wait for the start of an implementation: npx may be loading it.
const startWait = 2 * time.Minute

func newConformanceGateway(env *home.Env) *cobra.Command {
	var flags reportFlags
	var url string
	cmd := &cobra.Command{
		Use:   "gateway [flags] -- COMMAND [ARGUMENT…]",
		Short: "Hold a gateway or a proxy to the proposals, from both sides",
		Long: `Start a gateway and be its client and its server: send annotations of all vocabularies, unusual messages and faults of
servers through it, and tell which of them pass, which are refused, and which change on the way. In the command {server} stands for a
program without arguments that is the server on standard input and output, {url} for the same server over
streamable HTTP, and {config} for a file that names it below mcpServers.

The gateway is spoken to on its standard input and output, or at --url once that answers. The exit status is 1 if a check
fails or the gateway cannot be run.`,
		Example: `  weir conformance gateway -- weir wrap --trust trusted --store memory --pins none -- {server}
  weir conformance gateway -- npx mcp-remote {url} --allow-http
  weir conformance gateway --url http://127.0.0.1:8123/mcp -- npx supergateway --port 8123 \
    --outputTransport streamableHttp --stateful --stdio {server}
  weir conformance gateway --junit report.xml -- my-gateway --config {config}`,
		Args: needsArg("the command of a gateway"),
		RunE: func(cmd *cobra.Command, args []string) error {
			self, err := os.Executable()
			if err != nil {
				return err
			}
			g := kit.Gateway{
				Program: program(env, args), URL: url, Relay: []string{self, "conformance", "relay"}, Timeout: flags.timeout, Start: startWait,
			}
			r, err := g.Check(cmd.Context())
			if err != nil {
				return fmt.Errorf("checking the gateway: %w", err)
			}
			return flags.write(env, strings.Join(args, " "), r)
		},
	}
	flags.add(cmd, 10*time.Second, "how long to wait for each answer")
	cmd.Flags().StringVar(&url, "url", "", "speak to the gateway at this `URL` over streamable HTTP")
	return cmd
}

func newConformanceRelay(env *home.Env) *cobra.Command {
	return &cobra.Command{
		Use:     "relay ADDRESS TOKEN",
		Short:   "Connect the server of weir conformance gateway with a gateway",
		Long:    "Connect the server of weir conformance gateway, which starts this, with the gateway that does.",
		Example: "  weir conformance gateway -- my-gateway {server}",
		Hidden:  true,
		Args:    cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			return kit.Relay(args[0], args[1], env.Stdin, env.Stdout)
		},
	}
}

func newConformanceReader(env *home.Env) *cobra.Command {
	var flags reportFlags
	var answers string
	cmd := &cobra.Command{
		Use:   "reader [flags] -- COMMAND [ARGUMENT…]",
		Short: "Hold a reader of annotations to the vectors",
		Long: `Write the vectors of all vocabularies to the standard input of a reader, one JSON object a line, and judge
the lines that it answers on standard output. conformance/README.md describes the lines. Unlike other
commands of this kind it calls nothing: a reader without such a command answers the file of weir conformance vectors, and --answers
judges its answers.

The exit status is 1 if a check fails or the reader cannot be run.`,
		Example: `  weir conformance reader -- ./my-reader --json-lines
  weir conformance reader --junit report.xml -- node reader.mjs
  weir conformance reader --answers answers.jsonl
  weir conformance reader -- weir conformance answer`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if (answers == "") == (len(args) == 0) {
				return usage(cmd, errors.New("needs either a command or --answers"))
			}
			lines, err := kit.Lines()
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), flags.timeout)
			defer cancel()
			target, given := answers, []kit.Answer(nil)
			if answers != "" {
				given, err = readAnswers(env, answers)
			} else {
				target = strings.Join(args, " ")
				given, err = kit.Ask(ctx, program(env, args), lines)
			}
			if err != nil {
				return fmt.Errorf("reading the answers of %s: %w", target, err)
			}
			r, err := kit.Judge(lines, given)
			if err != nil {
				return fmt.Errorf("reading the answers of %s: %w", target, err)
			}
			return flags.write(env, target, r)
		},
	}
	flags.add(cmd, time.Minute, "how long to wait for all answers")
	cmd.Flags().StringVar(&answers, "answers", "", "judge the answers in this `FILE`, or - for standard input")
	return cmd
}

func readAnswers(env *home.Env, path string) ([]kit.Answer, error) {
	if path == "-" {
		return kit.ReadAnswers(env.Stdin)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return kit.ReadAnswers(file)
}

func newConformanceVectors(env *home.Env) *cobra.Command {
	return &cobra.Command{
		Use:     "vectors",
		Short:   "Print the tasks of weir conformance reader",
		Long:    "Print the tasks that weir conformance reader puts to a reader, one JSON object a line. conformance/README.md describes them.",
		Example: "  weir conformance vectors > vectors.jsonl",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			lines, err := kit.Lines()
			if err != nil {
				return err
			}
			return kit.WriteLines(env.Stdout, lines)
		},
	}
}

func newConformanceAnswer(env *home.Env) *cobra.Command {
	return &cobra.Command{
		Use:     "answer",
		Short:   "Answer tasks of weir conformance vectors as Weir reads",
		Long:    "Answer tasks of the form of weir conformance vectors from standard input as Weir reads and writes: the reference for other readers.",
		Example: "  weir conformance vectors | weir conformance answer > answers.jsonl",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := kit.Reply(env.Stdin, env.Stdout); err != nil {
				return fmt.Errorf("reading the tasks: %w", err)
			}
			return nil
		},
	}
}
