//go:build unix

package upstream_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/internal/upstream"
)

// A purse is an Authorizer with tokens that are good for as long as nobody refuses them.
type purse struct {
	mu      sync.Mutex
	tokens  []string
	refused []string
	fail    error
}

func (p *purse) Token(context.Context) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fail != nil {
		return "", p.fail
	}
	return p.tokens[0], nil
}

func (p *purse) Refused(_ context.Context, token string, _ *http.Response) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refused = append(p.refused, token)
	if len(p.tokens) > 1 {
		p.tokens = p.tokens[1:]
		return true, nil
	}
	return false, nil
}

// tokensSeen returns the tokens of the requests of a webServer.
func (s *webServer) tokensSeen() (tokens []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.seen {
		tokens = append(tokens, h.Get("Authorization"))
	}
	return tokens
}

func TestAuthorizer(t *testing.T) {
	p := &purse{tokens: []string{"a", "b", "c"}}
	s := &webServer{}
	s.do = func(w http.ResponseWriter, r *http.Request, m *rpc.Message) {
		if token := r.Header.Get("Authorization"); m.Method == "never" || token == "Bearer a" {
			http.Error(w, "what is "+token+"?", http.StatusUnauthorized)
			return
		}
		s.answer(w, `{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
	}
	conn := dial(t, upstream.Spec{URL: listen(t, s), Auth: p}, "2025-11-25", new(watcher))
	call(t, conn, "do", `{}`) // with a, and then with b
	if _, err := conn.Call(t.Context(), "never", nil); err == nil || !strings.Contains(err.Error(), `"401 Unauthorized": "what is Bearer [token]?"`) {
		t.Errorf("refused: %v", err)
	}
	want := []string{"Bearer a", "Bearer a", "Bearer a", "Bearer b", "Bearer b", "Bearer c"}
	if diff := cmp.Diff(want, s.tokensSeen()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, p.refused); diff != "" {
		t.Error(diff)
	}
	p.mu.Lock()
	p.fail = fmt.Errorf("%w: so it is", upstream.ErrLogin)
	p.mu.Unlock()
	_, err := conn.Call(t.Context(), "do", nil)
	if !errors.Is(err, upstream.ErrLogin) || strings.Contains(err.Error(), "http") {
		t.Errorf("no token: %v", err)
	}
	if err := conn.Err(); !errors.Is(err, upstream.ErrLogin) || !errors.Is(err, upstream.ErrClosed) {
		t.Errorf("connection: %v", err)
	}
}

// A token goes to the origin of the endpoint only, wherever the server points.
func TestAuthorizerOrigin(t *testing.T) {
	stranger := listen(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("stranger got %s %v", r.Method, r.Header)
	}))
	for _, code := range []int{301, 302, 307, 308} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			s := &webServer{do: func(w http.ResponseWriter, r *http.Request, _ *rpc.Message) { http.Redirect(w, r, stranger, code) }}
			conn := dial(t, upstream.Spec{URL: listen(t, s), Auth: &purse{tokens: []string{"a"}}}, "2025-11-25", new(watcher))
			if m, err := conn.Call(t.Context(), "do", nil); err == nil || !strings.Contains(err.Error(), "another origin") {
				t.Errorf("message %v, error %v", m, err)
			}
		})
	}
}

func TestSame(t *testing.T) {
	one, other := &purse{}, &purse{}
	base := upstream.Spec{URL: "http://127.0.0.1", Headers: map[string]string{"A": "b"}, Auth: one}
	for _, c := range []struct {
		change func(*upstream.Spec)
		same   bool
	}{
		{func(*upstream.Spec) {}, true},
		{func(s *upstream.Spec) { s.Headers = map[string]string{"A": "b"} }, true},
		{func(s *upstream.Spec) { s.Headers = nil }, false},
		{func(s *upstream.Spec) { s.Auth = other }, false},
		{func(s *upstream.Spec) { s.Auth = nil }, false},
	} {
		changed := base
		c.change(&changed)
		if got := base.Same(changed); got != c.same {
			t.Errorf("%+v: same %v", changed, got)
		}
	}
}

// A server that refuses the revision of the first question is asked once more in one that it takes.
func TestUnsupportedVersion(t *testing.T) {
	for supported, want := range map[string]string{
		`["2026-07-28"]`:            "2026-07-28",
		`["2025-11-25"]`:            "2025-06-18", // which the server answers the handshake with
		`"2026-07-28"`:              "2025-06-18",
		`[1,"2099-01-01","x",null]`: "2025-06-18",
	} {
		t.Run(supported, func(t *testing.T) {
			asked := 0
			s := &webServer{}
			s.do = func(w http.ResponseWriter, _ *http.Request, m *rpc.Message) {
				if asked++; asked == 1 || want != "2026-07-28" {
					w.Header().Set("Content-Type", "application/json")
					w.WriteHeader(http.StatusBadRequest)
					fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32022,"message":"no","data":{"supported":%s}}}`, m.ID, supported)
					return
				}
				s.answer(w, `{"jsonrpc":"2.0","id":%s,"result":{"supportedVersions":["2026-07-28"],"capabilities":{}}}`, m.ID)
			}
			conn := dial(t, upstream.Spec{URL: listen(t, s)}, "2026-07-28", new(watcher))
			if conn.Protocol() != want {
				t.Errorf("agreed on %s after %d questions", conn.Protocol(), asked)
			}
		})
	}
}
