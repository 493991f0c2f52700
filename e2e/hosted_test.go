package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// hostedClient is the variable that makes the test's program a client command for the suite: it names a file with a hosted.
const hostedClient = "WEIR_E2E_HOSTED"

// A hosted is a client that the suite starts, with Weir between the two.
type hosted struct {
	Weir, Client, Policy string // files
}

// The variables by which the suite instructs a client.
const (
	scenarioVariable = "MCP_CONFORMANCE_SCENARIO"
	contextVariable  = "MCP_CONFORMANCE_CONTEXT"
)

// logins is how often a user of Weir logs in when it says so: most scenarios need one login, some more.
const logins = 2

// serveHosted is the client command: it runs Weir in front of the server at the URL that is the last argument, and the client
// in front of Weir. Where Weir requires a login, it logs in, and the client begins again.
func serveHosted(file string) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var h hosted
	if err := json.Unmarshal(data, &h); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "weir-hosted-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	config, err := h.configure(ctx, dir, os.Args[len(os.Args)-1])
	if err != nil {
		return err
	}
	gateway, err := h.start(ctx, dir, config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, gateway.stop()) }()
	for round := 0; ; round++ {
		said, err := h.client(ctx, gateway.url)
		if err == nil || round == logins || !strings.Contains(said, "weir login") {
			return err
		}
		if err := h.login(ctx, dir, config); err != nil {
			return err
		}
	}
}

// environment is that of Weir, whose state is in dir.
func (h hosted) environment(dir string) []string {
	return append(os.Environ(), "HOME="+dir, "XDG_STATE_HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_RUNTIME_DIR="+dir, "DBUS_SESSION_BUS_ADDRESS=")
}

// configure writes a configuration with the server. Its client is the one that the suite gives, or that of the metadata document
// that the Go SDK's client names.
func (h hosted) configure(ctx context.Context, dir, server string) (path string, err error) {
	auth := object{"client_id": "https://conformance-test.local/client-metadata.json"}
	var given struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
	}
	if text := os.Getenv(contextVariable); text != "" {
		if err := json.Unmarshal([]byte(text), &given); err != nil {
			return "", err
		}
	}
	if given.Secret != "" {
		issuer, err := issuerOf(ctx, server)
		if err != nil {
			return "", err
		}
		auth = object{"client_id": given.ID, "client_secret": given.Secret, "issuer": issuer}
		if strings.Contains(os.Getenv(scenarioVariable), "client-credentials") {
			auth["flow"] = "client-credentials"
		}
	}
	data, err := json.Marshal(object{
		"version": 1, "policy": h.Policy, "servers": object{"suite": object{"url": server, "trust": "trusted", "auth": auth}},
	})
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "weir.yaml")
	return path, os.WriteFile(path, data, 0o600)
}

// issuerOf asks a server who issues its tokens, which an operator would know.
func issuerOf(ctx context.Context, server string) (string, error) {
	u, err := url.Parse(server)
	if err != nil {
		return "", err
	}
	u.Path = "/.well-known/oauth-protected-resource" + u.Path
	data, err := get(ctx, u.String())
	if err != nil {
		return "", err
	}
	var m struct {
		Servers []string `json:"authorization_servers"`
	}
	if err := json.Unmarshal(data, &m); err != nil || len(m.Servers) == 0 {
		return "", fmt.Errorf("%s names no issuer: %w", u, err)
	}
	return m.Servers[0], nil
}

// get goes to a page, and on from there.
func get(ctx context.Context, page string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(resp.Body)
}

// A gateway is a weir run that serves HTTP.
type gateway struct {
	cmd *exec.Cmd
	url string
}

// start runs Weir until stop.
func (h hosted) start(ctx context.Context, dir, config string) (*gateway, error) {
	address := "127.0.0.1:" + freePort()
	cmd := exec.CommandContext(ctx, h.Weir, "run", "--config", config, "--listen", address)
	cmd.Env, cmd.Stderr = h.environment(dir), os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = patience
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	g := &gateway{cmd, "http://" + address + "/mcp"}
	for ctx.Err() == nil {
		if conn, err := net.DialTimeout("tcp", address, time.Second); err == nil {
			return g, conn.Close()
		}
		time.Sleep(20 * time.Millisecond)
	}
	return nil, errors.Join(ctx.Err(), g.stop())
}

// stop ends Weir as a service manager would.
func (g *gateway) stop() error {
	if err := g.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return g.cmd.Wait()
}

// client runs the client and returns its output.
func (h hosted) client(ctx context.Context, server string) (said string, err error) {
	cmd := exec.CommandContext(ctx, h.Client, server)
	cmd.Env = os.Environ()
	if os.Getenv(scenarioVariable) == "auth/client-credentials-basic" {
		// The client does not know this scenario by name; behind Weir its part is the same as in others.
		cmd.Env = append(cmd.Env, scenarioVariable+"=auth/metadata-default")
	}
	out, err := cmd.CombinedOutput()
	fmt.Fprintf(os.Stderr, "%s", out)
	return string(out), err
}

var pageToOpen = regexp.MustCompile(`(?m)^  (https?://\S+)$`)

// login logs in, with a browser that agrees to everything.
func (h hosted) login(ctx context.Context, dir, config string) error {
	cmd := exec.CommandContext(ctx, h.Weir, "login", "--config", config, "--no-browser", "suite")
	cmd.Env = h.environment(dir)
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	cmd.Stderr = w
	err = cmd.Start()
	if err = errors.Join(err, w.Close()); err != nil {
		return err
	}
	var said bytes.Buffer
	var opened error
	for buf := make([]byte, 4096); ; {
		n, err := r.Read(buf)
		said.Write(buf[:n])
		if err != nil {
			break
		}
		if page := pageToOpen.FindSubmatch(said.Bytes()); page != nil && opened == nil {
			said.Reset()
			if _, opened = get(ctx, string(page[1])); opened != nil {
				_ = cmd.Process.Signal(syscall.SIGTERM)
			}
		}
	}
	fmt.Fprintf(os.Stderr, "%s", said.Bytes())
	return errors.Join(opened, cmd.Wait())
}
