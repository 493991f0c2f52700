package oauth

import (
	"log/slog"
	"time"
)

// A Grant is the permission that an authorization server gave for one server.
type Grant struct {
	Server    string    `json:"server"`   // its URL, in canonical form
	Issuer    string    `json:"issuer"`   // who gave it
	Resource  string    `json:"resource"` // the server that the tokens are for (RFC 8707)
	TokenURL  string    `json:"token_endpoint"`
	RevokeURL string    `json:"revocation_endpoint,omitempty"`
	ClientID  string    `json:"client_id"`
	Method    string    `json:"token_endpoint_auth_method,omitempty"`
	Scopes    []string  `json:"scopes,omitempty"` // granted
	Wanted    []string  `json:"wanted,omitempty"` // asked for by the server since, for the next login
	Obtained  time.Time `json:"obtained"`         // the time of the login
	Expires   time.Time `json:"expires,omitzero"` // of the access token; zero: it does not say
	Place     Place     `json:"kept_in"`
	Secret    Secret    `json:"secret,omitzero"` // not in the file if Place is Keyring
}

// A Place is where the secrets of a grant are kept.
type Place string

// The places.
const (
	File    Place = "file"    // in the file of the grant, which its owner alone can read
	Keyring Place = "keyring" // in the keyring of the operating system
)

// A Secret is a text that nobody else may see. It prints as nothing.
type Secret struct {
	Access  string `json:"access_token,omitempty"`
	Refresh string `json:"refresh_token,omitempty"`
	Client  string `json:"client_secret,omitempty"` // of a client that was registered
}

// String hides the secret from package fmt.
func (Secret) String() string { return "[secret]" }

// GoString hides the secret from package fmt.
func (Secret) GoString() string { return "[secret]" }

// LogValue hides the secret from package log/slog.
func (Secret) LogValue() slog.Value { return slog.StringValue("[secret]") }

// IsZero reports whether there is no secret.
func (s Secret) IsZero() bool { return s == Secret{} }

// valid reports whether the access token can be used.
func (g *Grant) valid(now time.Time) bool {
	return g.Secret.Access != "" && (g.Expires.IsZero() || now.Add(leeway).Before(g.Expires))
}

// Usable reports whether requests can be made without a person: there is an access token, or a way to renew it.
func (g *Grant) Usable(now time.Time) bool { return g.valid(now) || g.Secret.Refresh != "" }

// Fits reports whether the grant is one for the server as it is configured now.
func (g *Grant) Fits(s Server) bool {
	return g.Server == canonical(s.URL) && (s.Issuer == "" || sameIssuer(g.Issuer, s.Issuer)) &&
		(s.ClientID == "" || isMetadataURL(s.ClientID) || s.ClientID == g.ClientID)
}
