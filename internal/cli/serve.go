package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/detect"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/budget"
	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/files"
	"github.com/weir-mcp/weir/internal/gateway"
	"github.com/weir-mcp/weir/internal/notify"
	"github.com/weir-mcp/weir/internal/pins"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/internal/upstream"
	"github.com/weir-mcp/weir/session"
)

// A service is what a command serves, and how.
type service struct {
	*setup
	baseEnv []string               // of servers
	reload  func() (*setup, error) // loads the setup again; nil if it never changes
	log     *slog.Logger

	trustText string                 // what the user says beforehand
	session   string                 // the agent session of requests on stdio that name none; "" for that of the host or folder
	locked    *pins.File             // nil: nothing is pinned
	ground    files.Current          // this machine's files
	serves    atomic.Pointer[string] // where hosts are served; nil before they are
}

// serve stands in front of the servers until the host leaves or ctx ends, on the address of the configuration
// or on standard input and output.
func (e *Env) serve(ctx context.Context, s *service) (err error) {
	log := s.log
	people := e.notifier(s.config.Notify, log)
	kept, err := e.openState(ctx, s.config, log, people)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, kept.Close()) }()
	defer people.Close() // before what its answers go to
	log.Info("starting", "config", s.path, "mode", s.config.Mode, "policy", policyName(s.config), "on", listenName(s.config))
	for _, p := range slices.Concat(s.config.Warnings, s.config.ListenProblems()) {
		log.Warn(p.String(), "hint", p.Hint)
	}
	if s.locked, err = e.openPins(s.config, kept.backend); err != nil {
		return err
	}
	keys := e.keychain(s.setup)
	s.ground.Set(e.ground(s.setup, log))
	g, err := e.gateway(s, kept, people, keys)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	r := &reloader{load: s.reload, settled: func(now *setup) { s.ground.Set(e.ground(now, log)) }, proposals: newProposals(kept, people), gateway: g, log: log, started: s.config, keys: keys, now: s.setup}
	t := &teller{service: s, reloader: r, started: time.Now(), people: people, asked: newTally(kept), db: kept.db, refused: kept.refused, log: log}
	defer e.tellStatus(t)()
	if s.reload != nil {
		defer r.start(ctx)()
	}
	shown, err := e.beside(ctx, t, kept)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, shown()) }()
	if err = e.serveHosts(ctx, t); ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil // told to stop, and stopped
	}
	return err
}

// serveHosts serves hosts until they leave or ctx ends.
func (e *Env) serveHosts(ctx context.Context, t *teller) error {
	if t.config.Listen != "" {
		return e.serveHTTP(ctx, t)
	}
	t.serves.Store(new("stdio"))
	limits := &rpc.StreamOptions{MaxMessage: t.config.Limits.Message}
	return t.gateway.ServeStdio(ctx, rpc.NewStream(readCloser(e.Stdin), writeCloser(e.Stdout), limits))
}

// gateway returns the gateway of a service.
func (e *Env) gateway(s *service, kept *state, people *notify.Notifier, keys *keychain) (*gateway.Gateway, error) {
	words, err := wordsOf(s.config.Words)
	if err != nil {
		return nil, err
	}
	servers, err := s.servers(keys)
	if err != nil {
		return nil, err
	}
	local, err := e.local(s)
	if err != nil {
		return nil, err
	}
	return gateway.New(gateway.Options{
		Servers: servers, Policy: s.policy, Mode: s.config.Mode,
		Sessions: kept.sessions, Taints: session.NewTaints(session.TaintOptions{Store: kept.backend, Keep: keepLabels(s.config.Retention)}), Record: kept.record, Approvals: kept.backend,
		Approval: s.config.Approval, Startup: s.config.Startup, Asked: asked(people),
		Version: version(), BaseEnv: s.baseEnv, Stderr: e.Stderr, Budget: budgetOf(s.config), Logger: s.log,
		Web:       gateway.Web{AllowedHosts: s.config.HTTP.Hosts, AllowedOrigins: s.config.HTTP.Origins, Share: s.config.HTTP.Share, Apart: s.config.HTTP.Apart},
		Local:     local,
		Contents:  guard.Contents{Fields: s.config.Capture.Fields, All: s.config.Capture.Content, Detection: detectionOf(s.config.Detect)},
		TrustText: s.trustText, Domains: s.config.Domains, Words: words, Pins: gatewayPins(s.locked), Review: s.reviewCommand(), Files: &s.ground,
	})
}

// detectionOf returns the search of results.
func detectionOf(d config.Detection) guard.Detection {
	if d.Off {
		return guard.Detection{}
	}
	return guard.Detection{Detector: detect.New(), Notes: d.Notes}
}

// budgetOf returns the limits of the configuration.
func budgetOf(c *config.Config) *budget.Budget {
	l := c.Limits
	return budget.New(budget.Limits{
		Message: int64(l.Message), Bytes: int64(l.InFlight), Connections: int64(l.Connections), Sessions: int64(l.Sessions),
		Processes: int64(l.Processes), Traces: int64(l.Traces),
	})
}

// wordsOf returns what is read of annotations and written.
func wordsOf(w config.Words) (words annotation.Words, err error) {
	words.Reader = annotation.NewReader(w.Labels)
	if w.ToHosts != nil {
		if words.ToHosts, err = annotation.NewWriter(annotation.Lossless(w.ToHosts...)...); err != nil {
			return words, fmt.Errorf("annotations.to_hosts: %w", err)
		}
	}
	if w.ToServers != nil {
		if words.ToServers, err = annotation.NewWriter(w.ToServers...); err != nil {
			return words, fmt.Errorf("annotations.to_servers: %w", err)
		}
	}
	return words, nil
}

// upstreams returns what the gateway needs to know of the enabled servers.
func (k *keychain) upstreams(c *config.Config) []gateway.Server {
	var out []gateway.Server
	for _, s := range c.Servers {
		if s.Disabled {
			continue
		}
		spec := upstream.Spec{Name: s.Name, Dir: s.Dir, URL: s.URL, SSE: s.Transport == config.SSE, Headers: s.Headers, Auth: k.auth(s)}
		if s.Command != "" {
			spec.Command = append([]string{s.Command}, s.Args...)
		}
		for _, name := range slices.Sorted(maps.Keys(s.Env)) {
			spec.Env = append(spec.Env, name+"="+s.Env[name])
		}
		out = append(out, gateway.Server{Name: s.Name, Spec: spec, Trust: s.Trust, Timeout: s.Timeout, Resolve: s.Resolve})
	}
	return out
}

// missing returns the problems of servers whose command is not there. No problem quotes a command.
func missing(c *config.Config) []config.Problem {
	var problems []config.Problem
	for _, s := range c.Servers {
		if s.Disabled || s.Command == "" {
			continue
		}
		if _, err := exec.LookPath(s.Command); err != nil && !errors.Is(err, exec.ErrDot) {
			problems = append(problems, config.Problem{Msg: fmt.Sprintf("server %q: its command is not found", s.Name),
				Hint: "install it, or write its path"})
		}
	}
	return problems
}

// inherited are the variables that servers of weir run get from weir's own environment; all others could be the
// secrets of another server.
var inherited = slices.Concat(
	[]string{"HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER",
		"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"},
	proxyVariables, certificateVariables, windowsVariables)

// proxyVariables say how programs reach the network. Programs differ in the case of their names.
var proxyVariables = []string{"ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "all_proxy", "https_proxy", "http_proxy", "no_proxy",
	"npm_config_https_proxy", "npm_config_noproxy", "npm_config_proxy"}

// certificateVariables name files or folders of certificate authorities, in OpenSSL, Node.js, npm, Python and git.
var certificateVariables = []string{"CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "NODE_EXTRA_CA_CERTS", "PIP_CERT", "REQUESTS_CA_BUNDLE",
	"SSL_CERT_DIR", "SSL_CERT_FILE", "npm_config_cafile"}

// windowsVariables are those without which programs on Windows do not start, or do not find their files.
var windowsVariables = []string{"ALLUSERSPROFILE", "APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "NUMBER_OF_PROCESSORS", "OS",
	"PATHEXT", "PROCESSOR_ARCHITECTURE", "PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP",
	"USERNAME", "USERPROFILE", "WINDIR"}

func (e *Env) baseEnv() []string {
	same := func(a, b string) bool { return a == b }
	if runtime.GOOS == "windows" {
		same = strings.EqualFold // as its environment has it
	}
	return slices.DeleteFunc(slices.Clone(e.Environ), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		known := slices.ContainsFunc(inherited, func(n string) bool { return same(n, name) })
		return !known && !strings.HasPrefix(name, "LC_")
	})
}

func readCloser(r io.Reader) io.ReadCloser {
	if f, ok := r.(*os.File); ok {
		return pollable(f, os.O_RDONLY)
	}
	if rc, ok := r.(io.ReadCloser); ok {
		return rc
	}
	return io.NopCloser(r)
}

func writeCloser(w io.Writer) io.WriteCloser {
	if f, ok := w.(*os.File); ok {
		return pollable(f, os.O_WRONLY)
	}
	if wc, ok := w.(io.WriteCloser); ok {
		return wc
	}
	return nopCloser{w}
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
