// Command weir is a security gateway for the Model Context Protocol. See weir --help.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/weir-mcp/weir/internal/cli"
	"github.com/weir-mcp/weir/internal/home"
)

func main() { os.Exit(run()) }

// run runs the command. The first SIGINT or SIGTERM ends it in order, the second at once.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	cli.DelayCollection()
	return cli.Main(ctx, os.Args[1:], home.Env{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Environ: os.Environ(),
		Standard: [3]*os.File{os.Stdin, os.Stdout, os.Stderr},
	})
}
