package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// answer runs the agent on a message of the user. A model would choose the calls; this one has a script: it reads a
// note, and publishes it to whom the message ends in.
func answer(ctx context.Context, session *mcp.ClientSession, message string) {
	words := strings.Fields(message)
	if len(words) == 0 {
		return
	}
	for _, call := range []*mcp.CallToolParams{
		{Name: "read", Arguments: map[string]any{"name": "minutes"}},
		{Name: "publish", Arguments: map[string]any{"name": "minutes", "to": words[len(words)-1]}},
	} {
		result, err := session.CallTool(ctx, call)
		if err != nil {
			fmt.Printf("%s: %v\n", call.Name, err)
			return
		}
		for _, block := range result.Content {
			if text, ok := block.(*mcp.TextContent); ok {
				fmt.Printf("%s: %q\n", call.Name, text.Text)
			}
		}
	}
}
