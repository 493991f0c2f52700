package oauth

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"
)

const (
	askWait  = 30 * time.Second // for one request to an authorization server, or for metadata
	dialWait = 10 * time.Second // for connecting
)

// maxRedirects is how many redirects of a request for metadata are followed.
const maxRedirects = 5

// sharedSpace is for the networks of carriers (RFC 6598), as little public as private networks.
var sharedSpace = netip.MustParsePrefix("100.64.0.0/10")

// newClient returns the client for everything but the server's own endpoint. What a server names is reached only if it is
// public, unless the server itself is not, or the operator has said who issues its tokens.
func newClient(ctx context.Context, s Server) *http.Client {
	dialer := &net.Dialer{Timeout: dialWait}
	if s.Issuer == "" && isPublic(ctx, s.URL) {
		dialer.Control = func(_, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			if err != nil || !publicAddr(at.Addr()) {
				return errors.New("a server on a public address may not name one that is not public")
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

// isPublic reports whether all addresses of a URL's host are public. If it cannot be found, it counts as public.
func isPublic(ctx context.Context, raw string) bool {
	u, err := url.Parse(raw)
	if err != nil {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", u.Hostname())
	if err != nil {
		return true
	}
	for _, a := range addrs {
		if !publicAddr(a) {
			return false
		}
	}
	return true
}

func publicAddr(a netip.Addr) bool {
	a = a.Unmap()
	return a.IsGlobalUnicast() && !a.IsPrivate() && !sharedSpace.Contains(a)
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

// clean takes secrets out of a text that somebody else wrote.
func clean(text string, secrets ...string) string {
	for _, s := range secrets {
		if s != "" {
			text = strings.ReplaceAll(text, s, "[secret]")
			text = strings.ReplaceAll(text, url.QueryEscape(s), "[secret]")
		}
	}
	return text
}
