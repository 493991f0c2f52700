package app

import (
	"context"
	"crypto/rand"
	"crypto/tls"
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

// serveHTTP serves hosts, and the figures, at the address of the configuration until ctx ends.
func serveHTTP(ctx context.Context, env *home.Env, t *statusSource) error {
	c, log, h := t.Config, t.log, t.gateway.Handler()
	certificates, err := certificates(c.HTTP)
	if err != nil {
		return err
	}
	signedIn, err := signedIn(env, c, log)
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", c.Listen)
	if err != nil {
		return err
	}
	listener = h.Listener(listener)
	scheme := "http"
	if certificates != nil {
		scheme, listener = "https", tls.NewListener(listener, &tls.Config{Certificates: certificates, MinVersion: tls.VersionTLS12})
	}
	mux := http.NewServeMux()
	mux.Handle(Endpoint, signedIn(h))
	mux.Handle("GET "+metricsPath, signedIn(h.Guarded(http.HandlerFunc(t.serveMetrics))))
	server := streamable.NewServer(h) // h itself, which Shutdown then closes
	server.Handler = mux
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
	url := scheme + "://" + listener.Addr().String() + Endpoint
	t.serves.Store(&url)
	log.Info("listening", "url", url)
	err = server.Serve(listener)
	if stop() { // it was not ctx that ended it
		return err
	}
	return <-stopped
}

// certificates loads the certificates of TLS; nil if none are configured.
func certificates(l config.Listener) ([]tls.Certificate, error) {
	if l.Cert == "" {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(l.Cert, l.Key)
	if err != nil {
		return nil, remedy.Usage(fmt.Errorf("http.tls: %w", err), "name PEM files of a certificate chain and its key")
	}
	return []tls.Certificate{pair}, nil
}

// signedIn returns a wrapper that requires the token of a handler: the one of the configuration; where others than this machine may
// connect and none is configured, one that is made on first use and kept in the state directory.
func signedIn(env *home.Env, c *config.Config, log *slog.Logger) (func(http.Handler) http.Handler, error) {
	token := c.HTTP.Token
	switch {
	case token == config.NoToken, token == "" && !c.Open():
		return func(h http.Handler) http.Handler { return h }, nil
	case token == "":
		path, made, err := ownToken(env)
		if err != nil {
			return nil, err
		}
		log.Info("hosts sign in with a bearer token", "file", path)
		token = made
	}
	return func(h http.Handler) http.Handler { return streamable.RequireToken(h, token) }, nil
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
