package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A provider is a process of npm's oidc-provider.
type provider struct{ issuer, audience string }

func startProvider(t *testing.T, audience string) provider {
	t.Helper()
	cmd := exec.Command("node", "idp.mjs", audience)
	cmd.Dir = world.scripts
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the authorization server does not start: %v", err)
	}
	return provider{strings.TrimSpace(line), audience}
}

// token gets an access token for an audience by the grant client_credentials.
func (p provider) token(t *testing.T, client, audience, scope string) string {
	t.Helper()
	form := url.Values{"grant_type": {"client_credentials"}, "resource": {audience}, "scope": {scope}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.issuer+"/token", strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.SetBasicAuth(client, "secret-of-"+client)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var got struct {
		Token string `json:"access_token"`
	}
	if body, err := io.ReadAll(resp.Body); err != nil || json.Unmarshal(body, &got) != nil || got.Token == "" {
		t.Fatalf("%s: %s, %v", resp.Status, body, err)
	}
	return got.Token
}

// bearing sends a token with each request.
type bearing string

func (b bearing) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// connect connects a host that accepts each approval request after a second.
func (b bearing) connect(t *testing.T, endpoint, protocol string, asked *int) *mcp.ClientSession {
	t.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			*asked++
			time.Sleep(time.Second)
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"approve": true}}, nil
		}})
	s, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: endpoint, HTTPClient: &http.Client{Transport: b}},
		&mcp.ClientSessionOptions{ProtocolVersion: protocol})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// TestPrincipals lets agents in by the tokens of a real authorization server. One that is an agent alone cannot approve its own call, whatever
// its host answers; one that is an approver can; nobody comes in without a token, or with one for another service.
func TestPrincipals(t *testing.T) {
	needEnabled(t)
	port := freePort()
	endpoint := "http://127.0.0.1:" + port + "/mcp"
	p := startProvider(t, endpoint)
	dir := files(t)
	server := reference("filesystem", dir)
	config := writeFile(t, "weir.yaml", fmt.Sprintf(`version: 1
listen: 127.0.0.1:%s
policy: %s
servers:
  files: {command: %s, args: [%s, %s]}
http:
  oauth: {issuer: "%s", audience: "%s"}
  tokens:
    - {name: monitor, token: "0123456789abcdef-monitor", roles: [auditor]}
`, port, writeFile(t, "ask.yaml", askPolicy), server.Command, server.Args[0], server.Args[1], p.issuer, endpoint))
	serve(t, run(t, config), port)

	post := func(path, token string) (status int, header http.Header) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:"+port+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp.StatusCode, resp.Header
	}
	agent, approver := p.token(t, "agent", endpoint, "weir:agent"), p.token(t, "approver", endpoint, "weir:agent weir:approve")
	for _, c := range []struct {
		name, path, token string
		want              int
	}{
		{"no token", "/mcp", "", 401},
		{"a token for another service", "/mcp", p.token(t, "agent", "http://127.0.0.1:1/other", "weir:agent"), 401},
		{"a changed token", "/mcp", agent[:len(agent)-4] + "AAAA", 503}, // the keys were read just now, and may have changed since
		{"figures for an agent", "/metrics", agent, 403},
		{"figures for an auditor", "/metrics", "0123456789abcdef-monitor", 200},
		{"servers for an auditor", "/mcp", "0123456789abcdef-monitor", 403},
		{"metadata for everyone", "/.well-known/oauth-protected-resource/mcp", "", 200},
	} {
		status, header := post(c.path, c.token)
		if status != c.want {
			t.Errorf("%s: %d, want %d", c.name, status, c.want)
		}
		if challenge := header.Get("WWW-Authenticate"); status == 401 && !strings.Contains(challenge, "resource_metadata=\"http://127.0.0.1:"+port+"/.well-known/oauth-protected-resource/mcp\"") {
			t.Errorf("%s: challenge %q", c.name, challenge)
		}
	}

	for _, protocol := range []string{"2025-11-25", "2026-07-28"} {
		for _, c := range []struct {
			token   bearing
			name    string
			written bool
		}{{bearing(agent), "agent", false}, {bearing(approver), "approver", true}} {
			asked := 0
			s := c.token.connect(t, endpoint, protocol, &asked)
			path := dir + "/" + c.name + protocol
			params := &mcp.CallToolParams{Name: "write_file", Arguments: map[string]any{"path": path, "content": "x"}}
			res, err := s.CallTool(t.Context(), params)
			for range 9 { // the server may have asked for roots meanwhile, which changes the session
				if text, _ := json.Marshal(res); !strings.Contains(string(text), "the session changed while a person was asked") {
					break
				}
				res, err = s.CallTool(t.Context(), params)
			}
			if written := content(t, path) == "x"; written != c.written || (asked > 0) != c.written {
				t.Errorf("%s, %s: written %t after %d requests: %v %v", c.name, protocol, written, asked, res, err)
			}
		}
	}
}
