//go:build unix

package upstream_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/internal/upstream"
)

// Members that nobody knows survive, at every depth and both ways: with all their bytes.
func TestBytesSurviveStdio(t *testing.T) {
	conn := dial(t, child(t, "hostile"), "2025-11-25", new(watcher))
	rapid.Check(t, func(t *rapid.T) {
		params := document(t, 4)
		m, err := conn.Call(t.Context(), "echo", json.RawMessage(params))
		if err != nil {
			t.Fatal(err)
		}
		if string(m.Result) != params {
			t.Fatalf("got  %s\nwant %s", m.Result, params)
		}
	})
}

// So they do over HTTP, members of the envelope and of errors included.
func TestBytesSurviveHTTP(t *testing.T) {
	for _, events := range []bool{false, true} {
		s := &webServer{events: events}
		var answer string
		s.do = func(w http.ResponseWriter, _ *http.Request, m *rpc.Message) { s.answer(w, answer, m.ID) }
		conn := web(t, s, new(watcher))
		rapid.Check(t, func(t *rapid.T) {
			params := document(t, 4)
			m, err := conn.Call(t.Context(), "echo", json.RawMessage(params))
			if err != nil {
				t.Fatal(err)
			}
			if string(m.Result) != params {
				t.Fatalf("got  %s\nwant %s", m.Result, params)
			}
			answer = `{"jsonrpc":"2.0", "id":%s, "error":{"code":7,"message":"no","y":` + strings.ReplaceAll(params, "%", "%%") + `} ,"x":{ "z":1.0}}`
			if m, err = conn.Call(t.Context(), "do", nil); err != nil {
				t.Fatal(err)
			}
			if want := `{"code":7,"message":"no","y":` + params + `}`; string(m.Error) != want {
				t.Fatalf("got  %s\nwant %s", m.Error, want)
			}
		})
	}
}

// document generates an object with odd but legal spelling, on one line.
func document(t *rapid.T, depth int) string {
	var b strings.Builder
	b.WriteString(space(t) + "{")
	for i := range rapid.IntRange(0, 4).Draw(t, "members") {
		if i > 0 {
			b.WriteString(",")
		}
		name := rapid.SampledFrom([]string{`k%d`, `\u006b%d`, `_meta/%d`, `é %d`, `<&>%d`, `😀%d`, `\"%d`, `%d\u0000`}).Draw(t, "name")
		fmt.Fprintf(&b, `%s"`+name+`"%s:%s`, space(t), i, space(t), anything(t, depth-1))
	}
	return strings.TrimSpace(b.String() + "}")
}

func anything(t *rapid.T, depth int) string {
	kind := rapid.IntRange(0, 5).Draw(t, "kind")
	switch {
	case depth > 0 && kind == 0:
		return document(t, depth)
	case depth > 0 && kind == 1:
		return "[" + space(t) + anything(t, depth-1) + space(t) + "," + anything(t, depth-1) + "]"
	}
	return rapid.SampledFrom([]string{
		"null", "true", "false", "0", "-0", "1.0", "1E+2", "1e400", "123456789012345678901234567890", "0.1000", `""`, `"\/"`, `"/"`,
		`"\u2028"`, "\"\u2028\"", `"<&>"`, `"\u003c"`, `"é"`, `"\u00e9"`, `"\ud83d\ude00"`, `"\u0000"`, `"` + "\x7f" + `"`, "{}", "[]",
	}).Draw(t, "value")
}

func space(t *rapid.T) string {
	return rapid.SampledFrom([]string{"", " ", "\t", "  "}).Draw(t, "space")
}

// BenchmarkCall is a call of a child process and its answer of the same size.
func BenchmarkCall(b *testing.B) {
	for _, size := range []int{1 << 10, 100 << 10, 10 << 20} {
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			opts := options(new(watcher))
			opts.MaxMessage = 0
			conn, err := upstream.Dial(b.Context(), child(b, "hostile"), upstream.Hello{Protocol: "2025-11-25"}, opts)
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
