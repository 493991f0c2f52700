package gateway_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/internal/gateway"
	"github.com/weir-mcp/weir/record"
)

// TestAPersonReleasesMaliciousContent has the built-in policy decide on results that were reported as malicious, in every way in
// which hosts ask a person.
func TestAPersonReleasesMaliciousContent(t *testing.T) {
	everyWay(t, func(t *testing.T, connect func(*rig, *mcp.ClientOptions) *mcp.ClientSession) {
		for _, action := range []string{"accept", "decline"} {
			r := newRig(t, func(o *gateway.Options) { o.Servers[0].Overlay = maliciousReads(t) })
			var asked []string
			s := connect(r, person(action, &asked))
			res, text := callTool(t, s, "read_file", map[string]any{"path": "notes.md"})
			if len(asked) == 0 {
				if s.InitializeResult().ProtocolVersion >= "2025-06-18" {
					t.Error("nobody was asked")
				}
				action = "decline" // the host cannot ask
			} else if !strings.Contains(asked[0], "Show the agent the result of tool") || !strings.Contains(asked[0], "buy milk") ||
				!strings.Contains(asked[0], "Reported as malicious by an overlay") {
				t.Errorf("asked %q", asked[0])
			}
			released := action == "accept"
			if res.IsError == released || strings.Contains(text, "buy milk") != released || strings.HasPrefix(text, "Warning by weir: ") != released {
				t.Errorf("%s: the agent gets %q", action, text)
			}
			raised := slices.ContainsFunc(r.recorded(t, record.Label), func(e record.Event) bool { return e.Label.Malicious })
			if raised != released {
				t.Errorf("%s: the session is malicious: %t", action, raised)
			}
		}
	})
}
