package examples_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var programs string // the folder of the built examples

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if programs, err = os.MkdirTemp("", "weir-examples-"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(programs)
		build := exec.Command("go", "build", "-o", programs+string(filepath.Separator), "./...")
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}())
}

// program returns the command of a built example.
func program(t *testing.T, name string, args ...string) *exec.Cmd {
	return exec.CommandContext(t.Context(), filepath.Join(programs, name), args...)
}

// An author reads the whole program at a glance.
func TestExamplesAreShort(t *testing.T) {
	for name, most := range map[string]int{"server": 60, "agent": 50} {
		src, err := os.ReadFile(filepath.Join(name, "main.go"))
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(src, []byte("\n")); n > most {
			t.Errorf("%s has %d lines", name, n)
		}
	}
}

func TestServer(t *testing.T) {
	for _, era := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
		for _, action := range []string{"accept", "decline"} {
			var asked []string
			client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
				ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					asked = append(asked, req.Params.Message)
					return &mcp.ElicitResult{Action: action}, nil
				},
			})
			s, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: program(t, "server")}, &mcp.ClientSessionOptions{ProtocolVersion: era})
			if err != nil {
				t.Fatal(err)
			}
			call := func(name string, meta mcp.Meta, arguments map[string]any) *mcp.CallToolResult {
				r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments, Meta: meta})
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
			note := call("read", nil, map[string]any{"name": "minutes"})
			labelled, _ := note.Meta["annotations"].(map[string]any)
			if labelled["openWorldHint"] != true || labelled["attribution"] == nil {
				t.Errorf("%s: the note's annotations are %v", era, labelled)
			}
			tainted := mcp.Meta{"annotations": map[string]any{"openWorldHint": true}}
			if r := call("publish", tainted, map[string]any{"name": "minutes", "to": "everyone"}); !r.IsError || len(asked) > 0 {
				t.Errorf("%s: untrusted content goes to everyone: %+v", era, r)
			}
			r := call("publish", tainted, map[string]any{"name": "minutes", "to": "team"})
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			published := r.Content[0].(*mcp.TextContent).Text == `published "minutes" to "team"`
			if published != (action == "accept") || r.IsError == published || len(asked) != 1 {
				t.Errorf("%s, %s: asked %q: %+v", era, action, asked, r)
			}
		}
	}
}
