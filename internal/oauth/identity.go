package oauth

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// The methods by which a client shows its secret (RFC 7591, 2).
const (
	methodNone  = "none"
	methodBasic = "client_secret_basic"
	methodPost  = "client_secret_post"
)

// An identity is the client that Weir is to an authorization server.
type identity struct {
	id     string
	secret string // "" for a public client
	method string
	made   bool // registered for the occasion, so the secret is the grant's to keep
}

// isMetadataURL reports whether a client's id is the URL of its metadata document
// (draft-ietf-oauth-client-id-metadata-document).
func isMetadataURL(id string) bool {
	u, err := url.Parse(id)
	return err == nil && u.Scheme == "https" && u.Host != "" && u.Path != "" && u.Path != "/"
}

// identify returns the client to be: the document's if the authorization server reads such, else the configured one,
// else one that is registered now.
func identify(ctx context.Context, client *http.Client, s Server, a *authority, redirect string) (*identity, error) {
	document := isMetadataURL(s.ClientID)
	switch {
	case document && a.ClientIDMetadataDocumentSupported:
		return &identity{id: s.ClientID, method: methodNone}, nil
	case s.ClientID != "" && !document:
		return &identity{id: s.ClientID, secret: s.ClientSecret, method: secretMethod(a, s.ClientSecret)}, nil
	case a.RegistrationEndpoint == "":
		return nil, ErrNoClient
	}
	registered, err := oauthex.RegisterClient(ctx, a.RegistrationEndpoint, &oauthex.ClientRegistrationMetadata{
		RedirectURIs:            []string{redirect},
		GrantTypes:              []string{"authorization_code", "refresh_token"},
		ResponseTypes:           []string{"code"},
		ClientName:              "Weir",
		TokenEndpointAuthMethod: preferred(a.TokenEndpointAuthMethodsSupported),
		ApplicationType:         "native",
	}, client)
	if err != nil {
		return nil, fmt.Errorf("registering a client: %w", err)
	}
	made := &identity{id: registered.ClientID, secret: registered.ClientSecret, method: registered.TokenEndpointAuthMethod, made: true}
	if made.method == "" {
		made.method = methodBasic // RFC 7591, 2
	}
	return made, nil
}

// preferred returns the method to register with; "" leaves it to the server, which says nothing of those it supports. A
// program on a user's machine can keep no secret, so none is best.
func preferred(supported []string) string {
	for _, method := range []string{methodNone, methodPost, methodBasic} {
		if slices.Contains(supported, method) {
			return method
		}
	}
	return ""
}

// secretMethod returns how a configured client shows its secret.
func secretMethod(a *authority, secret string) string {
	supported := a.TokenEndpointAuthMethodsSupported
	switch {
	case secret == "":
		return methodNone
	case slices.Contains(supported, methodPost) && !slices.Contains(supported, methodBasic):
		return methodPost
	}
	return methodBasic // the default of RFC 8414, 2
}
