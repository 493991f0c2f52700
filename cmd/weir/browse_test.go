package main

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

var (
	consoleAt = regexp.MustCompile(`(?m)^weir: console: (http://\S+); the link that signs you in is in (.+)$`)
	formField = regexp.MustCompile(`name="form" value="([0-9a-f]+)"`)
	foundAt   = regexp.MustCompile(`name="entry" value="([0-9]+)"><input type="hidden" name="number" value="([0-9]+)"`)
	firstID   = regexp.MustCompile(`name="id" value="([A-Z2-7]+|[0-9a-f]{64})"`)
)

// browse is "browse LOG PATH… [choice=CHOICE] [accept] [except] [look]": it logs in at the console that the log names, prints
// the pages, gives the first open question that answer, accepts the first difference of pins, excepts the first
// finding that can be, and looks at the newest hidden value of the local session.
func browse(ts *testscript.TestScript, _ bool, args []string) {
	link := consoleAt.FindStringSubmatch(ts.ReadFile(args[0]))
	if link == nil {
		ts.Fatalf("no link in %s", args[0])
	}
	jar, err := cookiejar.New(nil)
	ts.Check(err)
	client := &http.Client{Jar: jar}
	read := func(resp *http.Response, err error) string {
		ts.Check(err)
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		ts.Check(err)
		return resp.Status + "\n" + string(body)
	}
	read(client.Get(strings.TrimSpace(ts.ReadFile(link[2]))))
	for _, arg := range args[1:] {
		page := ""
		if arg == "except" {
			page = read(client.Get(link[1] + "/findings"))
			form, at := formField.FindStringSubmatch(page), foundAt.FindStringSubmatch(page)
			if form == nil || at == nil {
				ts.Fatalf("nothing to except: %s", page)
			}
			page = read(client.PostForm(link[1]+"/except", url.Values{"form": {form[1]}, "entry": {at[1]}, "number": {at[2]}, "why": {"by the script"}}))
		} else if arg == "look" {
			const key = "local/principal:"
			page = read(client.Get(link[1] + "/values?key=" + key))
			form, id := formField.FindStringSubmatch(page), firstID.FindStringSubmatch(page)
			if form == nil || id == nil {
				ts.Fatalf("nothing to look at: %s", page)
			}
			page = read(client.PostForm(link[1]+"/value", url.Values{"form": {form[1]}, "id": {id[1]}, "key": {url.QueryEscape(key)}}))
		} else if choice, ok := strings.CutPrefix(arg, "choice="); ok || arg == "accept" {
			from, to := "/approvals", "/answer"
			if !ok {
				from, to = "/pins", "/accept"
			}
			page = read(client.Get(link[1] + from))
			form, id := formField.FindStringSubmatch(page), firstID.FindStringSubmatch(page)
			if form == nil || id == nil {
				ts.Fatalf("nothing to answer: %s", page)
			}
			page = read(client.PostForm(link[1]+to, url.Values{"form": {form[1]}, "id": {id[1]}, "choice": {choice}}))
		} else {
			page = read(client.Get(link[1] + arg))
		}
		_, err := io.WriteString(ts.Stdout(), page)
		ts.Check(err)
	}
}
