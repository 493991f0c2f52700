// Package console is a set of web pages for people: what agent sessions have seen and where it went, the questions that wait for an
// answer, and the events of the log.
//
//	c, err := console.New(console.Options{Source: source, Actor: actor, Address: listener.Addr().String()})
//	fmt.Fprintln(os.Stderr, c.LoginLink())
//	server := &http.Server{Handler: c.Handler()}
//
// It knows neither gateways nor stores: what it shows comes from a [Source], what a person does goes to an [Actor], both of
// which it declares. Everything that a [Source] tells may have been written by an attacker. It is shown through package
// plain and html/template, as text, and becomes neither markup nor script nor a link to somewhere else.
//
// What it promises:
//
//   - Nothing but the page with the style and the script is answered without the cookie of a login. A login link works once.
//   - Requests with another Host than the console's own are refused, so that no name that is made to resolve here gets in.
//   - What changes something is a POST from the console's own pages: http.CrossOriginProtection, and a token in each form.
//   - Pages load nothing from elsewhere, hold no inline script or style, and their Content-Security-Policy says so. All of
//     them work without script; with it, they follow what happens.
package console

import (
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/record"
)

// A Source tells what there is to show. It must be safe for concurrent use.
type Source interface {
	// Sessions returns agent sessions, the newest first, so many at most.
	Sessions(ctx context.Context, limit int) ([]Session, error)

	// Events returns what the filter selects, the newest first.
	Events(ctx context.Context, f Filter) ([]Event, error)

	// Questions returns what waits for an answer, the oldest first.
	Questions(ctx context.Context) ([]Question, error)

	// Overview returns the rest.
	Overview(ctx context.Context) (Overview, error)
}

// An Actor does what a person decides. Its errors are shown to the person.
type Actor interface {
	// Answer answers a question: with "once", "session", "deny" or "end".
	Answer(ctx context.Context, id, choice string) error

	// End has an agent session do nothing more.
	End(ctx context.Context, key, why string) error

	// Declassify takes what the words name out of the label of an agent session.
	Declassify(ctx context.Context, key string, drop []string, why string) error
}

// A Session is an agent session.
type Session struct {
	Key, Parent, Principal string
	Label                  label.Label
	Calls                  int64
	Created, Seen          time.Time
	Ended                  bool // a person has ended it
}

// An Event is an event of the log and its number there.
type Event struct {
	Seq int64
	record.Event
}

// A Filter selects events. Each zero member selects all.
type Filter struct {
	Before  int64  // number; only events before it
	Session string // key
	Kind    string
	Effect  string
	Subject string // "server/name"
	Text    string // part of what the event says, whatever the case
	Limit   int
}

// A Question waits for an answer. Its texts are plain already.
type Question struct {
	ID, Session string
	Asked       time.Time
	Expires     time.Time
	Lead        string   // what would happen
	Lines       []string // all else that there is to know, in this order
	MaySession  bool     // whether it may be accepted for the session and the destination
}

// An Overview is what there is to know beside sessions, events and questions.
type Overview struct {
	Version string
	Head    int64 // grows with each event
	Rules   []Rule
	Looked  int // decisions in which the hits of rules were counted, the newest
	Servers []Server
	Figures []Figure // of questions and answers
}

// A Rule is a rule of the policy that decides now, and how often it matched.
type Rule struct {
	Name, When, If, Effect, Message string
	Hits                            int
}

// A Server is a server, as a process that serves it tells.
type Server struct {
	Name, Process, Trust, State, Error string
	Calls                              int64
}

// A Figure is a number with its name.
type Figure struct{ Name, Value string }

// Options configures a Console.
type Options struct {
	Source  Source // required
	Actor   Actor  // required
	Address string // host:port where it is served; required
	Now     func() time.Time
}

// A Console serves the pages. Make one with [New].
type Console struct {
	opts   Options
	pages  *template.Template
	secret []byte // of form tokens

	mu     sync.Mutex
	once   string               // the token of the login link; "" once it was used
	logins map[string]time.Time // cookies and when they end
}

//go:embed assets
var assets embed.FS

// New returns a console.
func New(opts Options) (*Console, error) {
	if opts.Source == nil || opts.Actor == nil {
		return nil, errors.New("a console needs a source and an actor")
	}
	if _, _, err := net.SplitHostPort(opts.Address); err != nil {
		return nil, fmt.Errorf("the address of the console: %w", err)
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	c := &Console{opts: opts, secret: make([]byte, 32), once: rand.Text(), logins: map[string]time.Time{}}
	rand.Read(c.secret)
	pages, err := template.New("").Funcs(template.FuncMap{
		"show":   func(s string) string { return plain.Text(s, 200) },
		"line":   func(s string) string { return plain.Text(s, 2000) },
		"brief":  func(s string) string { return plain.Text(s, 60) },
		"kind":   func(k record.Kind) string { return string(k) },
		"escape": url.QueryEscape,
		"ago":    c.ago, "left": c.left, "stamp": stamp, "shape": shapeOf, "words": labelWords,
	}).ParseFS(assets, "assets/*.html")
	if err != nil {
		return nil, fmt.Errorf("reading the console's pages: %w", err)
	}
	c.pages = pages
	return c, nil
}

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
	pages.HandleFunc("GET /servers", c.servers)
	pages.HandleFunc("GET /live", c.live)
	pages.HandleFunc("POST /answer", c.answer)
	pages.HandleFunc("POST /end", c.end)
	pages.HandleFunc("POST /declassify", c.declassify)
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
