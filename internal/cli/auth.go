package cli

import (
	"fmt"
	"net/url"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/oauth"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/internal/upstream"
)

// A keychain hands out what gets the tokens of servers. Whoever asks twice in the same way gets the same one, so that a
// reload of the configuration leaves their connections alone.
type keychain struct {
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

// keychain returns a keychain for the servers of a setup, over the logins in the state directory.
func (e *Env) keychain(s *setup) *keychain {
	k := &keychain{command: loginByURL}
	if slices.Contains(s.files, s.path) {
		k.command = loginCommand(s.path)
	}
	if vault, err := e.vault(); err == nil {
		k.vault = vault
	}
	return k
}

// vault returns where logins are kept.
func (e *Env) vault() (*oauth.Vault, error) {
	dir, err := e.stateDir()
	if err != nil {
		return nil, remedy.Usage(fmt.Errorf("no place for logins: neither XDG_STATE_HOME nor HOME is set"), "set one of them")
	}
	v := &oauth.Vault{Dir: filepath.Join(dir, "tokens")}
	if e.hasKeyring() {
		v.Ring = oauth.SystemRing{}
	}
	return v, nil
}

// hasKeyring reports whether there may be a keyring. Asking for one where no session bus is would start one.
func (e *Env) hasKeyring() bool {
	switch runtime.GOOS {
	case "darwin", "windows":
		return true
	}
	bus, _ := e.getenv("DBUS_SESSION_BUS_ADDRESS")
	return bus != ""
}

// auth returns what gets the tokens of a server; nil if nothing does, because it is a command, or the operator has said so.
func (k *keychain) auth(s config.Server) upstream.Authorizer {
	if !wantsLogin(s) && s.Auth.Flow != config.ClientCredentials || s.Auth.Flow != config.ClientCredentials && k.vault == nil {
		return nil
	}
	server := oauthServer(s, k.command(s))
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

// wantsLogin reports whether a person can log in to a server: it has a URL to which tokens can go, and no other credentials.
func wantsLogin(s config.Server) bool {
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

// oauthServer returns what package oauth needs to know of a server.
func oauthServer(s config.Server, command string) oauth.Server {
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
	return func(s config.Server) string { return "weir login --config " + quoted(path) + " " + s.Name }
}

// loginByURL returns the command that logs in to a server that no configuration has. Its URL may hold a key in its query.
func loginByURL(s config.Server) string {
	if strings.Contains(s.URL, "?") {
		return "weir login URL, with its URL"
	}
	return "weir login " + quoted(s.URL)
}

// quoted writes an argument as a shell takes it.
func quoted(s string) string {
	if strings.ContainsAny(s, " \t\"'$`\\*?[]{}()<>|&;~#!") {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return s
}
