package servers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/label"
)

// The files that the web server reads at its start.
const (
	HostsFile    = "hosts.json"   // object: host name → loopback "address:port"
	ReportedFile = "reported.txt" // one address prefix a line; addresses that begin with one of them are reported as malicious
)

// Limits of one fetch.
const (
	maxPage      = 1 << 20 // bytes; the rest of a larger page is cut off
	fetchTimeout = 10 * time.Second
)

type urlArgument struct {
	URL string `json:"url" jsonschema:"address of the page, http"`
}

// registerWeb serves a fetch that knows the hosts of its table only, so that a demonstration never leaves the machine.
func registerWeb(s *mcp.Server, dir string) (closer, error) {
	hosts, err := readHosts(filepath.Join(dir, HostsFile))
	if err != nil {
		return nil, err
	}
	reported, err := os.ReadFile(filepath.Join(dir, ReportedFile))
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		target, ok := hosts[host]
		if !ok {
			return nil, fmt.Errorf("no such host %q", host)
		}
		return new(net.Dialer).DialContext(ctx, network, target.String())
	}}
	client := &http.Client{Transport: transport, Timeout: fetchTimeout}
	add(s, "fetch", "Fetch a page of the web with HTTP GET.", func(ctx context.Context, in urlArgument) (answer, error) {
		text, err := get(ctx, client, in.URL)
		if err != nil {
			return answer{}, err
		}
		return answer{text, notes{
			OpenWorld:   true,
			Malicious:   isReported(string(reported), in.URL),
			Attribution: []string{in.URL},
			Returns:     returns{Source: label.UntrustedPublic},
		}}, nil
	})
	return func() error { transport.CloseIdleConnections(); return nil }, nil
}

func readHosts(file string) (map[string]netip.AddrPort, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var hosts map[string]netip.AddrPort
	if err := json.Unmarshal(data, &hosts); err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	for name, target := range hosts {
		if !target.Addr().IsLoopback() {
			return nil, fmt.Errorf("reading %s: %s is at %s, which is not a loopback address", file, name, target)
		}
	}
	return hosts, nil
}

func get(ctx context.Context, client *http.Client, url string) (text string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	if req.URL.Scheme != "http" {
		return "", fmt.Errorf("fetching %q: only http is understood", url)
	}
	res, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, res.Body.Close()) }()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxPage))
	if err != nil {
		return "", err
	}
	if res.StatusCode != http.StatusOK {
		return "", fmt.Errorf("fetching %q: %s", url, res.Status)
	}
	return string(body), nil
}

func isReported(list, url string) bool {
	for line := range strings.Lines(list) {
		if prefix := strings.TrimSpace(line); prefix != "" && strings.HasPrefix(url, prefix) {
			return true
		}
	}
	return false
}
