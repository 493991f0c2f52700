package mcptool_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/mcptool"
)

type file struct {
	Path string `json:"path"`
	Text string `json:"text,omitempty"`
}

// The contracts of the two tools. Files below public/ are published.
var (
	reads = contract.Contract{
		ReadOnly: contract.Yes, OpenWorld: contract.No, Destinations: contract.Possible(contract.Ephemeral),
		Accepts: contract.Possible[label.Class](), Outcomes: contract.Possible(contract.Benign),
		Sources: contract.Possible(label.Internal), Returns: contract.Possible(label.Credentials),
	}
	writes = contract.Contract{
		ReadOnly: contract.No, OpenWorld: contract.No, Destinations: contract.Possible(contract.Internal, contract.Public),
		Accepts: contract.Possible[label.Class](), Outcomes: contract.Possible(contract.Consequential),
		Sources: contract.Possible(label.System), Returns: contract.Possible[label.Class](),
	}
)

// newFileServer is the server of SEP-1913, Reference Implementation. It asks before it publishes untrusted content.
func newFileServer(root *os.Root) (*mcp.Server, error) {
	server := mcp.NewServer(&mcp.Implementation{Name: "file-server", Version: "1.0.0"}, nil)
	tools, err := mcptool.New(server, mcptool.Options{})
	if err != nil {
		return nil, err
	}
	reading := mcptool.Add(tools, &mcp.Tool{Name: "read_file"}, mcptool.Declaration[file]{Contract: reads},
		func(_ context.Context, c *mcptool.Call, in file) (*mcp.CallToolResult, any, error) {
			text, err := root.ReadFile(in.Path)
			l := label.Label{Sources: label.SetOf(label.Internal), Attribution: label.SetOf("file:///" + in.Path)}
			if strings.Contains(string(text), "BEGIN PRIVATE KEY") {
				l.Sensitivity = label.SetOf(label.Credentials)
			}
			return c.Text(string(text), l), nil, err
		})
	writing := mcptool.Add(tools, &mcp.Tool{Name: "write_file"}, mcptool.Declaration[file]{
		Contract: writes,
		Resolve: func(in file, c contract.Contract) (contract.Contract, error) {
			c.Destinations = contract.Possible(destination(in))
			return c, nil
		},
		Admit: func(seen label.Label, in file) mcptool.Decision {
			if seen.Untrusted && destination(in) == contract.Public {
				return mcptool.Ask("Publish untrusted content as " + in.Path + "?")
			}
			return mcptool.Allow()
		},
	}, func(_ context.Context, c *mcptool.Call, in file) (*mcp.CallToolResult, any, error) {
		return c.Text("written", label.Label{Sources: label.SetOf(label.System)}), nil, root.WriteFile(in.Path, []byte(in.Text), 0o600)
	})
	return server, errors.Join(reading, writing)
}

func destination(in file) contract.Destination {
	if strings.HasPrefix(filepath.ToSlash(filepath.Clean(in.Path)), "public/") {
		return contract.Public
	}
	return contract.Internal
}
