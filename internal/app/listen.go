package app

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/internal/signin"
	"github.com/weir-mcp/weir/internal/streamable"
)

// Endpoint is the path of the MCP endpoint over HTTP.
const Endpoint = "/mcp"

// How long requests in flight may take when weir is told to stop: to be answered, and then for clients to take the answers.
const (
	drain  = 10 * time.Second
	linger = 5 * time.Second
)

// metricsPath is the path of the figures for a monitoring system, over HTTP.
const metricsPath = "/metrics"

// A listener is an endpoint over HTTP.
type listener struct {
	config  *config.Config
	log     *slog.Logger
	handler *streamable.Handler
	metrics http.Handler // the figures; nil: there are none
	serves  func(url string)
}

// serveHTTP serves clients, and the figures, at the address of the configuration until ctx ends.
func serveHTTP(ctx context.Context, env *home.Env, l listener) error {
	c, log, h := l.config, l.log, l.handler
	secure, err := tlsOf(c.HTTP)
	if err != nil {
		return err
	}
	door, err := doorOf(env, c, log)
	if err != nil {
		return err
	}
	socket, err := new(net.ListenConfig).Listen(ctx, "tcp", c.Listen)
	if err != nil {
		return err
	}
	socket = h.Listener(socket)
	scheme := "http"
	if secure != nil {
		scheme, socket = "https", tls.NewListener(socket, secure)
	}
	server := streamable.NewServer(h) // h itself, which Shutdown then closes
	server.Handler = endpoints(door, h, l.metrics)
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		answered, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
		defer cancel()
		h.Drain(answered) // over connections that are still there: a server may have asked for something
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), linger)
		defer cancel()
		if err := server.Shutdown(within); errors.Is(err, context.DeadlineExceeded) {
			stopped <- server.Close()
			return
		}
		stopped <- nil
	})
	url := scheme + "://" + socket.Addr().String() + Endpoint
	l.serves(url)
	log.Info("listening", "url", url)
	err = server.Serve(socket)
	if stop() { // it was not ctx that ended it
		return err
	}
	return <-stopped
}

// tlsOf loads the certificates of TLS; nil if none are configured. Clients may show a certificate, and one that is shown has to be
// good.
func tlsOf(l config.Listener) (*tls.Config, error) {
	if l.Cert == "" {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(l.Cert, l.Key)
	if err != nil {
		return nil, remedy.Usage(fmt.Errorf("http.tls: %w", err), "name PEM files of a certificate chain and its key")
	}
	c := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	if l.ClientCA == "" {
		return c, nil
	}
	authorities, err := os.ReadFile(l.ClientCA)
	if c.ClientCAs = x509.NewCertPool(); err == nil && !c.ClientCAs.AppendCertsFromPEM(authorities) {
		err = fmt.Errorf("%s holds no certificate", l.ClientCA)
	}
	if err != nil {
		return nil, remedy.Usage(fmt.Errorf("http.tls: client_ca: %w", err), "name a PEM file with the certificates of the authorities")
	}
	c.ClientAuth = tls.VerifyClientCertIfGiven
	return c, nil
}

// doorOf returns the door to the endpoints. Where nothing says who may come in, others than this machine need a token that is
// made on first use and kept in the state directory; nil lets everyone in.
func doorOf(env *home.Env, c *config.Config, log *slog.Logger) (*signin.Door, error) {
	l := c.HTTP
	opts := signin.Options{Logger: log}
	switch {
	case l.Token != "" && l.Token != config.NoToken:
		opts.Tokens = append(opts.Tokens, signin.Token{Name: localPrincipal, Secret: l.Token, Roles: signin.Roles()})
	case l.Principals():
	case l.Token == config.NoToken || !c.Open():
		return nil, nil
	default:
		path, made, err := ownToken(env)
		if err != nil {
			return nil, err
		}
		log.Info("hosts sign in with a bearer token", "file", path)
		opts.Tokens = append(opts.Tokens, signin.Token{Name: localPrincipal, Secret: made, Roles: signin.Roles()})
	}
	for _, t := range l.Tokens {
		opts.Tokens = append(opts.Tokens, signin.Token{Name: "token:" + t.Name, Secret: t.Secret, Roles: t.Roles, Expires: t.Expires})
	}
	for _, known := range l.Certificates {
		opts.Certificates = append(opts.Certificates, signin.Certificate(known))
	}
	if o := l.OAuth; o.Issuer != "" {
		opts.OAuth = &signin.OAuth{Issuer: o.Issuer, Audience: o.Audience, Claim: o.Claim, Scopes: o.Scopes}
	}
	return signin.New(opts), nil
}

// endpoints serves clients and the figures, each to those who may.
func endpoints(door *signin.Door, h *streamable.Handler, metrics http.Handler) http.Handler {
	mux := http.NewServeMux()
	mcp, guarded := http.Handler(h), func(_ signin.Role, next http.Handler) http.Handler { return next }
	if door != nil {
		mcp, guarded = door.Require(signin.Agent, mcp), door.Require
		if metadata := door.Metadata(); metadata != nil {
			mux.Handle("GET "+signin.MetadataPath, metadata)
			mux.Handle("GET "+signin.MetadataPath+"/", metadata)
		}
	}
	mux.Handle(Endpoint, mcp)
	if metrics != nil {
		mux.Handle("GET "+metricsPath, guarded(signin.Auditor, h.Guarded(metrics)))
	}
	return streamable.LimitBody(mux)
}

// ownToken returns the token in the state directory, and where it is. It is made if it is not there: 130 random bits, in a
// file for its owner only.
func ownToken(env *home.Env) (path, token string, err error) {
	dir, err := env.StateDir()
	if err != nil {
		return "", "", err
	}
	path = filepath.Join(dir, "http-token")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", "", fmt.Errorf("making the state directory: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		data, err := os.ReadFile(path)
		token = strings.TrimSpace(string(data))
		if err == nil && token == "" {
			err = errors.New("the file is empty")
		}
		if err != nil {
			return "", "", remedy.Failure(fmt.Errorf("reading the token %s: %w", path, err), "remove the file to have a new one made, or set http.token")
		}
		return path, token, nil
	case err != nil:
		return "", "", fmt.Errorf("making a token: %w", err)
	}
	token = rand.Text()
	_, err = f.WriteString(token + "\n")
	if err = errors.Join(err, f.Close()); err != nil {
		return "", "", fmt.Errorf("making a token: %w", err)
	}
	return path, token, nil
}
