package streamable_test

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/internal/streamable"
)

// code returns the code of the JSON-RPC error in an answer, 0 if it is none.
func code(body string) string {
	c, _ := rawjson.Get([]byte(body), "error", "code")
	if c == nil {
		return "0"
	}
	return string(c)
}

func id(body string) string {
	v, _ := rawjson.Get([]byte(body), "id")
	return string(v)
}

const (
	ping       = `{"jsonrpc":"2.0","id":7,"method":"ping"}`
	discover   = `{"jsonrpc":"2.0","id":7,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`
	echo       = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`
	newVersion = "Mcp-Protocol-Version: 2026-07-28"
)

func TestRefusals(t *testing.T) {
	url, _ := start(t, newToy(), streamable.Options{
		MaxBody:        1 << 16,
		AllowedHosts:   []string{"Weir.Example"},
		AllowedOrigins: []string{"https://App.example"},
	})
	known := session(t, url)
	server := strings.TrimPrefix(url, "http://")
	_, port, _ := net.SplitHostPort(server)
	for _, c := range []struct {
		name   string
		call   call
		status int
		code   string
	}{
		// Host
		{"host rebound", call{host: "evil.example", body: initialize}, 403, "0"},
		{"host rebound with port", call{host: "evil.example:" + port, body: initialize}, 403, "0"},
		{"host like loopback", call{host: "127.0.0.1.evil.example", body: initialize}, 403, "0"},
		{"host like localhost", call{host: "localhost.evil.example", body: initialize}, 403, "0"},
		{"host is elsewhere", call{host: "192.0.2.1", body: initialize}, 403, "0"},
		{"host localhost", call{host: "LocalHost:1", body: initialize}, 200, "0"},
		{"host IPv6", call{host: "[::1]:99", body: initialize}, 200, "0"},
		{"host IPv6 without port", call{host: "[::1]", body: initialize}, 200, "0"},
		{"host mapped", call{host: "[::ffff:127.0.0.1]:99", body: initialize}, 200, "0"},
		{"host allowed", call{host: "weir.example:443", body: initialize}, 200, "0"},
		{"host of a GET", call{method: "GET", host: "evil.example", session: known}, 403, "0"},
		{"host of a DELETE", call{method: "DELETE", host: "evil.example", session: known}, 403, "0"},

		// Origin
		{"origin foreign", call{header: "Origin: https://evil.example", body: initialize}, 403, "0"},
		{"origin null", call{header: "Origin: null", body: initialize}, 403, "0"},
		{"origin of another port", call{header: "Origin: http://127.0.0.1:1", body: initialize}, 403, "0"},
		{"origin with user", call{header: "Origin: http://x@" + server, body: initialize}, 403, "0"},
		{"origin with path", call{header: "Origin: http://" + server + "/", body: initialize}, 403, "0"},
		{"origin of another scheme", call{header: "Origin: file://" + server, body: initialize}, 403, "0"},
		{"origin twice", call{header: "Origin: http://" + server + "\nOrigin: http://evil.example", body: initialize}, 403, "0"},
		{"origin of a GET", call{method: "GET", header: "Origin: http://evil.example", session: known}, 403, "0"},
		{"origin own", call{header: "Origin: http://" + server, body: initialize}, 200, "0"},
		{"origin own, default port", call{host: "localhost", header: "Origin: http://localhost:80", body: initialize}, 200, "0"},
		{"origin own, behind TLS", call{host: "weir.example", header: "Origin: https://weir.example", body: initialize}, 200, "0"},
		{"origin allowed", call{header: "Origin: https://app.example", body: initialize}, 200, "0"},

		// Media types
		{"content type missing", call{header: "Content-Type: -", body: initialize}, 415, "0"},
		{"content type of forms", call{header: "Content-Type: text/plain", body: initialize}, 415, "0"},
		{"content type like JSON", call{header: "Content-Type: application/json-seq", body: initialize}, 415, "0"},
		{"content type broken", call{header: "Content-Type: application/json; =", body: initialize}, 415, "0"},
		{"content type with charset", call{header: "Content-Type: Application/JSON; charset=utf-8", body: initialize}, 200, "0"},
		{"content encoding", call{header: "Content-Encoding: gzip", body: initialize}, 415, "0"},
		{"accept missing", call{header: "Accept: -", body: initialize}, 406, "0"},
		{"accept JSON only", call{header: "Accept: application/json", body: initialize}, 406, "0"},
		{"accept streams only", call{header: "Accept: text/event-stream", body: initialize}, 406, "0"},
		{"accept refusing streams", call{header: "Accept: application/json, text/event-stream;q=0.0", body: initialize}, 406, "0"},
		{"accept anything", call{header: "Accept: */*", body: initialize}, 200, "0"},
		{"accept by weight", call{header: "Accept: text/*;q=0.5\nAccept: application/*", body: initialize}, 200, "0"},
		{"accept of GET", call{method: "GET", header: "Accept: application/json", session: known}, 406, "0"},

		// Body
		{"body empty", call{}, 400, "-32700"},
		{"body not JSON", call{body: "{"}, 400, "-32700"},
		{"body with two values", call{body: ping + ping}, 400, "-32700"},
		{"body not UTF-8", call{body: `{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":"` + "\xff" + `"}}`}, 400, "-32700"},
		{"body with duplicate members", call{body: `{"jsonrpc":"2.0","id":7,"method":"ping","method":"pong"}`}, 400, "-32700"},
		{"body with hidden duplicates", call{body: `{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":1,"\u0061":2}}`}, 400, "-32700"},
		{"body is a batch", call{body: "[" + ping + "," + ping + "]"}, 400, "-32600"},
		{"body is a batch in a session", call{body: "[" + ping + "]", session: known}, 400, "-32600"},
		{"body is no message", call{body: `{"jsonrpc":"2.0","id":7}`}, 400, "-32600"},
		{"body is too long", call{body: strings.Repeat(" ", 1<<16) + ping}, 413, "0"},
		{"body is of the longest", call{body: initialize + strings.Repeat(" ", 1<<16-len(initialize))}, 200, "0"},

		// Sessions
		{"no session", call{body: ping}, 400, "-32600"},
		{"no session, notification", call{body: `{"jsonrpc":"2.0","method":"notifications/initialized"}`}, 400, "-32600"},
		{"no session, initialize as notification", call{body: `{"jsonrpc":"2.0","method":"initialize"}`}, 400, "-32600"},
		{"no session, response", call{body: `{"jsonrpc":"2.0","id":7,"result":{}}`}, 400, "-32600"},
		{"unknown session", call{body: ping, session: "A"}, 404, "0"},
		{"session twice", call{body: ping, header: "Mcp-Session-Id: " + known + "\nMcp-Session-Id: A"}, 400, "-32020"},
		{"session", call{body: ping, session: known}, 200, "0"},
		{"GET without session", call{method: "GET"}, 400, "0"},
		{"GET of unknown session", call{method: "GET", session: "A"}, 404, "0"},
		{"DELETE without session", call{method: "DELETE"}, 400, "0"},
		{"DELETE of unknown session", call{method: "DELETE", session: "A"}, 404, "0"},
		{"initialize that fails", call{body: strings.Replace(initialize, "2025-11-25", "bad", 1)}, 200, "-32602"},

		// Methods
		{"PUT", call{method: "PUT", body: initialize}, 405, "0"},
		{"OPTIONS", call{method: "OPTIONS"}, 405, "0"},
		{"GET in the modern era", call{method: "GET", header: newVersion}, 405, "0"},
		{"GET with a session in the modern era", call{method: "GET", header: newVersion, session: known}, 405, "0"},
		{"DELETE in the modern era", call{method: "DELETE", header: newVersion, session: known}, 405, "0"},

		// Revisions
		{"version malformed", call{header: "Mcp-Protocol-Version: invalid", body: ping, session: known}, 400, "-32022"},
		{"version of the past", call{header: "Mcp-Protocol-Version: 2000-01-01", body: ping, session: known}, 400, "-32022"},
		{"version of the future", call{header: "Mcp-Protocol-Version: 2099-01-01", body: ping}, 400, "-32022"},
		{"version of the future in both", call{header: "Mcp-Protocol-Version: 2099-01-01\nMcp-Method: server/discover", body: strings.ReplaceAll(discover, "2026-07-28", "2099-01-01")}, 400, "-32022"},
		{"version of a GET", call{method: "GET", header: "Mcp-Protocol-Version: x", session: known}, 400, "-32022"},
		{"version twice", call{header: "Mcp-Protocol-Version: 2025-06-18\nMcp-Protocol-Version: 2026-07-28", body: ping, session: known}, 400, "-32020"},
		{"version older", call{header: "Mcp-Protocol-Version: 2025-03-26", body: ping, session: known}, 200, "0"},
		{"version older in _meta", call{body: strings.Replace(discover, "2026-07-28", "2025-11-25", 1), session: known}, 200, "0"},

		// Headers that mirror the body
		{"mirror", call{header: newVersion + "\nMcp-Method: server/discover", body: discover}, 200, "0"},
		{"mirror, session ignored", call{header: newVersion + "\nMcp-Method: server/discover", body: discover, session: "A"}, 200, "0"},
		{"mirror, spaces around", call{header: newVersion + "\nMcp-Method:   server/discover  ", body: discover}, 200, "0"},
		{"mirror, version header missing", call{header: "Mcp-Method: server/discover", body: discover}, 400, "-32020"},
		{"mirror, version header older", call{header: "Mcp-Protocol-Version: 2025-11-25\nMcp-Method: server/discover", body: discover}, 400, "-32020"},
		{"mirror, version in body missing", call{header: newVersion + "\nMcp-Method: ping", body: ping}, 400, "-32602"},
		{"mirror, version in body no string", call{header: newVersion + "\nMcp-Method: server/discover", body: strings.Replace(discover, `"2026-07-28"`, "1", 1)}, 400, "-32602"},
		{"mirror, version in body older", call{header: newVersion + "\nMcp-Method: server/discover", body: strings.Replace(discover, "2026-07-28", "2025-11-25", 1)}, 400, "-32020"},
		{"mirror, method missing", call{header: newVersion, body: discover}, 400, "-32020"},
		{"mirror, method differs", call{header: newVersion + "\nMcp-Method: tools/list", body: discover}, 400, "-32020"},
		{"mirror, method in capitals", call{header: newVersion + "\nMcp-Method: SERVER/DISCOVER", body: discover}, 400, "-32020"},
		{"mirror, method twice", call{header: newVersion + "\nMcp-Method: server/discover\nMcp-Method: x", body: discover}, 400, "-32020"},
		{"mirror, method differs in a session", call{header: "Mcp-Method: tools/list", body: ping, session: known}, 400, "-32020"},
		{"mirror, method differs in a notification", call{header: newVersion + "\nMcp-Method: a", body: `{"jsonrpc":"2.0","method":"notifications/b"}`}, 400, "-32020"},
		{"mirror, name", call{header: newVersion + "\nMcp-Method: tools/call\nMcp-Name: echo", body: echo}, 200, "0"},
		{"mirror, name in base64", call{header: newVersion + "\nMcp-Method: tools/call\nMcp-Name: =?base64?ZWNobw==?=", body: echo}, 200, "0"},
		{"mirror, name missing", call{header: newVersion + "\nMcp-Method: tools/call", body: echo}, 400, "-32020"},
		{"mirror, name differs", call{header: newVersion + "\nMcp-Method: tools/call\nMcp-Name: ask", body: echo}, 400, "-32020"},
		{"mirror, name differs in base64", call{header: newVersion + "\nMcp-Method: tools/call\nMcp-Name: =?base64?ZWNobwA=?=", body: echo}, 400, "-32020"},
		{"mirror, name in bad base64", call{header: newVersion + "\nMcp-Method: tools/call\nMcp-Name: =?base64?ZWNobw?=", body: echo}, 400, "-32020"},
		{"mirror, name not ASCII", call{header: newVersion + "\nMcp-Method: tools/call\nMcp-Name: é", body: strings.Replace(echo, `"echo"`, `"é"`, 1)}, 400, "-32020"},
		{"mirror, name without one in the body", call{header: newVersion + "\nMcp-Method: tools/call\nMcp-Name: echo", body: strings.Replace(echo, `"name"`, `"nome"`, 1)}, 400, "-32020"},
		{"mirror, no name at all", call{header: newVersion + "\nMcp-Method: tools/call", body: strings.Replace(echo, `"name"`, `"nome"`, 1)}, 400, "-32602"},
		{"mirror, response", call{header: newVersion, body: `{"jsonrpc":"2.0","id":7,"result":{}}`}, 400, "-32600"},
		{"mirror, notification", call{header: newVersion, body: `{"jsonrpc":"2.0","method":"notifications/x"}`}, 202, "0"},

		// Errors of the server itself
		{"method unknown", modern("nonesuch", "{}"), 404, "-32601"},
		{"tool unknown", modern("tools/call", `{"name":"nonesuch"}`), 400, "-32602"},
		{"request to the client", modern("tools/call", `{"name":"ask"}`), 200, "-32603"},
		{"server leaves", modern("tools/call", `{"name":"quit"}`), 500, "-32603"},
		{"server panics", modern("tools/call", `{"name":"panic"}`), 500, "-32603"},
		{"method unknown in a session", call{body: `{"jsonrpc":"2.0","id":7,"method":"nonesuch"}`, session: known}, 200, "-32601"},
	} {
		t.Run(c.name, func(t *testing.T) {
			resp, body := c.call.do(t, url)
			if resp.StatusCode != c.status || code(body) != c.code {
				t.Fatalf("%s, code %s, want %d, %s\n%s", resp.Status, code(body), c.status, c.code, body)
			}
			h := resp.Header
			switch isJSON := h.Get("Content-Type") == "application/json"; {
			case c.code != "0" && !isJSON, c.status == 404 && c.code == "0" && isJSON:
				t.Errorf("Content-Type is %q", h.Get("Content-Type"))
			case c.status == 405 && h.Get("Allow") == "":
				t.Error("no Allow header")
			case c.status == 202 && body != "":
				t.Errorf("202 with a body: %q", body)
			}
			if h.Get("X-Content-Type-Options") != "nosniff" {
				t.Error("no nosniff")
			}
			opened := h.Get("Mcp-Session-Id") != ""
			if want := c.call.body != "" && c.status == 200 && strings.Contains(c.call.body, `"initialize"`) && c.code == "0"; opened != want {
				t.Errorf("opened a session: %v, want %v", opened, want)
			}
			if strings.Contains(c.call.body, `"id":7,`) && c.code != "0" && c.code != "-32700" && !strings.HasPrefix(c.call.body, "[") && id(body) != "7" {
				t.Errorf("the error names request %s, want 7", id(body))
			}
		})
	}
}

func TestUnsupportedVersionData(t *testing.T) {
	url, _ := start(t, newToy(), streamable.Options{Versions: []string{"2026-07-28", "2025-11-25"}})
	for _, version := range []string{"2025-06-18", `2025"x`} {
		_, body := call{header: "Mcp-Protocol-Version: " + version, body: ping}.do(t, url)
		data, _ := rawjson.Get([]byte(body), "error", "data")
		want := fmt.Sprintf(`{"supported":["2026-07-28","2025-11-25"],"requested":%q}`, version)
		if string(data) != want || id(body) != "7" {
			t.Errorf("got %s, want %s", body, want)
		}
	}
}

// What comes back to a client from its own message is cut.
func TestMismatchIsBounded(t *testing.T) {
	url, _ := start(t, newToy(), streamable.Options{})
	c := modern("server/discover", "{}")
	c.body = strings.Replace(c.body, "server/discover", strings.Repeat("é", 1<<20), 1)
	if resp, body := c.do(t, url); resp.StatusCode != 400 || code(body) != "-32020" || len(body) > 500 {
		t.Errorf("%s, %d bytes", resp.Status, len(body))
	}
}

func TestCORS(t *testing.T) {
	url, _ := start(t, newToy(), streamable.Options{AllowedOrigins: []string{"https://app.example"}})
	preflight := "Origin: https://app.example\nAccess-Control-Request-Method: POST\nAccess-Control-Request-Headers: mcp-method,content-type"
	for _, c := range []struct {
		name string
		call call
		want map[string]string
	}{
		{"preflight", call{method: "OPTIONS", header: preflight}, map[string]string{
			"status":                       "204",
			"Access-Control-Allow-Origin":  "https://app.example",
			"Access-Control-Allow-Methods": "POST, GET, DELETE",
			"Access-Control-Allow-Headers": "mcp-method,content-type",
			"Vary":                         "Origin",
		}},
		{"request", call{header: "Origin: https://app.example", body: initialize}, map[string]string{
			"status":                        "200",
			"Access-Control-Allow-Origin":   "https://app.example",
			"Access-Control-Expose-Headers": "Mcp-Session-Id",
			"Vary":                          "Origin",
		}},
		{"foreign", call{method: "OPTIONS", header: strings.ReplaceAll(preflight, "app.", "evil.")}, map[string]string{
			"status":                       "403",
			"Access-Control-Allow-Origin":  "",
			"Access-Control-Allow-Headers": "",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			resp, _ := c.call.do(t, url)
			for name, want := range c.want {
				got := resp.Header.Get(name)
				if name == "status" {
					got = fmt.Sprint(resp.StatusCode)
				}
				if got != want {
					t.Errorf("%s is %q, want %q", name, got, want)
				}
			}
		})
	}
}

// Every message reaches the client in one data line, and as JSON if it is the only one.
func TestFraming(t *testing.T) {
	url, _ := start(t, newToy(), streamable.Options{})
	s := session(t, url)
	list := `{"jsonrpc":"2.0","id":"é\n","method":"tools/list"}`
	for name, c := range map[string]call{"session": {body: list, session: s}, "modern": modern("tools/list", "{}")} {
		t.Run(name, func(t *testing.T) {
			resp, body := c.do(t, url)
			if resp.Header.Get("Content-Type") != "application/json" || strings.Contains(body, "\n") {
				t.Errorf("%s: %q", resp.Header.Get("Content-Type"), body)
			}
			if m, err := rpc.Parse([]byte(body)); err != nil || !strings.Contains(c.body, string(m.ID)) {
				t.Errorf("answer %q: %v", body, err)
			}
			if !strings.Contains(body, `"unheardOf":[1,{"a":null}]`) {
				t.Errorf("members were lost: %s", body)
			}
		})
	}
	for name, c := range map[string]call{
		"session stream": {body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"progress"}}`, session: s},
		"modern stream":  modern("tools/call", `{"name":"progress"}`),
	} {
		t.Run(name, func(t *testing.T) {
			resp, body := c.do(t, url)
			want := ""
			for i := range 3 {
				want += fmt.Sprintf("data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":,\"progress\":%d}}\n\n", i+1)
			}
			want += `data: {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[{"type":"text","text":"done"}]}}` + "\n\n"
			if diff := cmp.Diff(want, body); diff != "" {
				t.Error(diff)
			}
			h := resp.Header
			if h.Get("Content-Type") != "text/event-stream" || h.Get("X-Accel-Buffering") != "no" || h.Get("Cache-Control") == "" {
				t.Errorf("header: %v", h)
			}
		})
	}
}

// TestStreamOnRequest gives a client that names the type first a stream for results, and errors as ever.
func TestStreamOnRequest(t *testing.T) {
	url, _ := start(t, newToy(), streamable.Options{})
	const accept = "Accept: text/event-stream, application/json\n"
	known := modern("tools/list", "{}")
	known.header = accept + known.header
	unknown := modern("no/such", "{}")
	unknown.header = accept + unknown.header
	if resp, body := known.do(t, url); resp.Header.Get("Content-Type") != "text/event-stream" || !strings.HasPrefix(body, "data: {") {
		t.Errorf("a result: %s: %q", resp.Header.Get("Content-Type"), body)
	}
	if resp, body := unknown.do(t, url); resp.Header.Get("Content-Type") != "application/json" || resp.StatusCode != 404 {
		t.Errorf("an error: %s: %q", resp.Status, body)
	}
}

// The first request opens a stream, the second a 10 MiB answer on it.
func TestLargeEvent(t *testing.T) {
	url, _ := start(t, newToy(), streamable.Options{Serve: largeEvents(10 << 20)})
	resp, body := modern("x", "{}").do(t, url)
	if resp.StatusCode != 200 || strings.Count(body, "\n") != 4 || len(body) < 10<<20 {
		t.Errorf("%s, %d bytes", resp.Status, len(body))
	}
}

// TestOutsideLoopback checks Host on an address that browsers cannot be led to by name alone.
func TestOutsideLoopback(t *testing.T) {
	for _, c := range []struct {
		name    string
		addr    net.Addr
		host    string
		allowed []string
		want    int
	}{
		{"any", &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)}, "weir.example", nil, 200},
		{"allowed", &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)}, "weir.example:8", []string{"weir.example"}, 200},
		{"not allowed", &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)}, "evil.example", []string{"weir.example"}, 403},
		{"socket", &net.UnixAddr{Name: "/run/weir", Net: "unix"}, "any", nil, 200},
		{"unknown", nil, "weir.example", nil, 403},
		{"no host", &net.TCPAddr{IP: net.IPv6loopback}, "", nil, 403},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := streamable.New(streamable.Options{Serve: newToy().serve, AllowedHosts: c.allowed})
			defer h.Close()
			w := serveDirect(h, call{host: c.host, body: initialize}.request(t, "http://x"), c.addr)
			if w.Code != c.want {
				t.Errorf("status %d, want %d", w.Code, c.want)
			}
		})
	}
}
