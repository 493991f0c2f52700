package streamable

import (
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-mcp/weir/internal/rpc"
)

// A gate looks at requests before anything is read of them.
type gate struct{ opts Options }

// guard keeps out web pages that have no business here: it checks Host and Origin, and answers for the origins
// that are allowed (CORS). It sends what it must to w; a request that needs nothing more is refused with status
// 204.
func (g *gate) guard(w http.ResponseWriter, r *http.Request) *refusal {
	if !g.allowedHost(r) {
		return forbidden("Host " + strconv.Quote(r.Host) + " is not served here")
	}
	origins := r.Header.Values("Origin")
	if len(origins) == 0 || len(origins) == 1 && sameHost(origins[0], r) {
		return nil
	}
	if len(origins) > 1 || !slices.Contains(g.opts.AllowedOrigins, strings.ToLower(origins[0])) {
		return forbidden("Origin " + strconv.Quote(origins[0]) + " is not allowed")
	}
	header := w.Header()
	header.Set("Access-Control-Allow-Origin", origins[0])
	header.Set("Access-Control-Expose-Headers", sessionHeader)
	header.Add("Vary", "Origin")
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return nil
	}
	header.Set("Access-Control-Allow-Methods", "POST, GET, DELETE")
	if names := r.Header.Get("Access-Control-Request-Headers"); names != "" {
		header.Set("Access-Control-Allow-Headers", names) // Mcp-Param-* has no list
	}
	return &refusal{status: http.StatusNoContent}
}

// Guarded returns a handler of something else at the same address, which keeps out the same web pages.
func (g *gate) Guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		limitBody(w, r)
		c := clientOf(r)
		c.isOwed()
		defer c.owes(nil)
		if f := g.guard(w, r); f != nil {
			g.refuse(w, r, f)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// allowedHost reports whether the name that the client asked for may be this server's. A page whose name was
// rebound to a loopback address still sends that name (DNS rebinding).
func (g *gate) allowedHost(r *http.Request) bool {
	name := strings.ToLower(hostname(r.Host))
	if slices.Contains(g.opts.AllowedHosts, name) || isLoopback(name) {
		return true
	}
	return len(g.opts.AllowedHosts) == 0 && !arrivedOnLoopback(r)
}

// arrivedOnLoopback reports whether a browser on this machine could have been led here. Not knowing means yes.
func arrivedOnLoopback(r *http.Request) bool {
	switch addr := r.Context().Value(http.LocalAddrContextKey).(type) {
	case *net.TCPAddr:
		return addr.IP.IsLoopback()
	case *net.UnixAddr:
		return false
	}
	return true
}

func isLoopback(name string) bool {
	if name == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.Unmap().IsLoopback()
}

// hostname returns host without port and brackets.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}

// sameHost reports whether origin is the host and port that r asks for. The scheme is left out: TLS may end
// before us.
func sameHost(origin string, r *http.Request) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" || u.User != nil || u.Path != "" {
		return false
	}
	var port string
	switch u.Scheme {
	case "http":
		port = ":80"
	case "https":
		port = ":443"
	default:
		return false
	}
	return strings.EqualFold(strings.TrimSuffix(u.Host, port), strings.TrimSuffix(r.Host, port))
}

// acceptable checks the headers of a POST that speak of media types.
func acceptable(r *http.Request) *refusal {
	if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || t != "application/json" {
		return &refusal{status: http.StatusUnsupportedMediaType, text: "Content-Type must be application/json"}
	}
	if e := r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return &refusal{status: http.StatusUnsupportedMediaType, text: "Content-Encoding is not supported"}
	}
	if !accepts(r.Header, "application/json") || !accepts(r.Header, "text/event-stream") {
		return &refusal{
			status: http.StatusNotAcceptable,
			text:   "Accept must admit application/json and text/event-stream",
		}
	}
	return nil
}

// accepts reports whether the Accept header names a range that holds mediaType, with a weight above zero.
func accepts(header http.Header, mediaType string) bool {
	major, _, _ := strings.Cut(mediaType, "/")
	for _, line := range header.Values("Accept") {
		for part := range strings.SplitSeq(line, ",") {
			t, params, err := mime.ParseMediaType(part)
			if err != nil || t != mediaType && t != major+"/*" && t != "*/*" {
				continue
			}
			if q, err := strconv.ParseFloat(params["q"], 64); params["q"] == "" || err == nil && q > 0 {
				return true
			}
		}
	}
	return false
}

// prefersStream reports whether the Accept header names text/event-stream before application/json. Their order has no
// meaning in HTTP; where the binding leaves the choice to the server, it decides.
func prefersStream(header http.Header) bool {
	line := strings.ToLower(strings.Join(header.Values("Accept"), ","))
	stream, object := strings.Index(line, "text/event-stream"), strings.Index(line, "application/json")
	return stream >= 0 && stream < object
}

// fold returns list in lower case.
func fold(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = strings.ToLower(s)
	}
	return out
}

// refuse sends f.
func (g *gate) refuse(w http.ResponseWriter, r *http.Request, f *refusal) {
	level := g.opts.Logger.Debug
	if f.status == http.StatusForbidden || f.status == http.StatusServiceUnavailable {
		level = g.opts.Logger.Warn // somebody's browser may be under attack, or a limit too low
	}
	level("refused an HTTP request", "remote", r.RemoteAddr, "method", r.Method, "status", f.status, "reason", f.text)
	if f.status == http.StatusNoContent {
		w.WriteHeader(f.status)
		return
	}
	body, contentType := []byte(f.text+"\n"), "text/plain; charset=utf-8"
	if f.code != 0 {
		e := &rpc.Error{Code: f.code, Message: f.text, Data: f.data}
		body, contentType = rpc.ReplyError(f.id, e).Append(nil), "application/json"
	}
	header := w.Header()
	if f.allow != "" {
		header.Set("Allow", f.allow) // RFC 9110, 15.5.6
	}
	if f.status == http.StatusServiceUnavailable {
		header.Set("Retry-After", "10")
	}
	header.Set("Content-Type", contentType)
	header.Set("Content-Length", strconv.Itoa(len(body)))
	header.Set("Cache-Control", "no-store")
	w.WriteHeader(f.status)
	w.Write(body) // the client may be gone, which is no matter here
}
