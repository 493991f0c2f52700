package gateway_test

//lint:file-ignore SA1019 roots and logging are deprecated in 2026-07-28, and have to be kept apart all the same

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/internal/gateway"
	"github.com/weir-mcp/weir/internal/streamable"
)

// A listening is a client that writes down its notifications.
type listening struct {
	*mcp.ClientSession
	mu   sync.Mutex
	told []string
}

func (l *listening) add(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told = append(l.told, what)
}

func (l *listening) count(what string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, told := range l.told {
		if told == what {
			n++
		}
	}
	return n
}

// listen connects a client with these capabilities to a gateway that is served at url.
func listen(t *testing.T, url string, capabilities *mcp.ClientCapabilities) *listening {
	t.Helper()
	l := &listening{}
	l.ClientSession = connect(t, &mcp.StreamableClientTransport{Endpoint: url}, oldEra, &mcp.ClientOptions{
		Capabilities:                capabilities,
		ToolListChangedHandler:      func(context.Context, *mcp.ToolListChangedRequest) { l.add("tools") },
		ResourceUpdatedHandler:      func(context.Context, *mcp.ResourceUpdatedNotificationRequest) { l.add("updated") },
		LoggingMessageHandler:       func(context.Context, *mcp.LoggingMessageRequest) { l.add("log") },
		ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) { l.add("progress") },
	})
	return l
}

// serving serves a gateway for the principal that a header names.
func serving(t *testing.T, g *gateway.Gateway) (url, other string) {
	t.Helper()
	as := func(principal string) string {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			g.Handler().ServeHTTP(w, r.WithContext(streamable.WithPrincipal(r.Context(), principal, false)))
		}))
		t.Cleanup(srv.Close)
		return srv.URL
	}
	return as("ann"), as("ben")
}

func connections(g *gateway.Gateway) int { return g.Status().Servers[0].Connections }

// awaits waits for something that comes in its own time.
func awaits(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for range 2400 {
		if condition() {
			return
		}
		time.Sleep(25 * time.Millisecond)
	}
	t.Errorf("not in time: %s", what)
}

// Sessions share a server only if the operator says so, of one principal, and of clients that take nothing of servers.
func TestWhoShares(t *testing.T) {
	none := &mcp.ClientCapabilities{}
	p := newPairing(t, oldEra, oldEra, "http", func(o *gateway.Options) { o.Share = true })
	url, other := serving(t, p.g)
	var open []*listening
	for _, c := range []struct {
		url  string
		take *mcp.ClientCapabilities
		want int
	}{
		{url, none, 1}, {url, none, 1}, {url, none, 1}, {other, none, 2}, {other, none, 2},
		{url, &mcp.ClientCapabilities{RootsV2: &mcp.RootCapabilities{}}, 3}, {url, &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{}}, 4},
		{url, &mcp.ClientCapabilities{Sampling: &mcp.SamplingCapabilities{}}, 5}, {url, &mcp.ClientCapabilities{Experimental: map[string]any{"x": 1}}, 6},
	} {
		l := listen(t, c.url, c.take)
		if _, text := callTool(t, l.ClientSession, "region", map[string]any{"region": "north"}); text != "in north" {
			t.Errorf("called: %s", text)
		}
		open = append(open, l)
		if got := connections(p.g); got != c.want {
			t.Errorf("%d connections with %+v, want %d", got, c.take, c.want)
		}
	}
	for i, want := range []int{6, 6, 5, 5, 4, 3, 2, 1, 0} {
		open[i].Close()
		awaits(t, "connections end", func() bool { return connections(p.g) == want })
	}
	alone := newPairing(t, oldEra, oldEra, "http")
	url, _ = serving(t, alone.g)
	for n := 1; n <= 2; n++ {
		if listen(t, url, none); connections(alone.g) != n {
			t.Errorf("%d connections without the operator's word, want %d", connections(alone.g), n)
		}
	}
}

// Of sessions that share a server each gets its own notifications, and none of the others.
func TestSharingKeepsSessionsApart(t *testing.T) {
	for _, server := range []string{oldEra, newEra} {
		t.Run("server "+server, func(t *testing.T) {
			t.Parallel()
			p := newPairing(t, oldEra, server, "http", func(o *gateway.Options) { o.Share, o.Apart = true, true })
			url, _ := serving(t, p.g)
			a, b := listen(t, url, &mcp.ClientCapabilities{}), listen(t, url, &mcp.ClientCapabilities{})
			if _, err := a.ListTools(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			if err := a.SetLoggingLevel(t.Context(), &mcp.SetLoggingLevelParams{Level: "info"}); err != nil {
				t.Fatal(err)
			}
			watched := &mcp.SubscribeParams{URI: "test://watched"}
			for range 2 { // twice is once
				if err := a.Subscribe(t.Context(), watched); err != nil {
					t.Fatal(err)
				}
			}
			call := &mcp.CallToolParams{Name: "log"}
			call.SetProgressToken("p")
			for _, l := range []*listening{a, b} {
				if _, err := l.CallTool(t.Context(), call); err != nil {
					t.Fatal(err)
				}
			}
			callTool(t, b.ClientSession, "change", nil)
			awaits(t, "all is told", func() bool {
				return a.count("tools") > 0 && b.count("tools") > 0 && a.count("updated") > 0 && a.count("log") > 0 && a.count("progress") > 0 && b.count("progress") > 0
			})
			if a.count("log") != 1 || a.count("progress") != 1 || a.count("updated") != 1 || b.count("log")+b.count("updated") > 0 || b.count("progress") != 1 {
				t.Errorf("told %q and %q", a.told, b.told)
			}
			// A question of a server is of no session here.
			if res, err := b.CallTool(t.Context(), &mcp.CallToolParams{Name: "form"}); err == nil && !res.IsError {
				t.Errorf("asked over a shared connection: %v", res.Content)
			}
			a.Close()
			if err := b.Subscribe(t.Context(), watched); err != nil {
				t.Fatal(err)
			}
			callTool(t, b.ClientSession, "change", nil)
			awaits(t, "the other session hears of it", func() bool { return b.count("updated") == 1 })
			if got := connections(p.g); got != 1 {
				t.Errorf("%d connections", got)
			}
			keys := []string{}
			for _, e := range p.recorded(t, "decision") {
				if i, _ := slices.BinarySearch(keys, e.Session); i == len(keys) || keys[i] != e.Session {
					keys = slices.Insert(keys, i, e.Session)
				}
			}
			if len(keys) != 2 || !strings.HasPrefix(keys[0], "ann/mcp:") {
				t.Errorf("agent sessions %q", keys)
			}
		})
	}
}
