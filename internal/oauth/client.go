package oauth

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/weir-mcp/weir/internal/address"
)

const (
	askWait  = 30 * time.Second // for one request to an authorization server, or for metadata
	dialWait = 10 * time.Second // for connecting
)

// maxRedirects is how many redirects of a request for metadata are followed.
const maxRedirects = 5

// errInside is the error for addresses that a server outside may not name.
var errInside = errors.New("a server outside the own network may not name an address that is not public; if it belongs there, set auth.issuer")

// newClient returns the client for everything but the server's own endpoint. It connects to public addresses only,
// whatever names lead to them, unless the server is inside the own network by the form of its name, or the operator has
// said who issues its tokens.
func newClient(s Server) *http.Client {
	dialer := &net.Dialer{Timeout: dialWait}
	if s.Issuer == "" && !inside(s.URL) {
		dialer.Control = func(_, to string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(to)
			if err != nil || !address.Public(at.Addr()) {
				return errInside
			}
			return nil
		}
	}
	return &http.Client{Timeout: askWait, CheckRedirect: stayThere, Transport: newTransport(dialer)}
}

// newTransport returns a transport for few requests, far apart. It uses no proxy.
func newTransport(dialer *net.Dialer) *http.Transport {
	return &http.Transport{
		DialContext: dialer.DialContext, ForceAttemptHTTP2: true, TLSHandshakeTimeout: dialWait, DisableKeepAlives: true,
	}
}

// stayThere is the rule for redirects: a request for metadata stays with its origin, any other goes nowhere.
func stayThere(req *http.Request, via []*http.Request) error {
	first := via[0]
	switch {
	case first.Method != http.MethodGet:
		return errors.New("redirect of a request that is not a GET")
	case len(via) > maxRedirects:
		return errors.New("too many redirects")
	case req.URL.Scheme != first.URL.Scheme || !strings.EqualFold(req.URL.Host, first.URL.Host):
		return errors.New("redirect to another origin")
	}
	return nil
}

// inside reports whether a URL's host is of the own machine or network by its form. DNS is not asked: the owner of a
// public name decides what it answers, and when.
func inside(raw string) bool {
	u, err := url.Parse(raw)
	if err != nil {
		return false
	}
	host := address.Host(u.Hostname())
	if ip, err := netip.ParseAddr(host); err == nil {
		return address.Local(ip)
	}
	return host != "" && address.Internal(host)
}

// safeEndpoint refuses a URL to which secrets would go in the clear over a network.
func safeEndpoint(raw string) error {
	u, err := url.Parse(raw)
	if err != nil {
		return errors.New("not a URL")
	}
	ip, err := netip.ParseAddr(u.Hostname())
	local := err == nil && ip.Unmap().IsLoopback() || strings.EqualFold(u.Hostname(), "localhost")
	if u.Host == "" || u.Scheme != "https" && (u.Scheme != "http" || !local) {
		return fmt.Errorf("%.200q is not an https URL", raw)
	}
	return nil
}

// withoutSecrets returns an error whose text has none of the secrets in it.
func withoutSecrets(err error, secrets ...string) error {
	text := clean(err.Error(), secrets...)
	if text == err.Error() {
		return err
	}
	return errors.New(text)
}

// clean takes secrets out of a text of another program.
func clean(text string, secrets ...string) string {
	for _, s := range secrets {
		if s != "" {
			text = strings.ReplaceAll(text, s, "[secret]")
			text = strings.ReplaceAll(text, url.QueryEscape(s), "[secret]")
		}
	}
	return text
}
