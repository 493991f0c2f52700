package gateway_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/gateway"
	"github.com/weir-mcp/weir/internal/gateway/backend"
	"github.com/weir-mcp/weir/internal/upstream"
	"github.com/weir-mcp/weir/policy"
)

func TestStatus(t *testing.T) {
	r := newRig(t, func(o *gateway.Options) {
		o.Mode = policy.Enforce
		o.Servers = append(o.Servers, gateway.Server{Name: "gone", Spec: upstream.Spec{Command: []string{"/no/such/program"}}})
	})
	check := func(when string, want []backend.ServerStatus, hosts int) gateway.Status {
		t.Helper()
		s := r.g.Status()
		if diff := cmp.Diff(want, s.Servers, cmpopts.IgnoreFields(backend.ServerStatus{}, "PIDs", "Err", "ErrTime", "Retry")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
		if s.Hosts != hosts || s.Policy.Digest() != policy.Default().Digest() || s.Mode != policy.Enforce {
			t.Errorf("%s: %d hosts, want %d; policy %v, mode %v", when, s.Hosts, hosts, s.Policy, s.Mode)
		}
		return s
	}
	files := backend.ServerStatus{Name: "files", Trust: contract.Trusted, State: backend.Idle}
	mail := backend.ServerStatus{Name: "mail", Trust: contract.Trusted, State: backend.Idle}
	gone := backend.ServerStatus{Name: "gone", State: backend.Idle}
	check("before any host", []backend.ServerStatus{files, mail, gone}, 0)

	asked, answered := make(chan bool), make(chan bool)
	s := r.stdio(t, "2025-11-25", &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			close(asked)
			<-answered
			return &mcp.ElicitResult{Action: "decline"}, nil
		},
	})
	callTool(t, s, "read_file", map[string]any{"path": "salaries.csv"})
	files.State, files.Connections, files.Protocols, files.Calls = backend.Connected, 1, []string{"2025-11-25"}, 1
	mail.State, mail.Connections, mail.Protocols = backend.Connected, 1, []string{"2025-11-25"}
	gone.State = backend.Failed
	got := check("after a call", []backend.ServerStatus{files, mail, gone}, 1)
	if len(got.Servers[0].PIDs) != 1 || len(got.Servers[1].PIDs) != 1 || got.Questions != 0 {
		t.Errorf("%+v", got)
	}
	if last := got.Servers[2]; last.Err == nil || !strings.Contains(last.Err.Error(), "no such file") || last.Retry.Before(time.Now()) || last.ErrTime.IsZero() {
		t.Errorf("%+v", last)
	}

	done := make(chan bool)
	go func() {
		defer close(done)
		callTool(t, s, "send_email", mailTo)
	}()
	<-asked
	if n := r.g.Status().Questions; n != 1 {
		t.Errorf("%d questions are open, want the one that is being asked", n)
	}
	close(answered)
	<-done

	// Another configuration is another server; what the meters say stays.
	servers := []gateway.Server{{Name: "files", Spec: upstream.Spec{Command: []string{"/no/such/program"}}}}
	if _, err := r.g.Reload(t.Context(), gateway.Change{Servers: servers}); err != nil {
		t.Fatal(err)
	}
	check("after a change", []backend.ServerStatus{{Name: "files", State: backend.Idle, Calls: 1}}, 1)
}
