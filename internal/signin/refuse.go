package signin

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
)

// MetadataPath is where the metadata of the protected resource is (RFC 9728, 3); that of an endpoint /mcp is at
// MetadataPath + "/mcp".
const MetadataPath = "/.well-known/oauth-protected-resource"

// refuse answers a request without good credentials.
func (d *Door) refuse(w http.ResponseWriter, r *http.Request, err error) {
	d.opts.Logger.Info("an HTTP request was not let in", "remote", r.RemoteAddr, "reason", err)
	if errors.Is(err, errKeyless) {
		w.Header().Set("Retry-After", "10")
		http.Error(w, errKeyless.Error(), http.StatusServiceUnavailable)
		return
	}
	challenge := `Bearer realm="weir"`
	if !errors.Is(err, errNone) && !errors.Is(err, errUnknownCA) {
		challenge += `, error="invalid_token"`
	}
	w.Header().Set("WWW-Authenticate", challenge+d.pointer(Agent))
	text := "a bearer token is required"
	for _, known := range []error{errInvalid, errExpired, errTwo, errUnknownCA} {
		if errors.Is(err, known) {
			text = known.Error() // no more: why it is not valid is for the log
		}
	}
	http.Error(w, text, http.StatusUnauthorized)
}

// forbid answers a request of a principal without the role (RFC 6750, 3.1).
func (d *Door) forbid(w http.ResponseWriter, p *Principal, role Role) {
	d.opts.Logger.Warn("an HTTP request needs a role", "principal", p.Name, "role", role)
	w.Header().Set("WWW-Authenticate", `Bearer realm="weir", error="insufficient_scope"`+d.pointer(role))
	http.Error(w, "this needs the role "+string(role), http.StatusForbidden)
}

// pointer is the part of a challenge that says where to get a token, and of which scope.
func (d *Door) pointer(role Role) (text string) {
	if d.issuer == nil {
		return ""
	}
	if scopes := d.issuer.scopesOf(role); len(scopes) > 0 {
		text += `, scope="` + strings.Join(scopes, " ") + `"`
	}
	if at, ok := d.metadataURL(); ok {
		text += `, resource_metadata="` + at + `"`
	}
	return text
}

// metadataURL returns where the metadata of the resource is: the audience with the well-known path before its own.
func (d *Door) metadataURL() (string, bool) {
	scheme, rest, ok := strings.Cut(d.issuer.opts.Audience, "://")
	host, path, _ := strings.Cut(rest, "/")
	if !ok || scheme != "https" && scheme != "http" {
		return "", false // an audience that is no URL
	}
	if path != "" {
		path = "/" + path
	}
	return scheme + "://" + host + MetadataPath + path, true
}

// Metadata returns the handler of the metadata of the protected resource (RFC 9728, 2); nil without an authorization
// server.
func (d *Door) Metadata() http.Handler {
	if d.issuer == nil {
		return nil
	}
	var scopes []string
	for _, role := range Roles() {
		scopes = append(scopes, d.issuer.scopesOf(role)...)
	}
	document, err := json.Marshal(map[string]any{
		"resource":                 d.issuer.opts.Audience,
		"authorization_servers":    []string{d.issuer.opts.Issuer},
		"scopes_supported":         slices.Compact(scopes),
		"bearer_methods_supported": []string{"header"},
		"resource_name":            "Weir",
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err != nil {
			http.Error(w, "no metadata", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Access-Control-Allow-Origin", "*") // it is public, and clients in browsers need it
		w.Write(document)
	})
}
