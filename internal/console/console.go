// Package console is a set of web pages for people: what agent sessions have seen and where it went, the questions that
// wait for an answer, and the events of the log.
//
//	c, err := console.New(console.Options{Log: log, Desk: desk, Fleet: fleet, Actor: actor, Address: listener.Addr().String()})
//	fmt.Fprintln(os.Stderr, c.LoginLink())
//	server := &http.Server{Handler: c.Handler()}
//
// It knows neither gateways nor stores: what it shows comes from a [Log], a [Desk] and a [Fleet], what a person does
// goes to an [Actor], all of which it declares. Hidden results of agents come from a [Vault]. Everything that they
// tell may have been written by an attacker. It is shown through package plain and html/template, as text, and
// becomes neither markup nor script nor a link to somewhere else.
//
// What it promises:
//
//   - Nothing but the page with the style and the script is answered without the cookie of a login. A login link works
//     once, and expires after 15 minutes if it is not used.
//   - Requests with another Host than the console's own are refused, so that no name that is made to resolve here gets
//     in.
//   - Each change is a POST from the console's own pages: http.CrossOriginProtection, and a token in each form.
//   - A hidden result is the answer to such a POST alone, so that each look is an event, and no address leads to one.
//   - Pages load nothing from elsewhere, hold no inline script or style, and their Content-Security-Policy says so. All
//     of them work without script; with it, they follow new events.
package console

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// A Console serves the pages. Make one with [New].
type Console struct{ *site }

// New returns a console.
func New(opts Options) (*Console, error) {
	if opts.Log == nil || opts.Desk == nil || opts.Fleet == nil || opts.Actor == nil {
		return nil, errors.New("a console needs a log, a desk, a fleet and an actor")
	}
	if _, _, err := net.SplitHostPort(opts.Address); err != nil {
		return nil, fmt.Errorf("the address of the console: %w", err)
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	w, err := newWriter(opts.Now)
	if err != nil {
		return nil, err
	}
	return &Console{&site{newGate(w, opts.Address, opts.Now), opts}}, nil
}

// LoginLink returns the address that logs a browser in, once, within 15 minutes of New. After that, and once it was
// used, it is "".
func (c *Console) LoginLink() string { return c.loginLink() }

// Handler returns the console's pages.
func (c *Console) Handler() http.Handler {
	pages := http.NewServeMux()
	pages.HandleFunc("GET /{$}", c.home)
	pages.HandleFunc("GET /sessions", c.sessions)
	pages.HandleFunc("GET /session", c.session)
	pages.HandleFunc("GET /approvals", c.approvals)
	pages.HandleFunc("GET /events", c.events)
	pages.HandleFunc("GET /event", c.event)
	pages.HandleFunc("GET /policy", c.policy)
	pages.HandleFunc("GET /findings", c.findings)
	pages.HandleFunc("GET /finding", c.finding)
	pages.HandleFunc("POST /except", c.except)
	pages.HandleFunc("GET /servers", c.servers)
	pages.HandleFunc("GET /tools", c.tools)
	pages.HandleFunc("GET /pins", c.pins)
	hidden := &viewer{c.site}
	pages.HandleFunc("GET /values", hidden.values)
	pages.HandleFunc("POST /value", hidden.value)
	pages.HandleFunc("GET /live", c.live)
	pages.HandleFunc("POST /answer", c.answer)
	pages.HandleFunc("POST /end", c.end)
	pages.HandleFunc("POST /declassify", c.declassify)
	pages.HandleFunc("POST /accept", c.accept)
	all := http.NewServeMux()
	all.HandleFunc("GET /login", c.login)
	all.Handle("GET /style.css", asset("style.css", "text/css; charset=utf-8"))
	all.Handle("GET /live.js", asset("live.js", "text/javascript; charset=utf-8"))
	all.Handle("/", c.signedIn(pages))
	return c.ownHost(guarded(http.NewCrossOriginProtection().Handler(all)))
}

func asset(name, kind string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", kind)
		http.ServeFileFS(w, r, assets, "assets/"+name)
	})
}

// policyHeader lets pages load the console's own style and script, send forms to it, and nothing else.
const policyHeader = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; form-action 'self'; " +
	"base-uri 'none'; frame-ancestors 'none'"

// guarded sets the headers that keep pages to themselves.
func guarded(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range map[string]string{
			"Content-Security-Policy": policyHeader, "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
			"Referrer-Policy": "same-origin", "Cache-Control": "no-store", "Cross-Origin-Opener-Policy": "same-origin",
			"Cross-Origin-Resource-Policy": "same-origin",
		} {
			w.Header().Set(name, value)
		}
		r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
		h.ServeHTTP(w, r)
	})
}
