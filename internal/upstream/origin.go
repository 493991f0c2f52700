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
	"strings"
	"sync/atomic"
	"time"

	"github.com/weir-mcp/weir/internal/rpc"
)

// deleteWait bounds the request that ends a session.
const deleteWait = 2 * time.Second

// The HTTP headers of the streamable HTTP transport that matter here.
const (
	headerProtocol  = "Mcp-Protocol-Version"
	headerSession   = "Mcp-Session-Id"
	headerLastEvent = "Last-Event-Id"
)

// An origin is the [http.RoundTripper] through which all HTTP requests of a connection go. It lets none go anywhere but
// to the origin of the endpoint, so that neither a redirect nor the endpoint event of the HTTP+SSE transport can send
// calls, or the headers that the operator configured, to somebody else. It adds those headers, the agreed revision
// and the token of the Authorizer, and bounds bodies.
type origin struct {
	base     http.RoundTripper
	own      *http.Transport // base, if it is ours to close
	endpoint *url.URL
	headers  map[string]string
	auth     Authorizer // nil: none
	limit    int64
	protocol atomic.Pointer[string] // the agreed revision; nil before
}

type headerKey struct{}

// WithHeader returns a context for [Conn.Call] that has the header sent with the HTTP request, where there is one. It
// must not change afterwards, and its names are in canonical form.
func WithHeader(ctx context.Context, header http.Header) context.Context {
	return context.WithValue(ctx, headerKey{}, header)
}

func headerOf(ctx context.Context) http.Header {
	header, _ := ctx.Value(headerKey{}).(http.Header)
	return header
}

func newOrigin(spec Spec, endpoint *url.URL, opts Options) *origin {
	o := &origin{endpoint: endpoint, headers: maps.Clone(spec.Headers), auth: spec.Auth, limit: int64(opts.MaxMessage)}
	switch {
	case opts.Client == nil:
		o.own = &http.Transport{
			ForceAttemptHTTP2:   true,
			TLSHandshakeTimeout: 10 * time.Second,
			IdleConnTimeout:     90 * time.Second,
			MaxIdleConnsPerHost: 16,
		}
		o.base = o.own
	case opts.Client.Transport == nil:
		o.base = http.DefaultTransport
	default:
		o.base = opts.Client.Transport
	}
	return o
}

// client returns a client that sends its requests through o, otherwise like the given one.
func (o *origin) client(like *http.Client) *http.Client {
	var c http.Client
	if like != nil {
		c = *like
	}
	c.Transport = o
	return &c
}

// close lets go of idle connections.
func (o *origin) close() {
	if o.own != nil {
		o.own.CloseIdleConnections()
	}
}

// RoundTrip sends a request of the connection.
func (o *origin) RoundTrip(req *http.Request) (*http.Response, error) {
	if !sameOrigin(req.URL, o.endpoint) {
		discard(req)
		return nil, fmt.Errorf("server sends us to another origin, %s://%s", req.URL.Scheme, req.URL.Host)
	}
	cancel := context.CancelFunc(func() {})
	ctx := req.Context()
	if req.Method == http.MethodDelete {
		ctx, cancel = context.WithTimeout(ctx, deleteWait)
	}
	req = req.Clone(ctx)
	for name, values := range headerOf(ctx) {
		req.Header[name] = values
	}
	for name, value := range o.headers {
		req.Header.Set(name, value)
	}
	if protocol := o.protocol.Load(); protocol != nil && (req.Header.Get(headerProtocol) == "" || !isModern(*protocol)) {
		req.Header.Set(headerProtocol, *protocol)
	}
	resp, err := o.authorized(req)
	if err != nil {
		cancel()
		return nil, err
	}
	resp.Body = &body{ReadCloser: resp.Body, left: o.limit, endless: isEventStream(resp), cancel: cancel}
	if req.Method == http.MethodPost && resp.StatusCode >= 400 {
		return refused(req, resp)
	}
	return resp, nil
}

// A statusError is a response that refuses one message without saying so in JSON-RPC.
type statusError struct {
	status string
	text   string // the beginning of the body
}

func (e *statusError) Error() string {
	if e.text == "" {
		return e.status
	}
	return fmt.Sprintf("%s: %q", e.status, e.text)
}

// refused makes an error of a response whose status refuses the message that was posted, unless it tells more: a body
// that is an answer, or a status that says that the session is gone. The SDK would end the connection for it, though
// servers of the older revisions answer an unknown method so.
func refused(req *http.Request, resp *http.Response) (*http.Response, error) {
	if resp.StatusCode == http.StatusNotFound && req.Header.Get(headerSession) != "" {
		return resp, nil
	}
	data, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", resp.Status, err)
	}
	if m, err := rpc.Parse(data); err == nil && m.IsResponse() && m.Error != nil {
		// The SDK looks for an answer in the body for most statuses, but not for all.
		resp.StatusCode, resp.Body = http.StatusBadRequest, io.NopCloser(bytes.NewReader(data))
		return resp, nil
	}
	const most = 200
	text := withoutToken(string(data), resp.Request)
	return nil, &statusError{resp.Status, strings.TrimSpace(text[:min(len(text), most)])}
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

// isEventStream reports whether the response is a stream of server-sent events.
func isEventStream(resp *http.Response) bool {
	kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(kind), "text/event-stream")
}

// errTooLong ends the reading of a body.
var errTooLong = errors.New("response is too long")

// A body is a response's, bounded unless it is a stream of events, whose size is bounded one by one.
type body struct {
	io.ReadCloser
	left    int64
	endless bool
	cancel  context.CancelFunc
}

func (b *body) Read(p []byte) (int, error) {
	if b.endless {
		return b.ReadCloser.Read(p)
	}
	if b.left < 0 {
		return 0, errTooLong
	}
	// One byte more than allowed is read to tell a body that fits from one that does not.
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	b.left -= int64(n)
	if b.left < 0 {
		return 0, errTooLong
	}
	return n, err
}

func (b *body) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}
