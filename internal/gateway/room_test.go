package gateway

import (
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/budget"
	"github.com/weir-mcp/weir/internal/upstream"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/session"
)

// filesOver returns the servers of tests: an empty folder.
func filesOver(t *testing.T) []Server {
	return []Server{{Name: "files", Trust: contract.Trusted, Spec: upstream.Spec{
		Name: "files", Command: []string{os.Args[0], "serve", "files", t.TempDir()},
	}}}
}

const (
	opens = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"h","version":"1"}}}`
	reads = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"notes.md"}}}`
)

// Where HTTP sessions have all the processes, the one that was quiet for the longest time gives its own up, keeps its id and its label, and gets
// others with its next request. At the end nothing is taken.
func TestProcessesGiveWay(t *testing.T) {
	limits := budget.New(budget.Limits{Processes: 2})
	sessions := session.New(session.Options{})
	g, err := New(Options{State: guard.NewState(sessions, record.Discard()), Servers: filesOver(t), BaseEnv: os.Environ(), Budget: limits, Web: Web{Apart: true}})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(g.Handler())
	var ids []string
	for range 4 {
		id := post(t, srv.URL, "", opens).Header.Get("Mcp-Session-Id")
		post(t, srv.URL, id, reads)
		ids = append(ids, id)
	}
	key := "local/mcp:" + ids[0]
	if _, err := sessions.Raise(t.Context(), key, label.Label{Untrusted: true}); err != nil {
		t.Fatal(err)
	}
	post(t, srv.URL, ids[0], reads)
	if state, err := sessions.Snapshot(t.Context(), key); err != nil || !state.Label.Untrusted || state.Calls != 2 {
		t.Errorf("the first session after its sleep: %+v, %v", state, err)
	}
	u := limits.Processes.Usage()
	if u.Peak != 2 || u.Evicted < 3 || u.Refused != 0 {
		t.Errorf("%+v", u)
	}
	http.DefaultClient.CloseIdleConnections()
	srv.Close()
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	for _, u := range limits.Usage() {
		if u.Used != 0 {
			t.Errorf("%d %s are still taken", u.Used, u.Of)
		}
	}
}

// Processes that end by themselves are no longer counted, and neither are those that do not start.
func TestProcessesThatEnd(t *testing.T) {
	limits := budget.New(budget.Limits{})
	servers := append(filesOver(t), Server{Name: "none", Spec: upstream.Spec{Name: "none", Command: []string{"/bin/false"}}})
	g, err := New(Options{State: guard.NewState(nil, record.Discard()), Servers: servers, BaseEnv: os.Environ(), Budget: limits})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	srv := httptest.NewServer(g.Handler())
	defer srv.Close()
	id := post(t, srv.URL, "", opens).Header.Get("Mcp-Session-Id")
	for _, want := range []int64{1, 0} {
		for n := 0; limits.Processes.Usage().Used != want; n++ {
			if n == 2400 {
				t.Fatalf("%+v, want %d", limits.Processes.Usage(), want)
			}
			time.Sleep(25 * time.Millisecond)
		}
		if want == 1 {
			post(t, srv.URL, id, "")
		}
	}
}
