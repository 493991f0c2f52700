package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/console"
	"github.com/weir-mcp/weir/internal/ledger"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// defaultConsole is where the console is served: this machine only, at any port.
const defaultConsole = "127.0.0.1:0"

func newConsole(env *Env) *cobra.Command {
	var a asking
	var listen string
	cmd := &cobra.Command{
		Use:   "console",
		Short: "Serve web pages that show what agents do",
		Long: `Serve web pages on this machine: agent sessions with what they have seen, where it came from and
where it went, the questions that wait for an answer, and the events of the log. A link is
printed that logs one browser in, once. Until interrupted.

weir run --console and weir wrap --console, and console in weir.yaml, serve the same pages, with
their policy.`,
		Example: "  weir console\n  weir console --listen 127.0.0.1:7777",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			return env.withLedger(ctx, a.store, func(db *sqlstore.DB, l *ledger.Ledger) error {
				view := env.consoleView(db, l, a.principal)
				stop, err := env.serveConsole(ctx, view, listen)
				if err != nil {
					return err
				}
				<-ctx.Done()
				return stop()
			})
		},
	}
	a.add(cmd)
	cmd.Flags().StringVar(&listen, "listen", defaultConsole, "serve at this `ADDRESS` of this machine")
	return cmd
}

// consoleView returns what a console shows of a store.
func (e *Env) consoleView(db *sqlstore.DB, l *ledger.Ledger, principal string) *consoleView {
	return &consoleView{
		env: e, db: db, ledger: l, principal: principal, book: newBook(db, l),
		asked: &tally{db: db}, hits: newHits(db.Log()), flows: newFlows(db.Log()), fleet: &fleet{env: e},
	}
}

// beside serves the console of a weir that serves hosts, if that is asked for.
func (e *Env) beside(ctx context.Context, t *teller, kept *state) (stop func() error, err error) {
	at := t.service.config.Console
	if at == "" {
		return func() error { return nil }, nil
	}
	db, isDB := kept.backend.(*sqlstore.DB)
	l, isLog := kept.record.(*ledger.Ledger)
	if !isDB || !isLog {
		return nil, remedy.Usage(errors.New("console: there is no log to show"), "use a store that is not memory, and keep a record")
	}
	view := e.consoleView(db, l, localPrincipal)
	view.fleet.own = t
	return e.serveConsole(ctx, view, at)
}

// serveConsole serves the pages at an address of this machine until stop is called, and prints the login link.
func (e *Env) serveConsole(ctx context.Context, view *consoleView, address string) (stop func() error, err error) {
	address, open, ok := config.ParseListen(address)
	if !ok || open {
		return nil, remedy.Usage(fmt.Errorf("the console is served on this machine only, not at %.80q", address), "write 127.0.0.1:PORT")
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	c, err := console.New(console.Options{Log: view, Desk: view, Fleet: view.fleet, Actor: view, Address: listener.Addr().String()})
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	server := &http.Server{Handler: c.Handler(), ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx }}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	fmt.Fprintf(e.Stderr, "weir: console: %s\n", c.LoginLink())
	return func() error {
		err := server.Close()
		if served := <-ended; !errors.Is(served, http.ErrServerClosed) {
			err = errors.Join(err, served)
		}
		return err
	}, nil
}
