package catalogue

import (
	"testing"

	"github.com/weir-mcp/weir/overlay"
)

// BenchmarkHeads measures the cost of the built-in overlays at the start of weir, with any servers.
func BenchmarkHeads(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := readHeads(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLoad reads the whole catalogue, and compiles every condition in it.
func BenchmarkLoad(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Load(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFor finds and reads the entry of one server.
func BenchmarkFor(b *testing.B) {
	server := overlay.Server{Name: "memory", Command: []string{"npx", "-y", "@modelcontextprotocol/server-memory"}}
	b.ReportAllocs()
	for b.Loop() {
		if o, err := For(server); err != nil || o == nil {
			b.Fatal(o, err)
		}
	}
}
