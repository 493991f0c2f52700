package mcptool_test

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/mcptool"
)

func ExampleAdd() {
	server := mcp.NewServer(&mcp.Implementation{Name: "mail", Version: "1"}, nil)
	tools, err := mcptool.New(server, mcptool.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = mcptool.Add(tools, &mcp.Tool{Name: "inbox"}, mcptool.Declaration[struct{}]{Contract: contract.Reads(label.UntrustedPublic)},
		func(_ context.Context, c *mcptool.Call, _ struct{}) (*mcp.CallToolResult, any, error) {
			return c.Text("Hello!", label.Label{Untrusted: true}), nil, nil
		})
	fmt.Println(err)
	// No vocabulary has a word for a tool whose outcomes are none.
	err = mcptool.Add(tools, &mcp.Tool{Name: "outbox"}, mcptool.Declaration[struct{}]{Contract: contract.Contract{Outcomes: contract.Possible[contract.Outcome]()}},
		func(context.Context, *mcptool.Call, struct{}) (*mcp.CallToolResult, any, error) { return nil, nil, nil })
	fmt.Println(err != nil)
	// Output:
	// <nil>
	// true
}

func ExampleTools_Resolve() {
	server := mcp.NewServer(&mcp.Implementation{Name: "mail", Version: "1"}, nil)
	tools, err := mcptool.New(server, mcptool.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = mcptool.Add(tools, &mcp.Tool{Name: "send"}, mcptool.Declaration[message]{
		Contract: contract.Sends(contract.Internal, contract.Public),
		Resolve: func(in message, c contract.Contract) (contract.Contract, error) {
			if in.To == "team" {
				c = c.To(contract.Internal)
			}
			return c, nil
		},
	}, func(context.Context, *mcptool.Call, message) (*mcp.CallToolResult, any, error) { return nil, nil, nil })
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := tools.Resolve("send", []byte(`{"to":"team"}`))
	fmt.Println(c.Destinations, err)
	// Output: internal <nil>
}

type message struct {
	To string `json:"to"`
}
