package streamable_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/internal/streamable"
)

// mirror answers every request with its params.
func mirror(ctx context.Context, _ streamable.Info, conn rpc.Conn) error {
	for {
		m, err := conn.Read(ctx)
		if err != nil {
			return nil
		}
		if m.IsRequest() {
			conn.Write(ctx, rpc.Reply(m.ID, m.Params))
		}
	}
}

// BenchmarkRoundTrip is one request over loopback and its answer, both of that size.
func BenchmarkRoundTrip(b *testing.B) {
	for _, size := range []int{1 << 10, 1 << 20, 10 << 20} {
		params := `{"name":"x","arguments":{"text":"` + strings.Repeat("text ", size/5) + `"}}`
		for _, era := range []string{"session", "modern"} {
			b.Run(fmt.Sprintf("%s/%dKiB", era, size>>10), func(b *testing.B) {
				url, _ := start(b, nil, streamable.Options{Serve: mirror})
				c := modern("tools/call", params)
				if era == "session" {
					c = call{session: session(b, url), body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + params + `}`}
				}
				b.SetBytes(int64(len(c.body)))
				b.ReportAllocs()
				for b.Loop() {
					resp, err := http.DefaultClient.Do(c.request(b, url))
					if err != nil {
						b.Fatal(err)
					}
					if n, err := io.Copy(io.Discard, resp.Body); err != nil || n < int64(size)/2 || resp.StatusCode != 200 {
						b.Fatal(resp.Status, n, err)
					}
					resp.Body.Close()
				}
			})
		}
	}
}

// BenchmarkStream is a stream of one notification and a response of that size: time must grow with the size.
func BenchmarkStream(b *testing.B) {
	for _, size := range []int{1 << 20, 10 << 20} {
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			url, _ := start(b, nil, streamable.Options{Serve: largeEvents(size)})
			c := modern("x", "{}")
			b.SetBytes(int64(size))
			for b.Loop() {
				resp, err := http.DefaultClient.Do(c.request(b, url))
				if err != nil {
					b.Fatal(err)
				}
				if n, err := io.Copy(io.Discard, resp.Body); err != nil || n < int64(size) {
					b.Fatal(n, err)
				}
				resp.Body.Close()
			}
		})
	}
}
