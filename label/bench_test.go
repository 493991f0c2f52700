package label_test

import (
	"fmt"
	"testing"

	"github.com/weir-mcp/weir/label"
)

var sink label.Label

// thousand returns a label with 1,000 attributions and one with every tenth of them.
func thousand() (all, some label.Label) {
	var uris, tenth []string
	for i := range 1000 {
		uris = append(uris, fmt.Sprintf("mcp://server/resource/%04d", i))
		if i%10 == 0 {
			tenth = append(tenth, uris[i])
		}
	}
	all = label.Label{Untrusted: true, Private: true, Sensitivity: label.SetOf(label.PII), Attribution: label.SetOf(uris...)}
	some = label.Label{Untrusted: true, Attribution: label.SetOf(tenth...)}
	return all, some
}

func TestJoinOfASubsetDoesNotAllocate(t *testing.T) {
	all, some := thousand()
	for name, join := range map[string]func(){
		"subset on the right": func() { sink = label.Join(all, some) },
		"subset on the left":  func() { sink = label.Join(some, all) },
		"covers":              func() { _ = all.Covers(some) },
	} {
		if n := testing.AllocsPerRun(100, join); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func BenchmarkJoin(b *testing.B) {
	all, some := thousand()
	small := label.Label{Untrusted: true, Sources: label.SetOf(label.UntrustedPublic), Attribution: label.SetOf("https://example.com/")}
	other := label.Label{Private: true, Sensitivity: label.SetOf(label.PII), Attribution: label.SetOf("mcp://mail/read")}
	fresh := label.Label{Attribution: label.SetOf("mcp://server/resource/0500a")}
	for _, bb := range []struct {
		name string
		a, b label.Label
	}{
		{"small", small, other},
		{"small/covered", label.Join(small, other), other},
		{"1000/subset", all, some},
		{"1000/one-more", all, fresh},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				sink = label.Join(bb.a, bb.b)
			}
		})
	}
}

func BenchmarkCovers(b *testing.B) {
	all, some := thousand()
	b.ReportAllocs()
	for b.Loop() {
		_ = all.Covers(some)
	}
}
