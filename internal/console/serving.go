package console

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// pageTools is how many tools a page shows.
const pageTools = 100

func (c *site) servers(w http.ResponseWriter, r *http.Request) {
	all, err := c.opts.Fleet.Servers(r.Context())
	c.render(w, r, page{Title: "Servers", At: "servers", Content: all}, err)
}

func (c *site) tools(w http.ResponseWriter, r *http.Request) {
	var content struct {
		Server, Text string
		Tools        []Tool
		All          int // that fit
		From, To     int // of these, from 1
		More         string
	}
	all, err := c.opts.Fleet.Tools(r.Context())
	content.Server, content.Text = meant(r.FormValue("server")), meant(r.FormValue("text"))
	from, _ := strconv.Atoi(r.FormValue("from"))
	from = max(0, from)
	for _, t := range all {
		if !t.fits(content.Server, content.Text) {
			continue
		}
		if content.All >= from && len(content.Tools) < pageTools {
			content.Tools = append(content.Tools, t)
		}
		content.All++
	}
	content.From, content.To = from+1, from+len(content.Tools)
	if content.To < content.All {
		content.More = "/tools?" + url.Values{"server": {content.Server}, "text": {content.Text}, "from": {strconv.Itoa(content.To)}}.Encode()
	}
	c.render(w, r, page{Title: "Tools", At: "tools", Content: content}, err)
}

// fits reports whether a tool is of a server, "" being any, and has a text in its description, in any case.
func (t *Tool) fits(server, text string) bool {
	if server != "" && clean(t.Server) != clean(server) {
		return false
	}
	if text == "" {
		return true
	}
	words := []string{t.Name, t.Shown, t.Title, t.Description, t.Held}
	for _, m := range t.Contract {
		words = append(words, m.Name+" "+m.Value, m.From, m.Dialects)
	}
	return strings.Contains(strings.ToLower(strings.Join(words, "\n")), strings.ToLower(text))
}

// maxDifference bounds the shown text of a pin, in bytes. All of it is shown or nothing: nobody accepts text that was
// left out.
const maxDifference = 128 << 10

func (p *Pin) size() (n int) {
	for _, c := range p.Changes {
		n += len(c.Member) + len(c.Before) + len(c.After)
	}
	return n
}

// A pinGroup is the pins of one server on a page.
type pinGroup struct {
	Server string
	Pins   []Pin
	All    []string // ids of those that are shown, if there are several
}

// Groups returns the pins by server, in their order.
func (f PinFile) Groups() (all []*pinGroup) {
	for _, p := range f.Pins {
		i := slices.IndexFunc(all, func(g *pinGroup) bool { return g.Server == p.Server })
		if i < 0 {
			i = len(all)
			all = append(all, &pinGroup{Server: p.Server})
		}
		g := all[i]
		g.Pins = append(g.Pins, p)
		if !p.TooLarge {
			g.All = append(g.All, p.ID)
		}
	}
	for _, g := range all {
		if len(g.Pins) < 2 {
			g.All = nil
		}
	}
	return all
}

func (c *site) pins(w http.ResponseWriter, r *http.Request) {
	all, err := c.opts.Fleet.Pins(r.Context())
	for _, file := range all {
		for i := range file.Pins {
			p := &file.Pins[i]
			p.TooLarge = p.TooLarge || p.size() > maxDifference
		}
	}
	c.render(w, r, page{Title: "Pins", At: "pins", Content: all}, err)
}

// A ruleRow is a rule and how often it matched.
type ruleRow struct {
	Rule
	Hits int
}

// A policyRows is a policy with its hits.
type policyRows struct {
	Policy
	Rows []ruleRow
}

func (c *site) policy(w http.ResponseWriter, r *http.Request) {
	var content struct {
		Counts   Counts
		Policies []policyRows
		Others   []Figure // rules of no policy that decides now, and their hits
	}
	all, err := c.opts.Fleet.Policies(r.Context())
	if err == nil {
		content.Counts, err = c.opts.Log.Counts(r.Context())
	}
	known := map[string]bool{}
	for _, p := range all {
		rows := policyRows{Policy: p}
		for _, rule := range p.Rules {
			known[rule.Name] = true
			rows.Rows = append(rows.Rows, ruleRow{rule, content.Counts.Hits[rule.Name]})
		}
		content.Policies = append(content.Policies, rows)
	}
	for _, name := range slices.Sorted(maps.Keys(content.Counts.Hits)) {
		if !known[name] {
			content.Others = append(content.Others, Figure{name, strconv.Itoa(content.Counts.Hits[name])})
		}
	}
	c.render(w, r, page{Title: "Policy", At: "policy", Content: content}, err)
}
