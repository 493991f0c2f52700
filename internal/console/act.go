package console

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"github.com/weir-mcp/weir/internal/plain"
)

// answer, end, declassify, accept and except carry out a person's decision, and go back to the page that shows it.
func (c *site) answer(w http.ResponseWriter, r *http.Request) {
	c.done(w, r, "/approvals", c.opts.Actor.Answer(r.Context(), r.PostFormValue("id"), r.PostFormValue("choice"), r.PostFormValue("code")))
}

func (c *site) end(w http.ResponseWriter, r *http.Request) {
	key := sessionOf(r)
	c.done(w, r, "/session?key="+url.QueryEscape(key), c.opts.Actor.End(r.Context(), key, r.PostFormValue("why")))
}

func (c *site) declassify(w http.ResponseWriter, r *http.Request) {
	key := sessionOf(r)
	err := c.opts.Actor.Declassify(r.Context(), key, r.PostForm["drop"], r.PostFormValue("why"))
	c.done(w, r, "/session?key="+url.QueryEscape(key), err)
}

func (c *site) accept(w http.ResponseWriter, r *http.Request) {
	var err error
	for _, id := range r.PostForm["id"] { // one, or all that a server has on the page
		if err = c.opts.Actor.Accept(r.Context(), id); err != nil {
			break
		}
	}
	c.done(w, r, "/pins", err)
}

func (c *site) except(w http.ResponseWriter, r *http.Request) {
	x := Exception{AnyValue: r.PostFormValue("any") == "yes", Why: r.PostFormValue("why")}
	var unread, uncounted error
	x.Entry, unread = strconv.ParseInt(r.PostFormValue("entry"), 10, 64)
	x.Number, uncounted = strconv.Atoi(r.PostFormValue("number"))
	err := errors.Join(unread, uncounted)
	if err == nil {
		err = c.opts.Actor.Except(r.Context(), x)
	}
	c.done(w, r, "/findings", err)
}

// sessionOf returns the key of the session that a form is about. Forms hold it escaped, because it may hold anything.
func sessionOf(r *http.Request) string {
	key, err := url.QueryUnescape(r.PostFormValue("key"))
	if err != nil {
		return ""
	}
	return key
}

func (c *site) done(w http.ResponseWriter, r *http.Request, then string, err error) {
	if err != nil {
		c.write(w, http.StatusConflict, "problem", page{Title: "Not done", At: "problem", Problem: plain.Text(err.Error(), 400)})
		return
	}
	http.Redirect(w, r, then, http.StatusSeeOther)
}
