package streamable

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
)

// RequireToken lets only requests through that carry the bearer token (RFC 6750, 2.1). Others get 401; so does everybody if
// the token is empty. A preflight request of a browser carries no credentials and no data, and passes. The token is taken off
// the request, so that nothing behind can hand it on.
func RequireToken(next http.Handler, token string) http.Handler {
	want := sha256.Sum256([]byte(token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		limitBody(w, r)
		if r.Method == http.MethodOptions {
			next.ServeHTTP(w, r)
			return
		}
		scheme, sent, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		got := sha256.Sum256([]byte(strings.TrimSpace(sent)))
		same := subtle.ConstantTimeCompare(got[:], want[:]) == 1
		if token == "" || !strings.EqualFold(scheme, "Bearer") || !same || len(r.Header.Values("Authorization")) > 1 {
			w.Header().Set("WWW-Authenticate", `Bearer realm="weir"`)
			http.Error(w, "a bearer token is required", http.StatusUnauthorized)
			return
		}
		r = r.Clone(r.Context())
		r.Header.Del("Authorization")
		next.ServeHTTP(w, r)
	})
}
