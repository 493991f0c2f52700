package main

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// serveGoSDK decodes arguments with encoding/json, which folds the case of names.
func serveGoSDK(ctx context.Context, dir string) error {
	s := mcp.NewServer(&mcp.Implementation{Name: "actors", Version: "1"}, nil)
	add := func(name string, schema json.RawMessage, act func(json.RawMessage) (string, error)) {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: schema}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			text, err := act(r.Params.Arguments)
			if err != nil {
				return nil, err
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
		})
	}
	add("write_file", writeSchema, func(raw json.RawMessage) (string, error) {
		var w write
		if err := json.Unmarshal(raw, &w); err != nil {
			return "", err
		}
		return w.store(dir)
	})
	add("send", mailSchema, func(raw json.RawMessage) (string, error) {
		var m mail
		if err := json.Unmarshal(raw, &m); err != nil {
			return "", err
		}
		return m.send(dir)
	})
	return s.Run(ctx, &mcp.StdioTransport{})
}
