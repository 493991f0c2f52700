package signin

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
	"github.com/modelcontextprotocol/go-sdk/auth"
)

// An OAuth says whose access tokens are taken, and for what.
type OAuth struct {
	Issuer   string          // of the authorization server, an https URL; http on loopback addresses
	Audience string          // that tokens must be for: the URL of the endpoint, unless the operator says another
	Claim    string          // whose value names the principal; "" is sub
	Scopes   map[string]Role // the roles that scopes stand for
}

// DefaultScopes are the scopes that are looked for where the operator names none.
func DefaultScopes() map[string]Role {
	return map[string]Role{"weir:agent": Agent, "weir:approve": Approver, "weir:audit": Auditor, "weir:admin": Admin}
}

const (
	keyTimeout = 10 * time.Second // for one request to the authorization server
	keyLife    = 15 * time.Minute // after which the keys are read anew, so that one that was withdrawn counts no longer
	keyPause   = 10 * time.Second // between two: anybody can send a token with the name of a key that nobody has
	maxKeys    = 1 << 20          // bytes of one of its answers
	maxName    = 256              // bytes of the name of a principal
)

// algorithms are those by which tokens may be signed: none that share a secret, and not "none".
var algorithms = []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}

// An issuer checks access tokens.
type issuer struct {
	opts   OAuth
	now    func() time.Time
	client *http.Client

	mu       sync.Mutex
	tried    time.Time
	known    time.Time             // since when the keys are
	verifier *oidc.IDTokenVerifier // nil: the keys are not known yet
}

func newIssuer(opts OAuth, now func() time.Time) *issuer {
	if opts.Claim == "" {
		opts.Claim = "sub"
	}
	if len(opts.Scopes) == 0 {
		opts.Scopes = DefaultScopes()
	}
	return &issuer{opts: opts, now: now, client: &http.Client{
		Timeout:       keyTimeout,
		Transport:     &paced{now: now},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// keys returns the verifier of tokens, and looks for the server's keys if they are not known.
func (i *issuer) keys(ctx context.Context) (*oidc.IDTokenVerifier, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.verifier != nil && i.now().Sub(i.known) < keyLife {
		return i.verifier, nil
	}
	i.verifier = nil
	if now := i.now(); !i.tried.IsZero() && now.Sub(i.tried) < keyPause {
		return nil, errKeyless
	}
	i.tried = i.now()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keyTimeout)
	defer cancel()
	discovery := *i.client
	discovery.Transport = limited{http.DefaultTransport}
	meta, err := auth.GetAuthServerMetadata(ctx, i.opts.Issuer, &discovery)
	if err != nil || meta == nil || meta.Issuer != i.opts.Issuer || meta.JWKSURI == "" {
		return nil, errKeyless
	}
	remote := oidc.NewRemoteKeySet(oidc.ClientContext(context.Background(), i.client), meta.JWKSURI)
	i.known = i.now()
	i.verifier = oidc.NewVerifier(i.opts.Issuer, keySet{remote}, &oidc.Config{SkipClientIDCheck: true, SupportedSigningAlgs: algorithms, Now: i.now})
	return i.verifier, nil
}

// A keySet is keys of a server. It notes why they cannot be read, which the verifier of tokens does not hand on.
type keySet struct{ remote oidc.KeySet }

// causeKey finds the place for that in a context.
type causeKey struct{}

// VerifySignature implements [oidc.KeySet].
func (k keySet) VerifySignature(ctx context.Context, jwt string) ([]byte, error) {
	payload, err := k.remote.VerifySignature(ctx, jwt)
	if cause, ok := ctx.Value(causeKey{}).(*error); ok {
		*cause = err
	}
	return payload, err
}

// claims are the members of an access token that decide here (RFC 9068, 2.2).
type claims struct {
	Scope   string                     `json:"scope"`
	Scp     json.RawMessage            `json:"scp"` // of servers that do not know RFC 9068: a text or a list
	Nonce   json.RawMessage            `json:"nonce"`
	AtHash  json.RawMessage            `json:"at_hash"`
	Confirm map[string]json.RawMessage `json:"cnf"`
}

// principal returns the principal of an access token that is good for a request.
func (i *issuer) principal(r *http.Request, token string) (*Principal, error) {
	if !isAccessToken(token) {
		return nil, errInvalid
	}
	verifier, err := i.keys(r.Context())
	if err != nil {
		return nil, err
	}
	var cause error
	verified, err := verifier.Verify(context.WithValue(r.Context(), causeKey{}, &cause), token)
	if err != nil {
		if errors.Is(cause, errKeyless) {
			return nil, errKeyless
		}
		if _, expired := errors.AsType[*oidc.TokenExpiredError](err); expired {
			return nil, errExpired
		}
		return nil, fmt.Errorf("%w: %w", errInvalid, err)
	}
	var c claims
	var all map[string]json.RawMessage
	if verified.Claims(&c) != nil || verified.Claims(&all) != nil || c.Nonce != nil || c.AtHash != nil { // those are of ID tokens
		return nil, errInvalid
	}
	if !slices.Contains(verified.Audience, i.opts.Audience) {
		return nil, fmt.Errorf("%w: it is for another audience", errInvalid)
	}
	if err := c.bound(r); err != nil {
		return nil, err
	}
	var name string
	if json.Unmarshal(all[i.opts.Claim], &name) != nil || name == "" || len(name) > maxName || strings.ContainsFunc(name, unicode.IsControl) {
		return nil, fmt.Errorf("%w: its claim %s names nobody", errInvalid, i.opts.Claim)
	}
	return &Principal{Name: "oauth:" + name, Roles: i.roles(c), Expires: verified.Expiry}, nil
}

// isAccessToken reports whether a text is a JWT that may be an access token by its header, without checking it.
func isAccessToken(token string) bool {
	parsed, err := jose.ParseSignedCompact(token, []jose.SignatureAlgorithm{
		jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
	})
	if err != nil || len(parsed.Signatures) != 1 {
		return false
	}
	kind, _ := parsed.Signatures[0].Header.ExtraHeaders[jose.HeaderType].(string)
	kind = strings.TrimPrefix(strings.ToLower(kind), "application/")
	return kind == "at+jwt" || kind == "jwt" || kind == ""
}

// bound checks a token that is bound to a client certificate (RFC 8705, 3.1). Other bindings are not known, and
// refused.
func (c *claims) bound(r *http.Request) error {
	for kind, value := range c.Confirm {
		var want string
		if kind != "x5t#S256" || json.Unmarshal(value, &want) != nil || r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
			return fmt.Errorf("%w: it is bound to something that the request does not prove", errInvalid)
		}
		sum := sha256.Sum256(r.TLS.PeerCertificates[0].Raw)
		if base64.RawURLEncoding.EncodeToString(sum[:]) != want {
			return fmt.Errorf("%w: it is bound to another certificate", errInvalid)
		}
	}
	return nil
}

// roles returns the roles of the token's scopes.
func (i *issuer) roles(c claims) (roles []Role) {
	scopes := strings.Fields(c.Scope)
	var text string
	var list []string
	if json.Unmarshal(c.Scp, &text) == nil {
		scopes = append(scopes, strings.Fields(text)...)
	} else if json.Unmarshal(c.Scp, &list) == nil {
		scopes = append(scopes, list...)
	}
	for _, s := range scopes {
		if role, ok := i.opts.Scopes[s]; ok && !slices.Contains(roles, role) {
			roles = append(roles, role)
		}
	}
	return roles
}

// scopesOf returns the scopes that stand for a role, sorted.
func (i *issuer) scopesOf(role Role) (scopes []string) {
	for _, s := range slices.Sorted(maps.Keys(i.opts.Scopes)) {
		if i.opts.Scopes[s] == role {
			scopes = append(scopes, s)
		}
	}
	return scopes
}

// limited bounds the answers of a server.
type limited struct{ next http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (l limited) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := l.next.RoundTrip(r)
	if err == nil {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, maxKeys), resp.Body}
	}
	return resp, err
}

// paced lets one request pass in keyPause.
type paced struct {
	now func() time.Time

	mu   sync.Mutex
	last time.Time
}

// RoundTrip implements [http.RoundTripper].
func (p *paced) RoundTrip(r *http.Request) (*http.Response, error) {
	p.mu.Lock()
	now := p.now()
	wait := !p.last.IsZero() && now.Sub(p.last) < keyPause
	if !wait {
		p.last = now
	}
	p.mu.Unlock()
	if wait {
		return nil, errKeyless
	}
	return limited{http.DefaultTransport}.RoundTrip(r)
}
