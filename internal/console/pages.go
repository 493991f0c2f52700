package console

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/label"
)

// Bounds of what a page shows and of what is looked at for it.
const (
	maxSessions = 200
	pageEvents  = 100
	maxFlow     = 5000 // events of a session, the newest
)

// A page is what every page has, and its own content.
type page struct {
	Title, At string // At is the part of the console that it belongs to
	Form      string // token of forms
	Open      int    // questions
	Head      int64
	Problem   string
	Content   any
}

// render writes a page; an error on the way becomes a page of its own.
func (c *Console) render(w http.ResponseWriter, r *http.Request, p page, err error) {
	status := http.StatusOK
	if err != nil {
		status, p.Problem = http.StatusInternalServerError, plain.Text(err.Error(), 400)
	}
	if cookie, err := r.Cookie(c.cookieName()); err == nil {
		p.Form = c.formToken(cookie.Value)
	}
	if open, err := c.opts.Source.Questions(r.Context()); err == nil {
		p.Open = len(open)
	}
	name := p.At
	if err != nil {
		name = "problem"
	}
	c.write(w, status, name, p)
}

func (c *Console) write(w http.ResponseWriter, status int, name string, p page) {
	var b bytes.Buffer
	if err := c.pages.ExecuteTemplate(&b, name+".html", p); err != nil {
		http.Error(w, "the page could not be made", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	b.WriteTo(w)
}

// refuse answers a request with a reason.
func (c *Console) refuse(w http.ResponseWriter, status int, why string) {
	c.write(w, status, "refused", page{Title: http.StatusText(status), Problem: why})
}

func (c *Console) home(w http.ResponseWriter, r *http.Request) {
	type home struct {
		Overview  Overview
		Sessions  []Session
		Questions []Question
		Stopped   []Event
	}
	var h home
	var err error
	ctx := r.Context()
	if h.Overview, err = c.opts.Source.Overview(ctx); err == nil {
		h.Sessions, err = c.opts.Source.Sessions(ctx, 8)
	}
	if err == nil {
		h.Questions, err = c.opts.Source.Questions(ctx)
	}
	if err == nil {
		h.Stopped, err = c.opts.Source.Events(ctx, Filter{Kind: "decision", Effect: "block", Limit: 8})
	}
	c.render(w, r, page{Title: "Now", At: "home", Content: h}, err)
}

func (c *Console) sessions(w http.ResponseWriter, r *http.Request) {
	all, err := c.opts.Source.Sessions(r.Context(), maxSessions)
	c.render(w, r, page{Title: "Sessions", At: "sessions", Content: all}, err)
}

// find returns the session that the request names.
func (c *Console) find(r *http.Request) (Session, error) {
	key := r.FormValue("key")
	all, err := c.opts.Source.Sessions(r.Context(), maxSessions)
	if err != nil {
		return Session{}, err
	}
	i := slices.IndexFunc(all, func(s Session) bool { return s.Key == key })
	if i < 0 {
		return Session{}, fmt.Errorf("there is no such session among the newest %d", maxSessions)
	}
	return all[i], nil
}

func (c *Console) session(w http.ResponseWriter, r *http.Request) {
	type content struct {
		Session
		Flow   Flow
		Rises  []Event
		Events []Event
		Full   bool
		Drops  []string
	}
	s, err := c.find(r)
	var all []Event
	if err == nil {
		all, err = c.opts.Source.Events(r.Context(), Filter{Session: s.Key, Limit: maxFlow})
	}
	out := content{Session: s, Flow: flowOf(s, all), Full: len(all) == maxFlow, Events: all[:min(len(all), 50)], Drops: droppable(s.Label)}
	for _, e := range slices.Backward(all) {
		if e.Kind == "label" && len(out.Rises) < 50 {
			out.Rises = append(out.Rises, e)
		}
	}
	c.render(w, r, page{Title: "Session", At: "session", Content: out}, err)
}

// droppable lists what may be taken out of a label, as far as it reads as what it is.
func droppable(l label.Label) []string {
	return slices.DeleteFunc(drops(l), func(word string) bool { return plain.Text(word, 100) != word })
}

// drops lists what is in a label.
func drops(l label.Label) []string {
	var words []string
	for word, set := range map[string]bool{"untrusted": l.Untrusted, "private": l.Private, "malicious": l.Malicious} {
		if set {
			words = append(words, word)
		}
	}
	slices.Sort(words)
	for class := range l.Sensitivity.All() {
		words = append(words, string(class))
	}
	return words
}

func (c *Console) approvals(w http.ResponseWriter, r *http.Request) {
	type content struct {
		Questions []Question
		Figures   []Figure
		Done      string
	}
	var out content
	var err error
	out.Questions, err = c.opts.Source.Questions(r.Context())
	if err == nil {
		var o Overview
		o, err = c.opts.Source.Overview(r.Context())
		out.Figures = o.Figures
	}
	c.render(w, r, page{Title: "Approvals", At: "approvals", Content: out}, err)
}

func (c *Console) events(w http.ResponseWriter, r *http.Request) {
	type content struct {
		Filter Filter
		Events []Event
		Older  string // address of the next page; "" if there is none
		Kinds  []string
		Does   []string
	}
	q := r.URL.Query()
	f := Filter{Session: q.Get("session"), Kind: q.Get("kind"), Effect: q.Get("effect"), Subject: q.Get("subject"), Text: q.Get("text"), Limit: pageEvents}
	f.Before, _ = strconv.ParseInt(q.Get("before"), 10, 64)
	if n, _ := strconv.Atoi(q.Get("n")); n > pageEvents && n <= 10_000 {
		f.Limit = n
	}
	all, err := c.opts.Source.Events(r.Context(), f)
	out := content{Filter: f, Events: all, Kinds: []string{"decision", "label", "approval", "defect", "upstream", "pin", "reload", "declassify", "end"},
		Does: []string{"allow", "warn", "ask", "block", "asked", "accepted", "declined"}}
	if len(all) == f.Limit {
		older := url.Values{"before": {strconv.FormatInt(all[len(all)-1].Seq, 10)}}
		for name, value := range map[string]string{"session": f.Session, "kind": f.Kind, "effect": f.Effect, "subject": f.Subject, "text": f.Text} {
			if value != "" {
				older.Set(name, value)
			}
		}
		out.Older = "/events?" + older.Encode()
	}
	c.render(w, r, page{Title: "Events", At: "events", Content: out}, err)
}

func (c *Console) event(w http.ResponseWriter, r *http.Request) {
	seq, _ := strconv.ParseInt(r.URL.Query().Get("seq"), 10, 64)
	all, err := c.opts.Source.Events(r.Context(), Filter{Before: seq + 1, Limit: 1})
	if err == nil && (len(all) == 0 || all[0].Seq != seq) {
		err = fmt.Errorf("there is no event %d", seq)
	}
	var e Event
	if err == nil {
		e = all[0]
	}
	c.render(w, r, page{Title: "Event", At: "event", Content: e}, err)
}

func (c *Console) policy(w http.ResponseWriter, r *http.Request) {
	o, err := c.opts.Source.Overview(r.Context())
	c.render(w, r, page{Title: "Policy", At: "policy", Content: o}, err)
}

func (c *Console) servers(w http.ResponseWriter, r *http.Request) {
	o, err := c.opts.Source.Overview(r.Context())
	c.render(w, r, page{Title: "Servers", At: "servers", Content: o}, err)
}

// answer, end and declassify do what a person has decided, and go back to where that shows.
func (c *Console) answer(w http.ResponseWriter, r *http.Request) {
	c.done(w, r, "/approvals", c.opts.Actor.Answer(r.Context(), r.PostFormValue("id"), r.PostFormValue("choice")))
}

func (c *Console) end(w http.ResponseWriter, r *http.Request) {
	key := sessionOf(r)
	c.done(w, r, "/session?key="+url.QueryEscape(key), c.opts.Actor.End(r.Context(), key, r.PostFormValue("why")))
}

func (c *Console) declassify(w http.ResponseWriter, r *http.Request) {
	key := sessionOf(r)
	err := c.opts.Actor.Declassify(r.Context(), key, r.PostForm["drop"], r.PostFormValue("why"))
	c.done(w, r, "/session?key="+url.QueryEscape(key), err)
}

// sessionOf returns the key of the session that a form is about. Forms hold it escaped, because it may hold anything.
func sessionOf(r *http.Request) string {
	key, err := url.QueryUnescape(r.PostFormValue("key"))
	if err != nil {
		return ""
	}
	return key
}

func (c *Console) done(w http.ResponseWriter, r *http.Request, then string, err error) {
	if err != nil {
		c.write(w, http.StatusConflict, "problem", page{Title: "Not done", At: "problem", Problem: plain.Text(err.Error(), 400)})
		return
	}
	http.Redirect(w, r, then, http.StatusSeeOther)
}

// ago says how long ago a time was; left, how far ahead it is.
func (c *Console) ago(t time.Time) string  { return span(c.opts.Now().Sub(t)) + " ago" }
func (c *Console) left(t time.Time) string { return span(t.Sub(c.opts.Now())) }

func span(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", max(0, int(d.Seconds())))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") }

// shapeOf names the class of a label, by the worst in it.
func shapeOf(v any) string {
	var l label.Label
	switch v := v.(type) {
	case label.Label:
		l = v
	case *label.Label:
		if v != nil {
			l = *v
		}
	}
	switch {
	case l.Malicious:
		return "malicious"
	case l.Untrusted && l.Private:
		return "both"
	case l.Untrusted:
		return "untrusted"
	case l.Private:
		return "private"
	}
	return "clear"
}

// labelWords says a label in words.
func labelWords(v any) string {
	var l label.Label
	switch v := v.(type) {
	case label.Label:
		l = v
	case *label.Label:
		if v != nil {
			l = *v
		}
	}
	words := drops(l)
	if len(words) == 0 {
		return "nothing of note"
	}
	return plain.Text(strings.Join(words, ", "), 200)
}
