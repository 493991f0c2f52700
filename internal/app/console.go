package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/console"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/ledger"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/internal/socket"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// NewConsoleView returns the pages' view of the store at a place.
func NewConsoleView(env *home.Env, db *sqlstore.DB, place string, l *ledger.Ledger, principal string) *ConsoleView {
	return &ConsoleView{
		env: env, db: db, place: place, ledger: l, principal: principal, book: NewBook(db, l),
		asked: &approvalStats{db: db}, hits: newRuleHits(db.Log()), flows: newSessionFlows(db.Log()), fleet: &processes{env: env},
	}
}

// serveConsoleBeside serves the console of a weir that serves hosts, if that is asked for.
func serveConsoleBeside(ctx context.Context, env *home.Env, t *statusSource, kept *state) (stop func() error, err error) {
	at := t.Service.Config.Console
	if at == "" {
		return func() error { return nil }, nil
	}
	db, l, err := consoleLog(kept)
	if err != nil {
		return nil, err
	}
	place, err := env.StorePlace(t.Service.Config.Store)
	if err != nil {
		return nil, err
	}
	view := NewConsoleView(env, db, place, l, "")
	view.fleet.self, view.vault = t, &hiddenResults{view, t.gateway.Hidden()}
	return ServeConsole(ctx, env, view, at)
}

// consoleLog returns the log that a console shows, or a usage error if none is kept.
func consoleLog(kept *state) (*sqlstore.DB, *ledger.Ledger, error) {
	db, isDB := kept.backend.(*sqlstore.DB)
	l, isLog := kept.record.(*ledger.Ledger)
	if !isDB || !isLog {
		return nil, nil, remedy.Usage(errors.New("console: there is no log to show"), "use a store that is not memory, and keep a record")
	}
	return db, l, nil
}

// ServeConsole serves the pages at an address of this machine until stop is called, and gives the user the login link.
func ServeConsole(ctx context.Context, env *home.Env, view *ConsoleView, address string) (stop func() error, err error) {
	address, open, ok := config.ParseListen(address)
	if !ok || open {
		return nil, remedy.Usage(fmt.Errorf("the console is served on this machine only, not at %.80q", address), "write 127.0.0.1:PORT")
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	c, err := console.New(console.Options{
		Log: view, Desk: view, Fleet: view.fleet, Actor: view, Vault: view.vault, Address: listener.Addr().String(),
	})
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	forget, err := giveLink(env, listener.Addr(), c.LoginLink())
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	server := &http.Server{Handler: c.Handler(), ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx }}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	return func() error {
		err := errors.Join(forget(), server.Close())
		if served := <-ended; !errors.Is(served, http.ErrServerClosed) {
			err = errors.Join(err, served)
		}
		return err
	}, nil
}

// giveLink prints the link on a terminal. Elsewhere standard error is the log of a host, which its agent may read:
// there the link is in a file of Weir's own, which no call may touch, until forget is called.
func giveLink(env *home.Env, at net.Addr, link string) (forget func() error, err error) {
	if home.IsTerminal(env.Stderr) {
		fmt.Fprintf(env.Stderr, "weir: console: %s\n", link)
		return func() error { return nil }, nil
	}
	dir, err := env.RunDir()
	if err != nil {
		return nil, err
	}
	if err := socket.Private(dir); err != nil {
		return nil, fmt.Errorf("keeping the login link of the console: %w", err)
	}
	_, port, _ := net.SplitHostPort(at.String())
	name := filepath.Join(dir, "console-"+port)
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a console that was killed
		return nil, fmt.Errorf("keeping the login link of the console: %w", err)
	}
	if err := os.WriteFile(name, []byte(link+"\n"), 0o600); err != nil {
		return nil, fmt.Errorf("keeping the login link of the console: %w", err)
	}
	fmt.Fprintf(env.Stderr, "weir: console: http://%s; the link that signs you in is in %s\n", at, name)
	return func() error {
		if err := os.Remove(name); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil // with the folder, when the user has logged out
	}, nil
}
