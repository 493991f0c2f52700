package survey_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/survey"
	"github.com/weir-mcp/weir/internal/upstream"
)

// TestMain is a server instead, if it is told so.
func TestMain(m *testing.M) {
	switch os.Getenv("SURVEY_SERVER") {
	case "":
		os.Exit(m.Run())
	case "silent":
		time.Sleep(time.Hour)
	case "tools":
		serve()
	}
}

func serve() {
	s := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, &mcp.ServerOptions{PageSize: 2})
	for i := range 5 {
		mcp.AddTool(s, &mcp.Tool{Name: fmt.Sprintf("t%d", i)}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			panic("a survey calls nothing")
		})
	}
	s.AddPrompt(&mcp.Prompt{Name: "p"}, nil)
	s.AddResource(&mcp.Resource{Name: "r", URI: "file:///r"}, nil)
	s.AddResourceTemplate(&mcp.ResourceTemplate{Name: "t", URITemplate: "file:///{t}"}, nil)
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		os.Exit(1)
	}
}

func TestAsk(t *testing.T) {
	server := func(kind string) upstream.Spec {
		return upstream.Spec{Name: kind, Command: []string{os.Args[0]}, Env: []string{"SURVEY_SERVER=" + kind}}
	}
	missing := upstream.Spec{Name: "missing", Command: []string{"/nowhere/at/all"}}
	var told []int
	all := survey.Ask(t.Context(), []upstream.Spec{server("tools"), server("silent"), missing, server("tools")}, survey.Options{
		Timeout: 5 * time.Second, Progress: func(done, all int, _ string) { told = append(told, done, all) },
	})
	for _, i := range []int{0, 3} {
		l := all[i]
		if l.Err != nil || len(l.Tools) != 5 || len(l.Prompts) != 1 || len(l.Resources) != 1 || len(l.Templates) != 1 {
			t.Errorf("listing %d: %+v", i, l)
		}
		if name, _ := rawjson.Get(l.Info, "name"); string(name) != `"s"` {
			t.Errorf("listing %d: info %s", i, l.Info)
		}
	}
	for _, i := range []int{1, 2} {
		if l := all[i]; l.Err == nil || !strings.Contains(l.Err.Error(), l.Server) || l.Tools != nil {
			t.Errorf("listing %d: %+v", i, l)
		}
	}
	if got := fmt.Sprint(told); got != "[1 4 2 4 3 4 4 4]" {
		t.Errorf("progress: %s", got)
	}
}
