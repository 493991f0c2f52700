// Package signin tells on whose behalf an HTTP request is made, and what that principal may do.
//
//	door, err := signin.New(signin.Options{Tokens: tokens, OAuth: &signin.OAuth{Issuer: "https://id.example", Audience: url}})
//	mux.Handle("/mcp", door.Require(signin.Agent, endpoint))
//
// A request carries a bearer token (RFC 6750, 2.1) or comes over a connection with a client certificate. A bearer token
// is one that the operator has named, or an access token of an OAuth 2.1 authorization server: a JWT (RFC 9068) that
// one of the server's keys has signed, for this audience. A token that is there has to be good: no certificate makes up
// for a bad one. Names of principals begin with the kind of credentials, so that nobody at an authorization server can
// take the name of a token. Whatever cannot be checked is refused: 401 without good credentials, 403 without the role,
// 503 while the keys of the authorization server cannot be read.
package signin

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/x509"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/weir-mcp/weir/internal/streamable"
)

// A Role is one kind of things that a principal may do.
type Role string

// The roles. An Admin may do all that the others may.
const (
	Agent    Role = "agent"    // use the servers
	Approver Role = "approver" // answer the approval requests of its own agents
	Auditor  Role = "auditor"  // read the figures
	Admin    Role = "admin"
)

// Roles returns all roles.
func Roles() []Role { return []Role{Agent, Approver, Auditor, Admin} }

// A Principal is whose agents make requests.
type Principal struct {
	Name    string // "token:ci", "oauth:SUBJECT", "cert:NAME"
	Roles   []Role
	Expires time.Time // of its credentials; zero: never
}

// Has reports whether the principal may do what a role says.
func (p *Principal) Has(r Role) bool {
	return slices.Contains(p.Roles, r) || slices.Contains(p.Roles, Admin)
}

// A Token is a bearer token that the operator has named.
type Token struct {
	Name    string // of the principal, whole
	Secret  string
	Roles   []Role
	Expires time.Time // zero: never
}

// A Certificate is the name of a client certificate: a URI, DNS name or mail address of its subject alternative names,
// or if there are none its common name.
type Certificate struct {
	Name  string
	Roles []Role
}

// Options configure a [Door]. One without tokens, certificates and OAuth refuses everybody.
type Options struct {
	Tokens       []Token
	Certificates []Certificate // of clients; the TLS listener has verified those that it lets pass
	OAuth        *OAuth        // nil: no authorization server
	Now          func() time.Time
	Logger       *slog.Logger
}

// A Door lets principals in. Make one with [New]. It is safe for concurrent use.
type Door struct {
	opts   Options
	issuer *issuer // nil: none
}

// New returns a door. It reads nothing from the authorization server before a token of one comes.
func New(opts Options) *Door {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	d := &Door{opts: opts}
	if opts.OAuth != nil {
		d.issuer = newIssuer(*opts.OAuth, opts.Now)
	}
	return d
}

// The kinds of refusal.
var (
	errNone      = errors.New("no credentials")
	errInvalid   = errors.New("the token is not valid")
	errExpired   = errors.New("the token has expired")
	errTwo       = errors.New("more than one Authorization header")
	errKeyless   = errors.New("the keys of the authorization server cannot be read")
	errUnknownCA = errors.New("the client certificate has no principal")
)

// Require returns a handler that passes on requests of principals with a role, and on whose behalf they are made. It
// takes the token off the request, so that nothing behind can hand it on. A preflight request of a browser carries
// neither credentials nor data, and passes.
func (d *Door) Require(role Role, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodOptions {
			next.ServeHTTP(w, r)
			return
		}
		p, err := d.principal(r)
		if err == nil && !p.Has(role) {
			d.forbid(w, p, role)
			return
		}
		if err != nil {
			d.refuse(w, r, err)
			return
		}
		ctx := streamable.WithPrincipal(r.Context(), p.Name, !p.Has(Approver))
		if !p.Expires.IsZero() { // a request, or a stream, ends with its credentials
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, p.Expires.Sub(d.opts.Now()))
			defer cancel()
		}
		r = r.Clone(ctx)
		r.Header.Del("Authorization")
		next.ServeHTTP(w, r)
	})
}

// principal returns on whose behalf a request is made.
func (d *Door) principal(r *http.Request) (*Principal, error) {
	sent := r.Header.Values("Authorization")
	switch {
	case len(sent) > 1:
		return nil, errTwo
	case len(sent) == 1:
		scheme, token, _ := strings.Cut(sent[0], " ")
		if token = strings.TrimSpace(token); !strings.EqualFold(scheme, "Bearer") || token == "" {
			return nil, errInvalid
		}
		return d.bearer(r, token)
	}
	if r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		return d.certified(r.TLS.PeerCertificates[0])
	}
	return nil, errNone
}

// bearer returns the principal of a token. All named tokens are compared, whichever fits.
func (d *Door) bearer(r *http.Request, token string) (found *Principal, err error) {
	got := sha256.Sum256([]byte(token))
	err = errInvalid
	for _, t := range d.opts.Tokens {
		want := sha256.Sum256([]byte(t.Secret))
		if subtle.ConstantTimeCompare(got[:], want[:]) != 1 || t.Secret == "" {
			continue
		}
		if found, err = &(Principal{t.Name, t.Roles, t.Expires}), nil; !t.Expires.IsZero() && !d.opts.Now().Before(t.Expires) {
			found, err = nil, errExpired
		}
	}
	if found != nil || d.issuer == nil || errors.Is(err, errExpired) {
		return found, err
	}
	return d.issuer.principal(r, token)
}

// certified returns the principal of a client certificate that was verified.
func (d *Door) certified(c *x509.Certificate) (*Principal, error) {
	for _, name := range names(c) {
		for _, known := range d.opts.Certificates {
			if known.Name == name && d.opts.Now().Before(c.NotAfter) { // the connection may be older
				return &Principal{Name: "cert:" + name, Roles: known.Roles, Expires: c.NotAfter}, nil
			}
		}
	}
	return nil, errUnknownCA
}

// names returns the names of a certificate.
func names(c *x509.Certificate) (all []string) {
	for _, u := range c.URIs {
		all = append(all, u.String())
	}
	all = append(append(all, c.DNSNames...), c.EmailAddresses...)
	if len(all) == 0 && c.Subject.CommonName != "" {
		all = append(all, c.Subject.CommonName)
	}
	return all
}
