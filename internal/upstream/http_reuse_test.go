//go:build unix

package upstream_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/internal/upstream"
)

// Calls one after the other share few TCP connections, however the server answers.
func TestHTTPReusesConnections(t *testing.T) {
	for _, kind := range []string{"json", "chunks", "events"} {
		t.Run(kind, func(t *testing.T) {
			checkLeaks(t)
			s := &webServer{events: kind == "events"}
			s.do = func(w http.ResponseWriter, _ *http.Request, m *rpc.Message) {
				if kind == "chunks" {
					w.Header().Set("Content-Type", "application/json")
					w.(http.Flusher).Flush()
				}
				s.answer(w, `{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
			}
			var opened atomic.Int64
			server := httptest.NewUnstartedServer(s)
			server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
				if state == http.StateNew {
					opened.Add(1)
				}
			}
			server.Start()
			t.Cleanup(server.Close)
			conn := dial(t, upstream.Spec{URL: server.URL}, "2025-11-25", new(watcher))
			for range 100 {
				call(t, conn, "do", `{}`)
				if err := conn.Notify(t.Context(), "notifications/n", nil); err != nil {
					t.Fatal(err)
				}
			}
			// The end of a stream may be read after the next call has begun.
			if n := opened.Load(); n > 20 {
				t.Errorf("%d connections for 200 requests", n)
			}
		})
	}
}

// BenchmarkCallHTTP is a call over HTTP and its answer of the same size.
func BenchmarkCallHTTP(b *testing.B) {
	for _, events := range []bool{false, true} {
		for _, size := range []int{1 << 10, 100 << 10, 10 << 20} {
			b.Run(fmt.Sprintf("events=%t/%dKiB", events, size>>10), func(b *testing.B) {
				server := httptest.NewServer(&webServer{events: events})
				defer server.Close()
				opts := options(new(watcher))
				opts.MaxMessage = 0
				conn, err := upstream.Dial(b.Context(), upstream.Spec{URL: server.URL}, upstream.Hello{Protocol: "2025-11-25"}, opts)
				if err != nil {
					b.Fatal(err)
				}
				defer conn.Close()
				params := json.RawMessage(`{"a":"` + strings.Repeat("x", size) + `"}`)
				b.SetBytes(int64(size))
				b.ReportAllocs()
				for b.Loop() {
					if _, err := conn.Call(b.Context(), "echo", params); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
