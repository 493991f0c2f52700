// Command bench measures the cost of Weir on the way between a host and a server.
//
//	go run ./internal/bench            # everything, about four minutes
//	go run ./internal/bench -quick     # the same in half a minute, less exact
//	go run ./internal/bench -json      # for other programs
//
// It compares four ways from the same client to the same server: direct; through a bare relay, which reads a message
// and writes it, and knows nothing of it; through Weir in audit mode, without a record and with state in memory; and
// through Weir as it is by default, with a record in a file. The server is known, and calls are plain reads or changes.
// A fifth way is a file that is appended to and synced, without any server. Then it measures starts.
//
// Servers, relays and Weir are processes of their own: the program executes itself in their roles. The ways take turns
// in slices of a fraction of a second, so that a machine which is busy with other things is busy for all of them, and
// the ratios hold where the times do not.
//
// docs/performance.md says how to read the figures.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/weir-mcp/weir/internal/cli"
	"github.com/weir-mcp/weir/internal/home"
)

func main() { os.Exit(run()) }

// run plays the role that the arguments name, or measures.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) > 1 && os.Args[1] == roleArgument {
		return play(ctx, os.Args[2:])
	}
	err := bench(ctx, os.Args[1:], os.Stdout)
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	default:
		fmt.Fprintln(os.Stderr, "bench: error:", err)
		return 1
	}
}

// bench runs the measurements that args select and prints the results.
func bench(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	quick := flags.Bool("quick", false, "take a tenth of the time")
	asJSON := flags.Bool("json", false, "print JSON")
	only := flags.String("only", "", "measure `CELLS` whose name begins with this, like stdio/1KiB")
	profile := flags.String("profile", "", "leave CPU and allocation profiles of the relays and Weir in this `DIRECTORY`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("argument %q: there are only flags", flags.Arg(0))
	}
	p := plan{Slice: 120 * time.Millisecond, Cell: 8 * time.Second, Profile: *profile}
	if *quick {
		p.Slice, p.Cell = 20*time.Millisecond, 400*time.Millisecond
	}
	if strings.HasPrefix(starting, *only) {
		p.Starts = max(3, int(p.Cell/(200*time.Millisecond)))
	}
	for _, c := range allCells() {
		if strings.HasPrefix(c.String(), *only) {
			p.Cells = append(p.Cells, c)
		}
	}
	if len(p.Cells) == 0 && p.Starts == 0 {
		return fmt.Errorf("no cell begins with %q: they are named like %s", *only, allCells()[0])
	}
	if p.Profile != "" {
		if err := os.MkdirAll(p.Profile, 0o700); err != nil {
			return err
		}
	}
	r, err := p.run(ctx)
	if err != nil {
		return err
	}
	if *asJSON {
		enc := json.NewEncoder(out)
		enc.SetIndent("", "  ")
		return enc.Encode(r)
	}
	return r.print(out)
}

// play runs a role to its end and returns the exit status.
func play(ctx context.Context, args []string) int {
	if len(args) < 2 {
		return complain(errors.New("a role needs a prefix for profiles and a name"))
	}
	stop, err := startProfile(args[0])
	if err != nil {
		return complain(err)
	}
	defer stop()
	go observe()
	role, rest := args[1], args[2:]
	switch role {
	case roleServer:
		err = serveLines(rest, os.Stdin, os.Stdout)
	case roleHTTPServer:
		err = serveHTTP(ctx, os.Stderr)
	case roleRelay:
		err = relayLines(rest, os.Stdin, os.Stdout)
	case roleHTTPRelay:
		err = relayHTTP(ctx, rest, os.Stderr)
	case roleWeir:
		cli.DelayCollection()
		return cli.Main(ctx, rest, home.Env{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Environ: weirEnviron(rest)})
	default:
		err = fmt.Errorf("no role %q", role)
	}
	if err != nil {
		return complain(err)
	}
	return 0
}
