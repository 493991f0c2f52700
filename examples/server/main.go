// Command server keeps notes that came by mail and publishes them. It speaks MCP on standard input and output.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/mcptool"
)

type note struct {
	Name string `json:"name"`
	To   string `json:"to,omitempty" jsonschema:"team or everyone"`
}

var notes = map[string]string{"minutes": "We meet on Monday."}

func read(_ context.Context, c *mcptool.Call, in note) (*mcp.CallToolResult, any, error) {
	return c.Text(notes[in.Name], label.Label{Untrusted: true, Attribution: label.SetOf("imap://notes.example")}), nil, nil
}

func publish(ctx context.Context, c *mcptool.Call, in note) (*mcp.CallToolResult, any, error) {
	if err := c.Ask(ctx, fmt.Sprintf("Publish a note? It is %q, for %q.", in.Name, in.To)); err != nil {
		return nil, nil, err
	}
	return c.Text(fmt.Sprintf("published %q to %q", in.Name, in.To), label.Label{}), nil, nil
}

func narrow(in note, c contract.Contract) (contract.Contract, error) {
	if in.To == "team" {
		c = c.To(contract.Internal)
	}
	return c, nil
}

func admit(seen label.Label, in note) mcptool.Decision {
	if seen.Untrusted && in.To != "team" {
		return mcptool.Refuse("untrusted content goes to the team only")
	}
	return mcptool.Allow()
}

func main() {
	server := mcp.NewServer(&mcp.Implementation{Name: "notes", Version: "1.0.0"}, nil)
	tools, _ := mcptool.New(server, mcptool.Options{}) // fails for a bad key only
	err := errors.Join(mcptool.Add(tools, &mcp.Tool{Name: "read"}, mcptool.Declaration[note]{Contract: contract.Reads(label.UntrustedPublic)}, read),
		mcptool.Add(tools, &mcp.Tool{Name: "publish"}, mcptool.Declaration[note]{
			Contract: contract.Sends(contract.Internal, contract.Public), Resolve: narrow, Admit: admit}, publish))
	if err == nil {
		err = server.Run(context.Background(), &mcp.StdioTransport{})
	}
	if err != nil {
		log.Fatal(err)
	}
}
