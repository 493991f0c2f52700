// Command batch is a host without a user: it makes the calls of jobs, one a line of standard input, and records every
// decision on standard error. Calls that policy would ask a user about are not made.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/mcpguard"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/session"
)

// A job is an agent session of its own: the next one has seen nothing of this one's data.
type job struct {
	Name  string
	Calls []*mcp.CallToolParams
}

func run(ctx context.Context, notes *mcp.ClientSession, j job) error {
	ctx = mcpguard.WithSession(ctx, session.Ref{Key: "batch:" + j.Name, Principal: "batch"})
	for _, call := range j.Calls {
		result, err := notes.CallTool(ctx, call)
		if err != nil {
			return fmt.Errorf("job %q: %w", j.Name, err)
		}
		if result.IsError {
			fmt.Printf("%q: %s failed: %v\n", j.Name, call.Name, result.GetError())
			return nil
		}
		fmt.Printf("%q: %s done\n", j.Name, call.Name)
	}
	return nil
}

func main() {
	ctx := context.Background()
	protector, err := mcpguard.New(mcpguard.Options{
		State: guard.NewState(nil, record.NewLines(os.Stderr)),
		OnWarning: func(_ context.Context, c *guard.Call, r guard.Refusal) {
			fmt.Printf("%q: %s: %v\n", c.Session.Key, c.Name, r)
		},
	})
	client := mcp.NewClient(&mcp.Implementation{Name: "batch", Version: "1.0.0"}, nil)
	server := &mcp.CommandTransport{Command: exec.Command(os.Args[1])}
	notes, failed := client.Connect(ctx, protector.Transport(mcpguard.Server{Name: "notes", Trust: contract.Trusted}, server), nil)
	if err := errors.Join(err, failed); err != nil {
		log.Fatal(err)
	}
	for jobs := json.NewDecoder(os.Stdin); err == nil; {
		var j job
		if err = jobs.Decode(&j); err == nil {
			err = run(ctx, notes, j)
		}
	}
	if !errors.Is(err, io.EOF) {
		log.Fatal(err)
	}
}
