package catalogue_test

import (
	"testing"

	"github.com/weir-mcp/weir/overlay"
	"github.com/weir-mcp/weir/overlay/catalogue"
)

// BenchmarkLoad reads the whole catalogue, and compiles every condition in it.
func BenchmarkLoad(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := catalogue.Load(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFor finds and reads the entry of one server.
func BenchmarkFor(b *testing.B) {
	server := overlay.Server{Name: "memory", Command: []string{"npx", "-y", "@modelcontextprotocol/server-memory"}}
	b.ReportAllocs()
	for b.Loop() {
		if o, err := catalogue.For(server); err != nil || o == nil {
			b.Fatal(o, err)
		}
	}
}
