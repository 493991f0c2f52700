package console

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/weir-mcp/weir/internal/plain"
)

// shownPart is how much of a hidden value a page shows, in bytes.
const shownPart = 32 << 10

// A valuesPage is the content of the page of the hidden values of a session.
type valuesPage struct {
	Key    string
	Here   bool // this console knows hidden values
	Values []HiddenValue
}

// A viewer has the pages of hidden values.
type viewer struct{ *site }

func (c *viewer) values(w http.ResponseWriter, r *http.Request) {
	content := valuesPage{Key: r.FormValue("key"), Here: c.opts.Vault != nil}
	var err error
	if content.Here {
		content.Values, err = c.opts.Vault.Values(r.Context(), content.Key)
	}
	c.render(w, r, page{Title: "Hidden values", At: "values", Content: content}, err)
}

// A valuePage is the content of the page of a hidden value.
type valuePage struct {
	HiddenValue
	Key      string
	Part     string // of the text
	From, To int    // of the part, in bytes
}

// value answers with a part of a hidden value. It is no page that has an address: see [Vault].
func (c *viewer) value(w http.ResponseWriter, r *http.Request) {
	key, back := sessionOf(r), "/values?key="+url.QueryEscape(sessionOf(r))
	if c.opts.Vault == nil {
		http.Redirect(w, r, back, http.StatusSeeOther)
		return
	}
	from, _ := strconv.Atoi(r.PostFormValue("from"))
	v, err := c.opts.Vault.Value(r.Context(), key, r.PostFormValue("id"))
	if err != nil {
		c.done(w, r, back, err)
		return
	}
	content := valuePage{HiddenValue: v, Key: key}
	content.Part, content.From, content.To = partOf(v.Text, from)
	c.render(w, r, page{Title: "Hidden value", At: "value", Content: content}, nil)
}

// partOf returns the part of a text that begins at a byte, or before it, so that no character is cut.
func partOf(text string, from int) (part string, start, end int) {
	start = characterAt(text, max(0, from))
	end = characterAt(text, start+shownPart)
	return text[start:end], start, end
}

// characterAt returns where the character begins in which a byte is.
func characterAt(text string, at int) int {
	if at >= len(text) {
		return len(text)
	}
	for back := 1; back < utf8.UTFMax && back <= at && !utf8.RuneStart(text[at]); back++ {
		if r, size := utf8.DecodeRuneInString(text[at-back:]); r != utf8.RuneError && size > back {
			return at - back
		}
	}
	return at
}

// partLines returns the part of a hidden value line by line, each as plain text, and all of it.
func partLines(s string) []string {
	all := strings.Split(s, "\n")
	for i, line := range all {
		all[i] = plain.Text(line, 0)
	}
	return all
}
