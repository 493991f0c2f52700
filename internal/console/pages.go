package console

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/record"
)

// Bounds of the content of a page and of the search for it.
const (
	pageSessions = 100
	maxFlows     = 2000 // kinds of events in a session
	maxRises     = 1000 // changes of its label, the newest
	shownRises   = 50
	latestEvents = 20
)

// pageSizes are how many events a page may show. The first counts where none is chosen.
var pageSizes = []int{100, 1000, 10_000}

// A site has the pages, behind their gate.
type site struct {
	*gate
	opts Options
}

// render writes a page; an error on the way becomes a page of its own.
func (c *site) render(w http.ResponseWriter, r *http.Request, p page, err error) {
	status := http.StatusOK
	if err != nil {
		status, p.Problem = http.StatusInternalServerError, plain.Text(err.Error(), 400)
	}
	if cookie, err := r.Cookie(c.cookieName()); err == nil {
		p.Form = c.formToken(cookie.Value)
	}
	if open, err := c.opts.Desk.Questions(r.Context()); err == nil {
		p.Open = len(open)
	}
	name := p.At
	if err != nil {
		name = "problem"
	}
	c.write(w, status, name, p)
}

func (c *site) home(w http.ResponseWriter, r *http.Request) {
	var content struct {
		Sessions  []Session
		Questions []Question
		Stopped   []Event
	}
	ctx := r.Context()
	var err error
	if content.Sessions, err = c.opts.Desk.Sessions(ctx, "", 8); err == nil {
		content.Questions, err = c.opts.Desk.Questions(ctx)
	}
	if err == nil {
		content.Stopped, err = c.opts.Log.Events(ctx, Filter{Kind: string(record.Decision), Effect: "block", Limit: 8})
	}
	c.render(w, r, page{Title: "Now", At: "home", Content: content}, err)
}

func (c *site) sessions(w http.ResponseWriter, r *http.Request) {
	var content struct {
		Sessions []Session
		Older    string // address of the next page; "" if there is none
	}
	var err error
	content.Sessions, err = c.opts.Desk.Sessions(r.Context(), r.FormValue("after"), pageSessions)
	if n := len(content.Sessions); n == pageSessions {
		content.Older = "/sessions?" + url.Values{"after": {content.Sessions[n-1].Key}}.Encode()
	}
	c.render(w, r, page{Title: "Sessions", At: "sessions", Content: content}, err)
}

// A sessionPage is the content of the page of a session.
type sessionPage struct {
	Session
	Picture picture
	Time    timeline
	More    bool // than the picture shows
	Rises   []Event
	Events  []Event
	Drops   []string
}

func (c *site) session(w http.ResponseWriter, r *http.Request) {
	content, err := c.aboutSession(r)
	c.render(w, r, page{Title: "Session", At: "session", Content: content}, err)
}

func (c *site) aboutSession(r *http.Request) (*sessionPage, error) {
	ctx := r.Context()
	s, ok, err := c.opts.Desk.Session(ctx, r.FormValue("key"))
	if err == nil && !ok {
		err = fmt.Errorf("there is no such session")
	}
	if err != nil {
		return nil, err
	}
	flows, err := c.opts.Log.Flows(ctx, s.Key, maxFlows)
	if err != nil {
		return nil, err
	}
	changes, err := c.changes(r, s.Key)
	if err != nil {
		return nil, err
	}
	out := &sessionPage{Session: s, Drops: droppable(s.Label), Picture: pictureOf(s, flows, changes), Time: timelineOf(s, changes)}
	out.More = len(flows) == maxFlows || len(out.Picture.Left) == maxStreams || len(out.Picture.Right) == maxStreams
	out.Rises = changes[:min(len(changes), shownRises)]
	out.Events, err = c.opts.Log.Events(ctx, Filter{Session: s.Key, Limit: latestEvents})
	return out, err
}

// changes returns the events by which the label of a session changed, the oldest first.
func (c *site) changes(r *http.Request, key string) ([]Event, error) {
	var all []Event
	for _, kind := range []record.Kind{record.Label, record.Declassify} {
		some, err := c.opts.Log.Events(r.Context(), Filter{Session: key, Kind: string(kind), Limit: maxRises})
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	slices.SortFunc(all, func(a, b Event) int { return int(a.Seq - b.Seq) })
	return all, nil
}

func (c *site) approvals(w http.ResponseWriter, r *http.Request) {
	var content struct {
		Questions []Question
		Counts    Counts
	}
	var err error
	if content.Questions, err = c.opts.Desk.Questions(r.Context()); err == nil {
		content.Counts, err = c.opts.Log.Counts(r.Context())
	}
	c.render(w, r, page{Title: "Approvals", At: "approvals", Content: content}, err)
}

// foundEvents is how many decisions with findings a page shows.
const foundEvents = 25

func (c *site) findings(w http.ResponseWriter, r *http.Request) {
	var content struct {
		Findings []Found
		Older    string // address of the next page; "" if there is none
	}
	before, _ := strconv.ParseInt(r.URL.Query().Get("before"), 10, 64)
	var err error
	content.Findings, err = c.opts.Log.Findings(r.Context(), before, foundEvents)
	entries := map[int64]bool{}
	for _, f := range content.Findings {
		entries[f.Entry] = true
	}
	if len(entries) == foundEvents {
		content.Older = fmt.Sprintf("/findings?before=%d", content.Findings[len(content.Findings)-1].Entry)
	}
	c.render(w, r, page{Title: "Findings", At: "findings", Content: content}, err)
}

// finding shows one finding with the text around it.
func (c *site) finding(w http.ResponseWriter, r *http.Request) {
	entry, _ := strconv.ParseInt(r.URL.Query().Get("entry"), 10, 64)
	number, _ := strconv.Atoi(r.URL.Query().Get("number"))
	content, err := c.opts.Log.Passage(r.Context(), entry, number)
	c.render(w, r, page{Title: "Finding", At: "finding", Content: content}, err)
}

// An eventsPage is the content of the page of events.
type eventsPage struct {
	Filter Filter
	Events []Event
	Newest string // address of the first page; "" if this is it
	Older  string // address of the next page; "" if there is none
	Kinds  []record.Kind
	Does   []string
	Sizes  []int
}

func (c *site) events(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	of := func(name string) string { return meant(q.Get(name)) }
	f := Filter{Session: of("session"), Kind: of("kind"), Effect: of("effect"), Subject: of("subject"), Text: of("text"), Limit: pageSizes[0]}
	f.Before, _ = strconv.ParseInt(q.Get("before"), 10, 64)
	if n, _ := strconv.Atoi(q.Get("n")); slices.Contains(pageSizes, n) {
		f.Limit = n
	}
	all, err := c.opts.Log.Events(r.Context(), f)
	content := eventsPage{Filter: f, Events: all, Sizes: pageSizes,
		Kinds: []record.Kind{record.Decision, record.Label, record.Approval, record.Defect, record.Upstream, record.Taint, record.Pin, record.Reload,
			record.Declassify, record.Exception, record.Trust, record.Show, record.End, record.Begin},
		Does: []string{"allow", "warn", "ask", "block", "asked", "accepted", "granted", "declined", "ended", "expired"}}
	if f.Before > 0 {
		content.Newest = f.address(0)
	}
	if len(all) == f.Limit {
		content.Older = f.address(all[len(all)-1].Seq)
	}
	c.render(w, r, page{Title: "Events", At: "events", Content: content}, err)
}

// address returns where the events of the filter are shown, from before a number on; 0 is the newest.
func (f Filter) address(before int64) string {
	q := url.Values{}
	for name, value := range map[string]string{"session": f.Session, "kind": f.Kind, "effect": f.Effect, "subject": f.Subject, "text": f.Text} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if f.Limit != pageSizes[0] {
		q.Set("n", strconv.Itoa(f.Limit))
	}
	if before > 0 {
		q.Set("before", strconv.FormatInt(before, 10))
	}
	return "/events?" + q.Encode()
}

// nearEvents is how many events of a session are looked at, around one, for those of the same call.
const nearEvents = 200

func (c *site) event(w http.ResponseWriter, r *http.Request) {
	var content struct {
		Event
		Call []Event // the others of the same call, as far as they are near
	}
	ctx := r.Context()
	seq, _ := strconv.ParseInt(r.URL.Query().Get("seq"), 10, 64)
	all, err := c.opts.Log.Events(ctx, Filter{Before: seq + 1, Limit: 1})
	if err == nil && (len(all) == 0 || all[0].Seq != seq) {
		err = fmt.Errorf("there is no event %d", seq)
	}
	if err == nil {
		content.Event = all[0]
	}
	if err == nil && content.Event.Event.Call != "" {
		content.Call, err = c.opts.Log.Events(ctx, Filter{Session: content.Session, Before: seq + nearEvents/2, Limit: nearEvents})
		content.Call = slices.DeleteFunc(content.Call, func(e Event) bool { return e.Event.Call != content.Event.Event.Call || e.Seq == seq })
		slices.Reverse(content.Call)
	}
	c.render(w, r, page{Title: "Event", At: "event", Content: content}, err)
}

// liveEvery is how often the log is asked for new events; maxLive bounds how long one browser listens before it comes
// back.
const (
	liveEvery = time.Second
	maxLive   = 30 * time.Minute
)

// live tells a browser, as server-sent events, when there is something new: the number of the last event, and of
// questions.
func (c *site) live(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	tick := time.NewTicker(liveEvery)
	defer tick.Stop()
	end := time.NewTimer(maxLive)
	defer end.Stop()
	last := ""
	for {
		head, err := c.news(r)
		if err != nil {
			return
		}
		if head != last {
			last = head
			if _, err := fmt.Fprintf(w, "data: %s\n\n", head); err != nil || control.Flush() != nil {
				return
			}
		}
		select {
		case <-tick.C:
		case <-end.C:
			return
		case <-r.Context().Done():
			return
		}
	}
}

// news returns the changed parts when there are new events.
func (c *site) news(r *http.Request) (string, error) {
	head, err := c.opts.Log.Head(r.Context())
	if err != nil {
		return "", err
	}
	open, err := c.opts.Desk.Questions(r.Context())
	return fmt.Sprintf("%d %d", head, len(open)), err
}
