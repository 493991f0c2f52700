package kit_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-mcp/weir/internal/kit"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
)

const (
	metaVersion = "io.modelcontextprotocol/protocolVersion"
	metaAble    = "io.modelcontextprotocol/clientCapabilities"
	goodState   = `"sealed"`
)

// discovered says that this process was asked what it is.
var discovered bool

// modern answers a request of 2026-07-28.
func (s faulty) modern(m *rpc.Message) string {
	version, _ := rawjson.Get(m.Params, "_meta", metaVersion)
	able, declared := rawjson.Get(m.Params, "_meta", metaAble)
	_, other := rawjson.Get(m.Params, "_meta", "com.example/kit")
	caching := `"ttlMs":0,"cacheScope":"private",`
	if s.fault == "does not say how long" {
		caching = ""
	}
	switch {
	case string(version) != `"2026-07-28"` && s.fault != "takes any revision":
		return `"error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28","2025-11-25"]}}`
	case !declared && s.fault != "takes anyone":
		return `"error":{"code":-32602,"message":"who are you?"}`
	case m.Method == "server/discover":
		discovered = true
		return `"result":{"resultType":"complete",` + caching + `"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}}}`
	case !discovered && s.fault == "remembers clients", other && s.fault == "knows no other _meta":
		return `"error":{"code":-32602,"message":"no"}`
	case m.Method == "tools/list":
		if s.fault == "asks by itself" {
			s.write(`{"jsonrpc":"2.0","id":"mine","method":"roots/list"}`)
		}
		return strings.Replace(s.tools(), `"result":{`, `"result":{`+s.typed("complete")+caching, 1)
	case m.Method == "tools/call":
		return s.asks(m, able)
	case m.Method == "subscriptions/listen" && s.fault != "acknowledges nothing":
		s.write(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{}}}`)
		return `"result":{"resultType":"complete"}`
	case m.Method == "ping" && s.fault == "answers pings":
		return `"result":{"resultType":"complete"}`
	case m.Method == "tools/resolve":
		name, _ := rawjson.Get(m.Params, "name")
		return s.resolve(name)
	case s.fault == "has one code":
		return `"error":{"code":-32000,"message":"no"}`
	}
	return `"error":{"code":-32601,"message":"no"}`
}

// typed returns the type of a result, as its first member.
func (s faulty) typed(kind string) string {
	if s.fault == "has no types" {
		return ""
	}
	return `"resultType":"` + kind + `",`
}

// asks answers a call: with a question first, if the client takes one.
func (s faulty) asks(m *rpc.Message, able []byte) string {
	name, _ := rawjson.Get(m.Params, "name")
	_, elicits := rawjson.Get(able, "elicitation")
	_, answered := rawjson.Get(m.Params, "inputResponses")
	state, _ := rawjson.Get(m.Params, "requestState")
	method := "elicitation/create"
	if s.fault == "asks for the moon" {
		method = "moon/create"
	}
	switch {
	case string(name) != `"look"`:
		return s.call(m, name)
	case answered && s.fault == "does not know its own question", answered && string(state) != goodState && s.fault != "believes any state":
		return `"error":{"code":-32602,"message":"no such question"}`
	case !answered && (elicits || s.fault == "asks everyone"):
		return `"result":{` + s.typed("input_required") + `"inputRequests":{"q":{"method":"` + method + `","params":{}}},"requestState":` + goodState + `}`
	}
	return strings.Replace(s.call(m, name), `"result":{`, `"result":{`+s.typed("complete"), 1)
}

// Each fault of a server in 2026-07-28 breaks exactly the checks of the rules that it breaks.
func TestFaultyStatelessServers(t *testing.T) {
	for fault, want := range map[string]string{
		"has no types":                   "stateless.calls stateless.input stateless.type",
		"does not say how long":          "stateless.caching stateless.discover-caching",
		"takes anyone":                   "stateless.metadata",
		"takes any revision":             "stateless.version",
		"remembers clients":              "stateless.first",
		"knows no other _meta":           "stateless.meta",
		"asks by itself":                 "stateless.requests",
		"acknowledges nothing":           "stateless.listen",
		"answers pings":                  "stateless.removed",
		"asks for the moon":              "stateless.input",
		"asks everyone":                  "stateless.undeclared",
		"does not know its own question": "stateless.retry",
		"believes any state":             "stateless.state",
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			r, err := server(fault).Check(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, strings.Join(failing(r, kit.Failed, kit.Warned), " ")); diff != "" {
				t.Error(diff)
				for _, one := range r.Checks {
					if len(one.Broken) > 0 {
						t.Log(one.ID, one.Broken)
					}
				}
			}
		})
	}
}

// A server speaks either era, both, or none: checks of an era that it does not speak are not applicable.
func TestEras(t *testing.T) {
	for fault, want := range map[string]struct{ passed, absent string }{
		"knows no handshake":    {"stateless.first", "message.ping"},
		"knows handshakes only": {"message.ping", "stateless.first"},
	} {
		r, err := server(fault).Check(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := failing(r, kit.Failed, kit.Warned); len(got) > 0 {
			t.Errorf("%s: it breaks %v", fault, got)
		}
		for verdict, id := range map[kit.Verdict]string{kit.Passed: want.passed, kit.Absent: want.absent} {
			if !strings.Contains(" "+strings.Join(failing(r, verdict), " ")+" ", " "+id+" ") {
				t.Errorf("%s: %s is not %s", fault, id, verdict)
			}
		}
	}
	if _, err := server("knows nothing").Check(t.Context()); err == nil {
		t.Error("a server of neither era is checked")
	}
}
