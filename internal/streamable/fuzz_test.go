package streamable_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/internal/streamable"
)

// FuzzRequest sends arbitrary requests, one of them in a session. Nothing may panic, and every answer must be one that the
// package describes.
func FuzzRequest(f *testing.F) {
	f.Add("POST", "Mcp-Protocol-Version: 2026-07-28\nMcp-Method: tools/call\nMcp-Name: echo", echo, false)
	f.Add("POST", "Mcp-Protocol-Version: 2026-07-28\nMcp-Method: tools/call\nMcp-Name: =?base64?ZWNobw==?=", echo, true)
	f.Add("POST", "Mcp-Protocol-Version: 2025-11-25", ping, true)
	f.Add("POST", "Accept: text/*;q=0.1, application/json;q=\"", initialize, false)
	f.Add("POST", "Content-Type: application/json; charset=\"\nOrigin: http://[::1", initialize, false)
	f.Add("POST", "", "["+ping+"]", true)
	f.Add("POST", "", `{"jsonrpc":"2.0","id":7,"method":"a","method":"b"}`, true)
	f.Add("DELETE", "", "", true)
	f.Add("OPTIONS", "Origin: https://app.example\nAccess-Control-Request-Method: PUT", "", false)
	f.Fuzz(func(t *testing.T, method, header, body string, inSession bool) {
		if method == http.MethodGet && inSession {
			t.Skip("rightly takes forever")
		}
		ctx, hangUp := context.WithTimeout(t.Context(), time.Second) // so do some calls
		defer hangUp()
		h := streamable.New(streamable.Options{Serve: newToy().serve, AllowedOrigins: []string{"https://app.example"}})
		defer h.Close()
		c := call{method: "POST", host: "localhost", body: body}
		if inSession {
			w := serveDirect(h, call{host: "localhost", body: initialize}.request(t, "http://x"), nil)
			c.session = w.Header().Get("Mcp-Session-Id")
		}
		r := c.request(t, "http://x").WithContext(ctx)
		r.Method = method
		for line := range strings.SplitSeq(header, "\n") {
			if name, value, ok := strings.Cut(line, ": "); ok {
				if name == "Host" {
					r.Host = value
				}
				r.Header[http.CanonicalHeaderKey(name)] = append(r.Header[http.CanonicalHeaderKey(name)], value)
			}
		}
		w := serveDirect(h, r, nil)
		switch w.Code {
		case 200, 202, 204, 400, 403, 404, 405, 406, 413, 415, 500:
		default:
			t.Errorf("status %d", w.Code)
		}
		if w.Header().Get("Content-Type") == "application/json" {
			if _, err := rpc.Parse(w.Body.Bytes()); err != nil && !strings.Contains(w.Body.String(), `"id":null,"error":`) {
				t.Errorf("answer %q: %v", w.Body, err)
			}
		}
	})
}
