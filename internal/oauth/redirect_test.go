package oauth

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// visit makes one request to the place that the browser comes back to.
func visit(t *testing.T, method, page, host string) (status int, text string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, page, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = host
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// Only who knows the state is listened to, and once.
func TestRedirect(t *testing.T) {
	r, err := listenRedirect(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	own := r.listener.Addr().String()
	answer, err := r.receive(t.Context(), "s", func() error {
		for _, c := range []struct {
			method, page, host string
			want               int
		}{
			{"GET", r.url(), own, 400},
			{"GET", r.url() + "?state=&code=a", own, 400},
			{"GET", r.url() + "?state=t&code=a", own, 400},
			{"GET", r.url() + "?state=s&state=s&code=a", own, 400},
			{"GET", r.url() + "?state=s;code=a", own, 400},
			{"POST", r.url() + "?state=s&code=a", own, 404},
			{"GET", "http://" + own + "/?state=s&code=a", own, 404},
			{"GET", r.url() + "?state=s&code=a", "evil.example", 404},
			{"GET", r.url() + "?state=s&code=<b>&x=y", own, 200},
			{"GET", r.url() + "?state=s&code=c", own, 410},
		} {
			if status, text := visit(t, c.method, c.page, c.host); status != c.want || strings.Contains(text, "<") {
				t.Errorf("%s %s at %s: %d %q, want %d", c.method, c.page, c.host, status, text, c.want)
			}
		}
		return nil
	})
	if err != nil || answer.Get("code") != "<b>" {
		t.Errorf("received %v, %v", answer, err)
	}
	if _, err := http.Get(r.url() + "?state=s&code=c"); err == nil {
		t.Error("somebody is listening still")
	}
}

func TestRedirectNobody(t *testing.T) {
	r, err := listenRedirect(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := r.receive(ctx, "s", func() error { return nil }); err == nil || ctx.Err() == nil {
		t.Errorf("received an answer of nobody: %v", err)
	}
}

func TestCode(t *testing.T) {
	for _, c := range []struct {
		query      string
		advertised bool // the iss parameter
		want, err  string
	}{
		{"code=a", false, "a", ""},
		{"code=a&iss=https%3A%2F%2Fb", true, "a", ""},
		{"code=a", true, "", "not from the authorization server"},
		{"code=a&iss=https%3A%2F%2Fc", true, "", "not from the authorization server"},
		{"code=a&iss=https%3A%2F%2Fb%2F", true, "", "not from the authorization server"},
		{"code=a&iss=https%3A%2F%2Fc", false, "", "not from the authorization server"},
		{"code=a&iss=https%3A%2F%2Fb", false, "", "without having said"},
		{"error=access_denied&error_description=no", false, "", `"access_denied": "no"`},
		{"error=access_denied&code=a", false, "", "access_denied"},
		{"code=a&code=b", false, "", "more than once"},
		{"", false, "", "without a code"},
	} {
		q, err := url.ParseQuery(c.query)
		if err != nil {
			t.Fatal(err)
		}
		a := &authority{AuthServerMeta: &oauthex.AuthServerMeta{Issuer: "https://b", AuthorizationResponseIssParameterSupported: c.advertised}}
		got, err := code(q, a)
		if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %q, %v", c.query, got, err)
		}
	}
}
