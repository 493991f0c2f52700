package console_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/weir-mcp/weir/internal/console"
	"github.com/weir-mcp/weir/record"
)

func BenchmarkTenThousandEvents(b *testing.B) {
	f := &fake{sessions: story().sessions}
	for range 10_000 {
		f.add(record.Event{Kind: record.Decision, Session: "s", Server: "web", Name: "fetch", Phase: "call", Effect: "allow"})
	}
	c, err := console.New(f.options("127.0.0.1:1"))
	if err != nil {
		b.Fatal(err)
	}
	get := func(target string, cookies ...*http.Cookie) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, target, nil)
		r.Host = "127.0.0.1:1"
		for _, cookie := range cookies {
			r.AddCookie(cookie)
		}
		w := httptest.NewRecorder()
		c.Handler().ServeHTTP(w, r)
		return w
	}
	cookies := get(c.LoginLink()).Result().Cookies()
	for b.Loop() {
		if w := get("/events?n=10000", cookies...); w.Code != http.StatusOK {
			b.Fatal(w.Code)
		}
	}
}
