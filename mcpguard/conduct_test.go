package mcpguard_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/gateway/approve"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/mcpguard"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store"
)

// TestBreachesCostTrust has a trusted server break the contracts of its tools. Its own word about its data counts until
// it has lost trust, in another Protector on the same store too, and again once a person has restored it.
func TestBreachesCostTrust(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	answer := func(sensitivity string) mcp.ToolHandler {
		return func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "x"}}, Meta: mcp.Meta{"annotations": map[string]any{
				"openWorldHint": false, "returnMetadata": map[string]any{"source": "system", "sensitivity": sensitivity}}}}, nil
		}
	}
	for i := range 8 {
		tool := &mcp.Tool{Name: fmt.Sprint("t", i), InputSchema: map[string]any{"type": "object"}, Meta: mcp.Meta{"dev.weir/contract": map[string]any{
			"readOnlyHint": true, "destination": []string{"internal"}, "source": []string{"system"}, "sensitivity": []string{}}}}
		server.AddTool(tool, answer(map[bool]string{true: "none", false: "pii"}[i == 7]))
	}
	shared := store.NewMemory(nil)
	var lost []string
	open := func() (*mcpguard.Protector, *mcp.ClientSession, *bool) {
		untrusted := new(bool)
		p := protector(t, func(o *mcpguard.Options) {
			o.State, o.Breaches = nil, shared
			o.OnTrust = func(_ context.Context, server string, now contract.Trust) {
				lost = append(lost, fmt.Sprint(server, " ", now))
			}
			o.OnRaise = func(_ context.Context, _ string, _, after label.Label) { *untrusted = after.Untrusted }
		})
		clientSide, serverSide := mcp.NewInMemoryTransports()
		ss, err := server.Connect(t.Context(), serverSide, nil)
		if err != nil {
			t.Fatal(err)
		}
		host, err := mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1"}, nil).Connect(
			t.Context(), p.Transport(mcpguard.Server{Name: "s", Trust: contract.Trusted}, clientSide), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = host.Close(); _ = ss.Wait() })
		if _, err := host.ListTools(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		return p, host, untrusted
	}
	first, host, _ := open()
	for i := range 6 {
		call(t, host, fmt.Sprint("t", i), nil)
	}
	if want := []string{"s known", "s untrusted"}; !slices.Equal(lost, want) {
		t.Fatalf("told of %q, want %q", lost, want)
	}
	reads := func() bool {
		_, host, untrusted := open()
		call(t, host, "t7", nil)
		return *untrusted
	}
	if !reads() {
		t.Error("another Protector on the store believes the server")
	}
	gateways := lowerSameName(t, shared)
	if err := first.Restore(t.Context(), "other", "why", "ann"); err == nil {
		t.Error("another server was restored")
	}
	if err := first.Restore(t.Context(), "s", "", "ann"); err == nil {
		t.Error("restored without a reason")
	}
	if err := first.Restore(t.Context(), "s", "a new version", "ann"); err != nil {
		t.Fatal(err)
	}
	if reads() {
		t.Error("after a person has restored it the server is not believed")
	}
	if trust := gateways(); trust != contract.Known {
		t.Errorf("the server of a gateway is %v after one of the same name was restored", trust)
	}
	if err := first.Restore(t.Context(), "s", "why", "ann"); !errors.Is(err, approve.ErrNoBreach) {
		t.Errorf("restoring a server without breaches beside one of a gateway: %v", err)
	}
}

// lowerSameName has a server of a gateway with the name s lose trust, and returns the function that tells its trust.
func lowerSameName(t *testing.T, kept store.Approvals) func() contract.Trust {
	t.Helper()
	conduct := approve.NewConduct(kept, record.Discard())
	s := &approve.Served{Name: "s", Trust: contract.Trusted, Reached: "a", Program: "b", Place: "c"}
	for i := range approve.BreachesAStep {
		if _, _, err := conduct.Note(t.Context(), s, approve.NewBreach(s, fmt.Sprint("t", i), guard.Breach{})); err != nil {
			t.Fatal(err)
		}
	}
	return func() contract.Trust {
		trust, err := conduct.Trust(t.Context(), s)
		if err != nil {
			t.Error(err)
		}
		return trust
	}
}
