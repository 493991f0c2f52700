package gateway_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/internal/gateway"
	"github.com/weir-mcp/weir/internal/gateway/backend"
	"github.com/weir-mcp/weir/internal/hosterror"
	"github.com/weir-mcp/weir/internal/upstream"
	"github.com/weir-mcp/weir/record"
)

// private are headers that hosts send for Weir, or for nobody.
var private = http.Header{
	"Authorization":       {"Bearer host-secret"},
	"Proxy-Authorization": {"Basic host-secret"},
	"Cookie":              {"session=host-secret"},
	"X-Api-Key":           {"host-secret"},
	"Weir-Agent-Session":  {"host-secret"},
	"Forwarded":           {"for=host-secret"},
	"Origin":              {"http://127.0.0.1"},
}

// A disguise sends the private headers with each request, and takes no cookie of a server.
type disguise struct{}

func (disguise) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	for name, values := range private {
		req.Header[name] = values
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err == nil && resp.Header.Get("Set-Cookie") != "" {
		resp.Body.Close()
		return nil, fmt.Errorf("a server's cookie: %v", resp.Header)
	}
	return resp, err
}

// No header that a host sends for itself goes on to a server, in any pairing of eras, and neither does a host see what a
// server sets.
func TestHostsKeepTheirHeaders(t *testing.T) {
	for _, host := range []string{oldEra, newEra} {
		for _, server := range []string{oldEra, newEra} {
			t.Run("host "+host+", server "+server, func(t *testing.T) {
				var mu sync.Mutex
				var seen []http.Header
				p := newPairing(t, host, server, "http", func(o *gateway.Options) {
					behind := o.Servers[0].Spec.URL
					web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						mu.Lock()
						seen = append(seen, r.Header.Clone())
						mu.Unlock()
						w.Header().Set("Set-Cookie", "server=server-secret")
						forward(w, r, behind)
					}))
					t.Cleanup(web.Close)
					o.Servers[0].Spec.URL, o.AllowedOrigins = web.URL, private["Origin"]
					o.Servers[0].Spec.Headers = map[string]string{"X-Own": "weir"}
				})
				front := httptest.NewServer(p.g.Handler())
				t.Cleanup(front.Close)
				s := connect(t, &mcp.StreamableClientTransport{Endpoint: front.URL, HTTPClient: &http.Client{Transport: disguise{}}}, host, nil)
				if _, err := s.ListTools(t.Context(), nil); err != nil { // which tells a host of today the headers to send
					t.Fatal(err)
				}
				if _, text := callTool(t, s, "region", map[string]any{"region": "north"}); !strings.Contains(text, "north") {
					t.Fatalf("region: %q", text)
				}
				mu.Lock()
				defer mu.Unlock()
				if len(seen) == 0 {
					t.Fatal("the server was not asked")
				}
				for _, h := range seen {
					text := fmt.Sprint(h)
					_, origin := h["Origin"]
					if strings.Contains(text, "host-secret") || origin || !slices.Equal(h["X-Own"], []string{"weir"}) {
						t.Errorf("the server got %s", text)
					}
				}
			})
		}
	}
}

// forward passes a request on to a server as it came.
func forward(w http.ResponseWriter, r *http.Request, to string) {
	req, err := http.NewRequestWithContext(r.Context(), r.Method, to, r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	req.Header = r.Header.Clone()
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer resp.Body.Close()
	for name, values := range resp.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(resp.StatusCode)
	for buf := make([]byte, 4096); ; {
		n, err := resp.Body.Read(buf)
		if _, broken := w.Write(buf[:n]); err != nil || broken != nil {
			return
		}
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
	}
}

// A door is an Authorizer behind which somebody has logged in, or not.
type door struct{ open atomic.Bool }

func (d *door) Token(context.Context) (string, error) {
	if d.open.Load() {
		return "key", nil
	}
	return "", hosterror.New("login needed: run {}", hosterror.Configured("weir login asker")).Because(upstream.ErrLogin)
}

func (d *door) Refused(context.Context, string, *http.Response) (bool, error) { return false, nil }

// A server that needs a login says so in errors and in the status, and is there with the next request after the login.
func TestNeedsLogin(t *testing.T) {
	d := &door{}
	p := newPairing(t, oldEra, newEra, "stdio", func(o *gateway.Options) { o.Servers[0].Spec.Auth = d })
	front := httptest.NewServer(p.g.Handler())
	t.Cleanup(front.Close)
	client := mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1"}, nil)
	for range 3 {
		_, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: front.URL}, &mcp.ClientSessionOptions{ProtocolVersion: oldEra})
		if err == nil || !strings.Contains(err.Error(), "run weir login asker") || strings.Contains(err.Error(), "tries again") {
			t.Fatalf("without a login: %v", err)
		}
	}
	d.open.Store(true)
	s := p.stdio(t, oldEra, nil)
	if _, text := callTool(t, s, "region", map[string]any{"region": "north"}); !strings.Contains(text, "north") {
		t.Errorf("after the login: %q", text)
	}
	if got := p.g.Status().Servers[0]; got.State != backend.Connected {
		t.Errorf("after the login: %+v", got)
	}
	d.open.Store(false)
	if _, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "region", Arguments: map[string]any{"region": "north"}}); err == nil ||
		!strings.Contains(err.Error(), "run weir login asker") {
		t.Errorf("logged out: %v", err)
	}
	if got := p.g.Status().Servers[0]; got.State != backend.NeedsLogin || got.Err == nil || !strings.Contains(got.Err.Error(), "weir login asker") {
		t.Errorf("logged out: %+v", got)
	}
	d.open.Store(true)
	if _, text := callTool(t, s, "region", map[string]any{"region": "south"}); !strings.Contains(text, "south") {
		t.Errorf("logged in again: %q", text)
	}
	told := slices.ContainsFunc(p.recorded(t, record.Upstream), func(e record.Event) bool { return e.Effect == string(backend.NeedsLogin) })
	if !told {
		t.Error("the record does not say that a login was needed")
	}
}
