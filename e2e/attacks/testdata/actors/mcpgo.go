package main

import (
	"context"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// serveMCPGo binds arguments to structs, as the library's documents show.
func serveMCPGo(_ context.Context, dir string) error {
	s := server.NewMCPServer("actors", "1")
	add := func(name string, schema []byte, act func(mcp.CallToolRequest) (string, error)) {
		s.AddTool(mcp.NewToolWithRawSchema(name, "", schema), func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			text, err := act(r)
			if err != nil {
				return mcp.NewToolResultError(err.Error()), nil
			}
			return mcp.NewToolResultText(text), nil
		})
	}
	add("write_file", writeSchema, func(r mcp.CallToolRequest) (string, error) {
		var w write
		if err := r.BindArguments(&w); err != nil {
			return "", err
		}
		return w.store(dir)
	})
	add("send", mailSchema, func(r mcp.CallToolRequest) (string, error) {
		var m mail
		if err := r.BindArguments(&m); err != nil {
			return "", err
		}
		return m.send(dir)
	})
	return server.ServeStdio(s)
}
