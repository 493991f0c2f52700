package upstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/weir-mcp/weir/internal/rpc"
)

const (
	mostRedirects = 10      // that one request follows
	mostRefusal   = 1 << 20 // bytes of a response that refuses a message
)

// An origin is the [http.RoundTripper] through which all HTTP requests of a connection go. It lets none go anywhere but
// to the origin of the endpoint, so that neither a redirect nor the endpoint event of the HTTP+SSE transport can send
// calls, or the headers that the operator configured, to another origin. It adds the token of the Authorizer.
type origin struct {
	base     *http.Transport
	client   *http.Client // that sends through the origin
	endpoint *url.URL
	headers  http.Header // of the operator's
	auth     Authorizer  // nil: none
}

func newOrigin(spec Spec, endpoint *url.URL) *origin {
	o := &origin{
		base: &http.Transport{
			ForceAttemptHTTP2:   true,
			TLSHandshakeTimeout: 10 * time.Second,
			IdleConnTimeout:     90 * time.Second,
			MaxIdleConnsPerHost: 64,

			MaxResponseHeaderBytes: 256 << 10,
		},
		endpoint: endpoint, headers: http.Header{}, auth: spec.Auth,
	}
	for name, value := range spec.Headers {
		o.headers.Set(name, value)
	}
	o.client = &http.Client{Transport: o, CheckRedirect: o.redirect}
	return o
}

// close lets go of idle connections.
func (o *origin) close() { o.base.CloseIdleConnections() }

// do sends a request with the operator's headers and then those given, which it takes over. The parts are the body.
func (o *origin) do(ctx context.Context, method string, to *url.URL, header http.Header, parts [][]byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, to.String(), nil)
	if err != nil {
		return nil, err
	}
	maps.Copy(req.Header, o.headers)
	maps.Copy(req.Header, header)
	if parts != nil {
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bodyOf(parts)), nil }
		req.Body, _ = req.GetBody()
		for _, part := range parts {
			req.ContentLength += int64(len(part))
		}
	}
	return o.client.Do(req)
}

// bodyOf reads parts one after the other.
func bodyOf(parts [][]byte) io.Reader {
	if len(parts) == 1 {
		return bytes.NewReader(parts[0])
	}
	readers := make([]io.Reader, len(parts))
	for i, part := range parts {
		readers[i] = bytes.NewReader(part)
	}
	return io.MultiReader(readers...)
}

// redirect refuses requests that must not be sent: one to another origin, or one without its message.
func (o *origin) redirect(next *http.Request, before []*http.Request) error {
	switch {
	case !sameOrigin(next.URL, o.endpoint):
		return errElsewhere(next.URL)
	case next.Method != before[0].Method:
		return fmt.Errorf("server makes a %s of a %s", next.Method, before[0].Method)
	case len(before) >= mostRedirects:
		return fmt.Errorf("server redirects more than %d times", mostRedirects)
	}
	return nil
}

// errForeign says that a server names a place outside of the origin of its endpoint.
var errForeign = errors.New("server sends us to another origin")

func errElsewhere(to *url.URL) error {
	return fmt.Errorf("%w: %.200q", errForeign, to.Scheme+"://"+to.Host)
}

// RoundTrip sends a request of the connection.
func (o *origin) RoundTrip(req *http.Request) (*http.Response, error) {
	if !sameOrigin(req.URL, o.endpoint) {
		discard(req)
		return nil, errElsewhere(req.URL)
	}
	return o.authorized(req)
}

// A statusError is a response that refuses one message without saying so in JSON-RPC.
type statusError struct {
	code   int
	status string // with the server's own words for the code
	text   string // the reason why it is wrong, or the beginning of the body
}

func newStatusError(resp *http.Response, text string) *statusError {
	return &statusError{resp.StatusCode, resp.Status, text}
}

func (e *statusError) Error() string {
	if e.text == "" {
		return strconv.Quote(e.status)
	}
	return fmt.Sprintf("%q: %q", e.status, e.text)
}

// refusal reads a response whose status refuses the message that was posted: the answer to m that it holds, or else an
// error that tells what it says. If nameless, an error that names no request is taken for the answer.
func refusal(resp *http.Response, m *rpc.Message, nameless bool) (*rpc.Message, error) {
	data, err := new(memory).body(resp, mostRefusal)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", newStatusError(resp, ""), err)
	}
	if m.IsRequest() {
		if answer, err := rpc.ParseOwned(data); err == nil && answer.Error != nil && string(answer.ID) == string(m.ID) {
			return answer, nil
		}
		if e := rpc.NamelessError(data); e != nil && nameless {
			return &rpc.Message{ID: m.ID, Error: e}, nil
		}
	}
	const most = 200
	text := withoutToken(string(data), resp.Request)
	return nil, newStatusError(resp, strings.TrimSpace(text[:min(len(text), most)]))
}

// sameOrigin reports whether two URLs have the same scheme, host and port.
func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

// port returns the port of a URL with a scheme of HTTP.
func port(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

// mediaType returns a response's type without parameters, in lower case.
func mediaType(resp *http.Response) string {
	kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(kind))
}

const eventStream = "text/event-stream"
