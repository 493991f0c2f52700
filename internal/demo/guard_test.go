package demo_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/internal/demo"
)

// A ruling is what the guard of the tests does with a call.
type ruling uint8

const (
	allow ruling = iota
	ask
	askVaguely
	block
	withhold
)

// guard returns a stand-in for a gateway: a server in this process that offers the tools of a world's servers and asks
// its one rule about every call. Its questions are requests of their own, so it speaks revisions up to 2025-11-25 only.
func guard(rule func(tool string, arguments map[string]any) ruling) demo.Connect {
	return func(ctx context.Context, w *demo.World) (*demo.Way, error) {
		direct, err := demo.Direct()(ctx, w)
		if err != nil {
			return nil, err
		}
		server := mcp.NewServer(&mcp.Implementation{Name: "guard", Version: "1"}, nil)
		client := mcp.NewClient(&mcp.Implementation{Name: "guard", Version: "1"}, nil)
		var upstreams []*mcp.ClientSession
		for _, t := range direct.Transports {
			upstream, err := client.Connect(ctx, t, nil)
			if err != nil {
				return nil, err
			}
			upstreams = append(upstreams, upstream)
			tools, err := upstream.ListTools(ctx, nil)
			if err != nil {
				return nil, err
			}
			for _, tool := range tools.Tools {
				server.AddTool(tool, guarded(upstream, rule))
			}
		}
		near, far := mcp.NewInMemoryTransports()
		session, err := server.Connect(ctx, far, nil)
		if err != nil {
			return nil, err
		}
		return &demo.Way{Transports: []mcp.Transport{near}, Close: func() error {
			for _, u := range upstreams {
				_ = u.Close()
			}
			return session.Close()
		}}, nil
	}
}

func guarded(upstream *mcp.ClientSession, rule func(string, map[string]any) ruling) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var arguments map[string]any
		if err := json.Unmarshal(req.Params.Arguments, &arguments); err != nil {
			return nil, err
		}
		verdict := rule(req.Params.Name, arguments)
		if verdict == ask || verdict == askVaguely {
			question := "May the agent do something?"
			if verdict == ask {
				question = fmt.Sprintf("The agent wants to call %s.\n  %s\nWhy you are asked: to be sure",
					req.Params.Name, req.Params.Arguments)
			}
			answer, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: question})
			if err != nil {
				return nil, err
			}
			if answer.Action != "accept" {
				return refuse("block", "call", "ask-first", "the user said no"), nil
			}
		}
		if verdict == block {
			return refuse("block", "call", "no-credentials", "credentials stay here"), nil
		}
		res, err := upstream.CallTool(ctx, &mcp.CallToolParams{Name: req.Params.Name, Arguments: req.Params.Arguments})
		if err == nil && verdict == withhold {
			return refuse("block", "result", "no-malice", "the server reports malicious activity"), nil
		}
		return res, err
	}
}

func refuse(effect, when, rule, message string) *mcp.CallToolResult {
	verdict := map[string]string{"effect": effect, "when": when, "rule": rule, "message": message}
	return &mcp.CallToolResult{
		Meta: mcp.Meta{"dev.weir/verdict": verdict}, IsError: true,
		Content: []mcp.Content{&mcp.TextContent{Text: "blocked: " + message}},
	}
}

// sensible is a rule that is right about every call of the scenarios.
func sensible(tool string, arguments map[string]any) ruling {
	said := fmt.Sprint(arguments)
	switch {
	case strings.Contains(said, "free-fonts"):
		return withhold
	case strings.Contains(said, "TOKEN"):
		return block
	case tool == "send_email" || tool == "execute" || strings.Contains(said, "collector"):
		return ask
	}
	return allow
}
