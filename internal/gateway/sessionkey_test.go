package gateway

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/session"
)

func TestSessionRef(t *testing.T) {
	header := func(pairs ...string) http.Header {
		h := http.Header{}
		for i := 0; i < len(pairs); i += 2 {
			h.Set(pairs[i], pairs[i+1])
		}
		return h
	}
	for _, test := range []struct {
		name   string
		host   host
		params string
		want   session.Ref
	}{
		{"nothing known", host{}, `{}`, session.Ref{Key: "ann/principal:"}},
		{"stdio", host{process: "x"}, `{}`, session.Ref{Key: "ann/process:x"}},
		{"an MCP session", host{mcpSession: "m", process: "x"}, `{}`, session.Ref{Key: "ann/mcp:m"}},
		{"the header", host{mcpSession: "m", header: header("Weir-Agent-Session", "h")}, `{}`, session.Ref{Key: "ann/agent:h"}},
		{"baggage in a header", host{header: header("Weir-Agent-Session", "h", "baggage", "a=b, session.id = c%20d ;p=1")}, `{}`,
			session.Ref{Key: "ann/conversation:c d"}},
		{"the conversation before the session", host{}, `{"_meta":{"baggage":"session.id=s,gen_ai.conversation.id=c"}}`,
			session.Ref{Key: "ann/conversation:c"}},
		{"baggage of the request before the header's", host{header: header("baggage", "session.id=h")}, `{"_meta":{"baggage":"session.id=m"}}`,
			session.Ref{Key: "ann/conversation:m"}},
		{"the host's own word", host{header: header("baggage", "session.id=h")}, `{"_meta":{"dev.weir/agent-session":"a","baggage":"session.id=b"}}`,
			session.Ref{Key: "ann/agent:a"}},
		{"with a parent", host{}, `{"_meta":{"dev.weir/agent-session":"a","dev.weir/parent-agent-session":"p"}}`,
			session.Ref{Key: "ann/agent:a", Parent: "ann/agent:p"}},
		{"a parent of no named session", host{process: "x"}, `{"_meta":{"dev.weir/parent-agent-session":"p"}}`, session.Ref{Key: "ann/process:x"}},
		{"a wrong type", host{process: "x"}, `{"_meta":{"dev.weir/agent-session":7}}`, session.Ref{Key: "ann/process:x"}},
		{"bad baggage", host{process: "x"}, `{"_meta":{"baggage":"session.id=%zz,;=,session.id"}}`, session.Ref{Key: "ann/process:x"}},
		{"what a model writes", host{process: "x"}, `{"arguments":{"_meta":{"dev.weir/agent-session":"a"},"dev.weir/agent-session":"a"}}`,
			session.Ref{Key: "ann/process:x"}},
	} {
		test.host.principal = "ann"
		test.host = test.host.named()
		test.want.Principal = "ann"
		if got := test.host.sessionRef(json.RawMessage(test.params)); got != test.want {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
}

func TestSessionKeysOfPrincipalsStayApart(t *testing.T) {
	mine := (&host{principal: "a"}).key("agent", "x")
	for _, h := range []host{{principal: "a/agent:x"}, {principal: "a/agent"}, {principal: "b"}} {
		for _, value := range []string{"", "x", ":x"} {
			if got := h.key("agent", value); got == mine {
				t.Errorf("principal %q reaches the session of a", h.principal)
			}
		}
	}
	for _, odd := range []string{strings.Repeat("x", 5000), "a\nb", "\x00"} {
		if got := (&host{principal: "a"}).key("agent", odd); len(got) > 300 || strings.ContainsAny(got, "\n\x00") {
			t.Errorf("key of %.20q is %q", odd, got)
		}
	}
}

func FuzzSessionRef(f *testing.F) {
	f.Add(`{"_meta":{"baggage":"session.id=a"}}`, "session.id=b")
	f.Fuzz(func(t *testing.T, params, baggage string) {
		h := (host{principal: "ann", process: "x", header: http.Header{"Baggage": {baggage}}}).named()
		ref := h.sessionRef(json.RawMessage(params))
		if !strings.HasPrefix(ref.Key, "ann/") || len(ref.Key) > 300 {
			t.Errorf("key %q", ref.Key)
		}
	})
}
