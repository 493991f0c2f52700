package streamable_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/weir-mcp/weir/internal/streamable"
)

func TestRequireToken(t *testing.T) {
	for _, test := range []struct {
		name, token, method string
		sent                []string
		want                int
	}{
		{"the token", "secret", "POST", []string{"Bearer secret"}, 200},
		{"scheme in another case", "secret", "POST", []string{"bearer  secret "}, 200},
		{"none", "secret", "POST", nil, 401},
		{"another", "secret", "POST", []string{"Bearer secrets"}, 401},
		{"the beginning of it", "secret", "GET", []string{"Bearer secre"}, 401},
		{"another scheme", "secret", "POST", []string{"Basic secret"}, 401},
		{"no scheme", "secret", "DELETE", []string{"secret"}, 401},
		{"twice", "secret", "POST", []string{"Bearer secret", "Bearer secret"}, 401},
		{"no token configured", "", "POST", []string{"Bearer "}, 401},
		{"preflight", "secret", "OPTIONS", nil, 200},
	} {
		h := streamable.RequireToken(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if got := r.Header.Get("Authorization"); got != "" {
				t.Errorf("%s: the token went on: %q", test.name, got)
			}
		}), test.token)
		r := httptest.NewRequest(test.method, "/mcp", nil)
		r.Header["Authorization"] = test.sent
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != test.want || (w.Code == 401) != (w.Header().Get("WWW-Authenticate") != "") {
			t.Errorf("%s: %d %v, want %d", test.name, w.Code, w.Header(), test.want)
		}
	}
}
