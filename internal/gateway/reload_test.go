package gateway_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/gateway"
	"github.com/weir-mcp/weir/internal/upstream"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/record"
)

// configured keeps the servers of a rig, for a test to change.
func configured(t *testing.T) (*rig, []gateway.Server) {
	var servers []gateway.Server
	r := newRig(t, func(o *gateway.Options) { servers = slices.Clone(o.Servers) })
	return r, servers
}

func (r *rig) reload(t *testing.T, c gateway.Change) gateway.Difference {
	t.Helper()
	d, err := r.g.Reload(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func toolNames(t *testing.T, s *mcp.ClientSession) string {
	t.Helper()
	list, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	return " " + strings.Join(names, " ") + " "
}

func TestReloadServers(t *testing.T) {
	everyWay(t, func(t *testing.T, connect func(*rig, *mcp.ClientOptions) *mcp.ClientSession) {
		r, servers := configured(t)
		changed := make(chan string, 16)
		s := connect(r, &mcp.ClientOptions{
			ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- "tools" },
		})
		if names := toolNames(t, s); !strings.Contains(names, " send_email ") {
			t.Fatalf("tools %s", names)
		}
		files := servers[0]
		second := files
		second.Name, second.Spec.Name = "archive", "archive"
		d := r.reload(t, gateway.Change{Servers: []gateway.Server{files, second}})
		want := gateway.Difference{Added: []string{"archive"}, Removed: []string{"mail"}}
		if diff := cmp.Diff(want, d); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if _, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "send_email", Arguments: mailTo}); err == nil {
			t.Error("a tool of a removed server can be called")
		}
		if names := toolNames(t, s); strings.Contains(names, "email") || !strings.Contains(names, " archive__read_file ") {
			t.Errorf("tools %s", names)
		}
		if _, text := callTool(t, s, "archive__read_file", map[string]any{"path": "notes.md"}); !strings.Contains(text, "milk") {
			t.Errorf("the added server says %q", text)
		}
		if s.InitializeResult().ProtocolVersion >= "2026" {
			return // told by subscription: TestReloadIsAnnounced
		}
		select {
		case <-changed:
		case <-time.After(time.Minute):
			t.Error("the host was not told")
		}
	})
}

// slow is a policy that keeps out of the way.
const slow = `{"content":[{"type":"text","text":"at last"}]}`

// TestReloadKeepsOtherCalls has a call in flight with each of three servers, of which one stays, one gets another trust and
// timeout, and one is replaced.
func TestReloadKeepsOtherCalls(t *testing.T) {
	r := newRecord()
	dir := t.TempDir()
	waits := func(name string) gateway.Server {
		return gateway.Server{Name: name, Trust: contract.Trusted, Spec: upstream.Spec{Name: name, Command: []string{"sh", "-c",
			`while read -r line; do case $line in
*initialize\"*) echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}';;
*tools/list*) id=${line#*\"id\":}; echo '{"jsonrpc":"2.0","id":'${id%%,*}',"result":{"tools":[{"name":"` + name + `","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}}';;
*tools/call*) id=${line#*\"id\":}; : > ` + dir + `/` + name + `.called; while ! test -e ` + dir + `/go; do sleep 0.02; done
echo '{"jsonrpc":"2.0","id":'${id%%,*}',"result":` + slow + `}';;
esac; done`}}}
	}
	servers := []gateway.Server{waits("stays"), waits("adjusted"), waits("replaced")}
	g, err := gateway.New(gateway.Options{Servers: servers, State: guard.NewState(nil, record.NewLines(r)), BaseEnv: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	r.g = g
	s := r.stdio(t, "2025-11-25", nil)
	got := map[string]string{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, server := range servers {
		wg.Go(func() {
			res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: server.Name})
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				got[server.Name] = err.Error()
				return
			}
			got[server.Name] = res.Content[0].(*mcp.TextContent).Text
		})
	}
	for _, server := range servers {
		await(t, filepath.Join(dir, server.Name+".called"))
	}
	after := slices.Clone(servers)
	after[1].Trust, after[1].Timeout = contract.Known, time.Minute
	after[2].Spec.Env = []string{"OTHER=1"}
	d := r.reload(t, gateway.Change{Servers: after})
	if diff := cmp.Diff(gateway.Difference{Replaced: []string{"replaced"}, Adjusted: []string{"adjusted"}}, d); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	write(t, dir, "go", "")
	wg.Wait()
	for name, text := range got {
		if ended := strings.Contains(text, "the connection to it was lost"); ended != (name == "replaced") || !ended && text != "at last" {
			t.Errorf("the call to %s: %s", name, text)
		}
	}
	if res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "replaced"}); err != nil || res.IsError {
		t.Errorf("the new connection: %v %v", res, err)
	}
	connected := 0
	for _, e := range r.recorded(t, record.Upstream) {
		if e.Effect == "connected" {
			connected++
		}
	}
	if connected != 4 {
		t.Errorf("%d connections were made, want one for each server and a second for the replaced one", connected)
	}
}

// await waits for a file to be there.
func await(t *testing.T, path string) {
	t.Helper()
	for range 6000 {
		if _, err := os.Stat(path); err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s never came", path)
}

func TestReloadTrustPolicyAndMode(t *testing.T) {
	r, servers := configured(t)
	s := r.stdio(t, "2025-11-25", nil)
	closed := func() bool {
		list, err := s.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range list.Tools {
			if tool.Name == "read_drafts" {
				return tool.Annotations != nil && tool.Annotations.OpenWorldHint != nil && !*tool.Annotations.OpenWorldHint
			}
		}
		return false
	}
	if !closed() {
		t.Error("the claim of a trusted server does not count")
	}
	servers[1].Trust = contract.Untrusted
	blocks, err := policy.Load("p.yaml", []byte("version: 1\ndefault: block\nrules: []\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range []struct {
		policy *policy.Policy
		mode   policy.Mode
		denied bool
	}{{blocks, policy.Enforce, true}, {blocks, policy.Audit, false}, {nil, policy.Enforce, false}, {blocks, policy.Enforce, true}} {
		r.reload(t, gateway.Change{Servers: servers, Policy: change.policy, Mode: change.mode})
		if closed() {
			t.Error("the claim of a server that is not trusted any more counts")
		}
		if res, text := callTool(t, s, "read_file", map[string]any{"path": "notes.md"}); res.IsError != change.denied {
			t.Errorf("%+v: %s", change, text)
		}
	}
	events := r.recorded(t, record.Reload)
	if len(events) != 4 || events[1].Effect != "audit" || events[0].Message != "policy "+blocks.Digest()+"; adjusted mail" {
		t.Errorf("recorded %+v", events)
	}
}

func TestReloadIsWholeOrNot(t *testing.T) {
	r, servers := configured(t)
	s := r.stdio(t, "2025-11-25", nil)
	blocks, err := policy.Load("p.yaml", []byte("version: 1\ndefault: block\nrules: []\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, broken := range [][]gateway.Server{nil, {servers[0], servers[0]}, {{}}} {
		if _, err := r.g.Reload(t.Context(), gateway.Change{Servers: broken, Policy: blocks}); err == nil {
			t.Errorf("%v was taken over", broken)
		}
	}
	if res, text := callTool(t, s, "read_file", map[string]any{"path": "notes.md"}); res.IsError {
		t.Errorf("a change that was refused counts: %s", text)
	}
	if err := r.g.Close(); err != nil {
		t.Error(err)
	}
	if _, err := r.g.Reload(t.Context(), gateway.Change{Servers: servers}); err == nil {
		t.Error("a closed gateway was changed")
	}
}

// TestReloadIsAnnounced listens as a host of 2026-07-28 does.
func TestReloadIsAnnounced(t *testing.T) {
	r, servers := configured(t)
	w := r.wire(t)
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"h","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	w.send(`{"jsonrpc":"2.0","id":7,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + meta + `}}`)
	if got := w.recv(); !strings.Contains(got, "acknowledged") || !strings.Contains(got, `"toolsListChanged":true`) {
		t.Fatalf("got %s", got)
	}
	r.reload(t, gateway.Change{Servers: servers[:1]})
	if got := w.recv(); !strings.Contains(got, "notifications/tools/list_changed") || !strings.Contains(got, `:7`) {
		t.Errorf("got %s", got)
	}
}

// TestReloadOften changes the servers while hosts call them.
func TestReloadOften(t *testing.T) {
	r, servers := configured(t)
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for _, protocol := range []string{"2025-11-25", "2026-07-28"} {
		s := r.http(t, protocol, nil)
		wg.Go(func() {
			for ctx.Err() == nil {
				res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "read_file", Arguments: map[string]any{"path": "notes.md"}})
				if err != nil || res.IsError {
					t.Errorf("%s: a server that stays did not answer: %v %v", protocol, res, err)
					return
				}
			}
		})
	}
	for i := range 12 {
		r.reload(t, gateway.Change{Servers: servers[:1+i%2]})
		time.Sleep(20 * time.Millisecond)
	}
	stop()
	wg.Wait()
}

// TestReloadTakesOverWaits shortens the time for questions while one is open: the open one keeps its time, the next has the
// new one.
func TestReloadTakesOverWaits(t *testing.T) {
	p := newPairing(t, newEra, oldEra, "stdio", func(o *gateway.Options) { o.Approval = time.Hour })
	r := &retry{wire: p.wire(t)}
	first, question := r.state(r.call("form", ""))
	servers := []gateway.Server{{Name: "asker", Trust: contract.Trusted, Spec: upstream.Spec{Name: "asker", URL: p.url}}}
	p.reload(t, gateway.Change{Servers: servers, Approval: 50 * time.Millisecond})
	second, _ := r.state(r.call("form", ""))
	time.Sleep(200 * time.Millisecond)
	if answer := r.call("form", first+","+accept(question)); !strings.Contains(answer, "accept ann") {
		t.Errorf("the first: %s", answer)
	}
	if answer := r.call("form", second+","+accept(question)); !strings.Contains(answer, "-32602") {
		t.Errorf("the second: %s", answer)
	}
}
