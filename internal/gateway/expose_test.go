package gateway_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/gateway"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/record"
)

func selection(t *testing.T, text string) guard.Exposure {
	t.Helper()
	s, err := policy.ParseSelection(text)
	if err != nil {
		t.Fatal(err)
	}
	return guard.Exposure{s}
}

// refusedAsUnknown requires that a call ends as one of a tool that no server has.
func refusedAsUnknown(t *testing.T, s *mcp.ClientSession, name string, arguments map[string]any) {
	t.Helper()
	res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments})
	_, unknown := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "no_such_tool", Arguments: arguments})
	if err == nil || unknown == nil || err.Error() != strings.ReplaceAll(unknown.Error(), "no_such_tool", name) {
		t.Errorf("a call of %s: %+v, %v; one of a tool that is not there: %v", name, res, err, unknown)
	}
}

// TestExpose holds that a tool which is not exposed is neither listed nor called, until a reload exposes it.
func TestExpose(t *testing.T) {
	everyWay(t, func(t *testing.T, connect func(*rig, *mcp.ClientOptions) *mcp.ClientSession) {
		var servers []gateway.Server
		r := newRig(t, func(o *gateway.Options) {
			for i := range o.Servers {
				o.Servers[i].Expose = selection(t, "tool.annotations.readOnlyHint")
			}
			servers = append(servers, o.Servers...)
		})
		changed := make(chan string, 16)
		s := connect(r, &mcp.ClientOptions{
			ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- "tools" },
		})
		names := toolNames(t, s)
		if !strings.Contains(names, " read_file ") || strings.Contains(names, " write_file ") || strings.Contains(names, " send_email ") {
			t.Errorf("tools %s", names)
		}
		arguments := map[string]any{"path": "new.txt", "text": "x"}
		refusedAsUnknown(t, s, "write_file", arguments)
		callTool(t, s, "read_file", map[string]any{"path": "notes.md"})
		for _, e := range r.g.Tools() {
			if e.Name == "write_file" {
				t.Error("the console shows a tool that is not exposed")
			}
		}

		servers[0].Expose = nil
		if d := r.reload(t, gateway.Change{Servers: servers}); strings.Join(d.Adjusted, " ") != "files" {
			t.Errorf("reload: %+v", d)
		}
		select {
		case <-changed:
		case <-time.After(time.Minute):
			t.Fatal("the host is not told that the tools have changed")
		}
		if names := toolNames(t, s); !strings.Contains(names, " write_file ") || strings.Contains(names, " send_email ") {
			t.Errorf("after the reload: %s", names)
		}
		if res, text := callTool(t, s, "write_file", arguments); res.IsError {
			t.Errorf("after the reload: %s", text)
		}
	})
}

// TestReadOnlyListsReads has the profile read-only list only tools that it may let go. The others are blocked and recorded.
func TestReadOnlyListsReads(t *testing.T) {
	reads, _ := policy.Profile("read-only")
	var servers []gateway.Server
	r := newRig(t, func(o *gateway.Options) { o.Policy = reads; servers = o.Servers })
	changed := make(chan string, 16)
	s := r.stdio(t, "2025-11-25", &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- "tools" },
	})
	if names := toolNames(t, s); !strings.Contains(names, " read_file ") || strings.Contains(names, " write_file ") {
		t.Errorf("tools %s", names)
	}
	arguments := map[string]any{"path": "new.txt", "text": "x"}
	blocked := func() {
		t.Helper()
		before := len(r.recorded(t, record.Decision))
		if res, text := callTool(t, s, "write_file", arguments); !res.IsError || !strings.Contains(text, "only reading is allowed") {
			t.Errorf("a call that is not listed gets %q", text)
		}
		if d := r.recorded(t, record.Decision); len(d) != before+1 || d[before].Effect != "block" {
			t.Errorf("decisions: %+v", d[before:])
		}
	}
	blocked()
	for _, change := range []gateway.Change{{Servers: servers}, {Servers: servers, Policy: reads, Mode: policy.WarnOnly}} {
		r.reload(t, change)
		select {
		case <-changed:
		case <-time.After(time.Minute):
			t.Fatal("the host is not told that the tools have changed")
		}
		if names := toolNames(t, s); !strings.Contains(names, " write_file ") {
			t.Errorf("after the reload: %s", names)
		}
		r.reload(t, gateway.Change{Servers: servers, Policy: reads})
		<-changed
		if names := toolNames(t, s); strings.Contains(names, " write_file ") {
			t.Errorf("back under read-only: %s", names)
		}
	}
	blocked()
}

// TestNoWayAroundExpose has no method that nobody knows be a way to a tool that is not exposed.
func TestNoWayAroundExpose(t *testing.T) {
	r := newRig(t, func(o *gateway.Options) {
		o.Servers = o.Servers[:1]
		o.Mode = policy.Audit // nothing else holds a request back
		o.Servers[0].Expose = selection(t, "tool.annotations.readOnlyHint")
	})
	w := r.wire(t)
	w.ask(hello)
	for _, method := range []string{"tools/call", "tools/Call", "tools/call/async", "tools/resolve", "x/y"} {
		answer := w.ask(`{"jsonrpc":"2.0","id":"1","method":"` + method + `","params":{"name":"write_file","arguments":{"path":"a","text":"b"}}}`)
		if !strings.Contains(answer, `"error":{"code":-3260`) {
			t.Errorf("%s gets %s", method, answer)
		}
	}
	if d := len(r.recorded(t, record.Decision)); d != 0 {
		t.Errorf("%d decisions", d)
	}
}

// TestExposedMethods holds that of the methods that nobody here knows only those of tasks reach a server whose tools are
// not all exposed: any other may call a tool.
func TestExposedMethods(t *testing.T) {
	h := newLeakyHost(t, false, func(o *gateway.Options) { o.Servers[0].Expose = selection(t, "tool.annotations.readOnlyHint") })
	for method, passes := range map[string]bool{
		"tasks/get": true, "tasks/result": true, "tasks/call": false, "tasks/": false, "tasks/get/tools/call": false, "Tasks/get": false, "x/call": false,
	} {
		answer := string(h.request(method, `"taskId":"1","name":"post","arguments":{}`))
		if unknown := strings.Contains(answer, `"code":-32601`) && strings.Contains(answer, "method not found"); unknown == passes {
			t.Errorf("%s: %s", method, answer)
		}
	}
}
