package setup

import (
	"net/url"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/oauth"
	"github.com/weir-mcp/weir/internal/upstream"
)

// A Keychain hands out authorizers of servers. Equal requests get the same authorizer, so that a
// reload of the configuration leaves their connections alone.
type Keychain struct {
	vault   *oauth.Vault               // nil: nobody can log in
	command func(config.Server) string // that logs in

	mu    sync.Mutex
	known []handedOut
}

type handedOut struct {
	flow   config.Flow
	server oauth.Server
	auth   upstream.Authorizer
}

// NewKeychain returns a keychain for the servers of a setup, over the logins in the state directory.
func NewKeychain(env *home.Env, s *Setup) *Keychain {
	k := &Keychain{command: loginByURL}
	if slices.Contains(s.Files, s.Path) {
		k.command = loginCommand(s.Path)
	}
	if vault, err := env.Vault(); err == nil {
		k.vault = vault
	}
	return k
}

// auth returns the authorizer of a server; nil for a command, and where the operator wants none.
func (k *Keychain) auth(s config.Server) upstream.Authorizer {
	if !WantsLogin(s) && s.Auth.Flow != config.ClientCredentials || s.Auth.Flow != config.ClientCredentials && k.vault == nil {
		return nil
	}
	server := OAuthServer(s, k.command(s))
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, h := range k.known {
		if h.flow == s.Auth.Flow && reflect.DeepEqual(h.server, server) {
			return h.auth
		}
	}
	h := handedOut{flow: s.Auth.Flow, server: server}
	if s.Auth.Flow == config.ClientCredentials {
		h.auth = oauth.NewMachine(server)
	} else {
		h.auth = oauth.NewSource(server, k.vault)
	}
	k.known = append(k.known, h)
	return h.auth
}

// WantsLogin reports whether a person can log in to a server: it has a URL to which tokens can go, and no other
// credentials.
func WantsLogin(s config.Server) bool {
	u, err := url.Parse(s.URL)
	if err != nil || s.URL == "" || s.Auth.Flow == config.NoFlow || s.Auth.Flow == config.ClientCredentials {
		return false
	}
	for name := range s.Headers {
		if strings.EqualFold(name, "Authorization") {
			return false
		}
	}
	return u.Scheme == "https" || config.Loopback(u.Hostname())
}

// OAuthServer returns a server as package oauth takes it.
func OAuthServer(s config.Server, command string) oauth.Server {
	return oauth.Server{
		Name: s.Name, URL: s.URL, Issuer: s.Auth.Issuer, ClientID: s.Auth.ClientID, ClientSecret: s.Auth.ClientSecret,
		Scopes: s.Auth.Scopes, RedirectPort: s.Auth.RedirectPort, Command: command,
	}
}

// loginCommand returns the command that logs in to a server of the configuration at path.
func loginCommand(path string) func(config.Server) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return func(s config.Server) string { return "weir login --config " + Quoted(path) + " " + s.Name }
}

// loginByURL returns the command that logs in to a server that no configuration has. Its URL may hold a key in its
// query.
func loginByURL(s config.Server) string {
	if strings.Contains(s.URL, "?") {
		return "weir login URL, with its URL"
	}
	return "weir login " + Quoted(s.URL)
}

// Quoted writes an argument as a shell takes it.
func Quoted(s string) string {
	if strings.ContainsAny(s, " \t\"'$`\\*?[]{}()<>|&;~#!") {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return s
}
