// Command agent is a host at a terminal: it runs a server, and asks its user before calls that policy is unsure of.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/weir-mcp/weir/approval"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/mcpguard"
)

var lines = bufio.NewScanner(os.Stdin)

func yes(question string) bool {
	fmt.Printf("%s\nyes or no?\n", question)
	return lines.Scan() && lines.Text() == "yes"
}

func main() {
	ctx := context.Background()
	protector, err := mcpguard.New(mcpguard.Options{
		Ask: func(_ context.Context, q *guard.Question) (bool, error) {
			prompt := approval.NewPrompt(q)
			return yes(prompt.Text()) && prompt.Unseen == "", nil
		},
		OnWarning: func(_ context.Context, c *guard.Call, r guard.Refusal) { fmt.Printf("%q: %v\n", c.Name, r) },
	})
	elicit := func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		action := map[bool]string{true: "accept", false: "decline"}[yes(fmt.Sprintf("The server asks: %q", req.Params.Message))]
		return &mcp.ElicitResult{Action: action}, nil
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1.0.0"}, &mcp.ClientOptions{ElicitationHandler: elicit})
	server := &mcp.CommandTransport{Command: exec.Command(os.Args[1])}
	session, failed := client.Connect(ctx, protector.Transport(mcpguard.Server{Name: "notes", Trust: contract.Trusted}, server), nil)
	if err := errors.Join(err, failed); err != nil {
		log.Fatal(err)
	}
	for lines.Scan() {
		answer(mcpguard.WithUserMessage(ctx, lines.Text()), session, lines.Text())
	}
}
