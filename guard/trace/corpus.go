package trace

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/provenance"
)

// A corpus is the index of the texts of a session, and the pages that they list. To index a document takes much longer
// than the agent should wait for it, so documents wait until somebody reads the corpus, or until there is time. The
// owner locks.
type corpus struct {
	index   *provenance.Index
	sent    *provenance.Index // the arguments of calls, but those that only ask for found pages; nil if there are none
	listed  pages
	found   foundPages
	waiting []document // in the order in which they came
	bytes   int        // of these
}

// A document is an answer that the agent gets to see, or the arguments of a call.
type document struct {
	source provenance.Source
	text   json.RawMessage
	public bool // it holds nothing private
	found  bool // it is the result of a search of the web
	sent   bool // it is no answer but the arguments of a call
}

// maxSent bounds the arguments that a session keeps, in bytes: with more, searches find no pages.
const maxSent = 1 << 20

// maxWaiting bounds the text that waits, in bytes: whoever adds more takes in the oldest documents first.
const maxWaiting = 1 << 20

// read returns the index of all texts that were added.
func (c *corpus) read() *provenance.Index {
	for c.takeOne() {
	}
	return c.index
}

// pages returns the pages that all documents list.
func (c *corpus) pages() pages {
	c.read()
	return c.listed
}

// made reports whether anything of an address but its scheme may be private data or come from the arguments of a call,
// whichever other documents hold it too: a search that shows it then may repeat words of the agent.
func (c *corpus) made(page string) bool {
	_, rest, _ := strings.Cut(page, "://")
	return c.index.Trace(rest).From&provenance.Private != 0 || c.sent != nil && len(c.sent.Trace(rest).Matches) > 0
}

// foundPages returns the pages that searches found.
func (c *corpus) foundPages() foundPages {
	c.read()
	return c.found
}

// add adds a document. It keeps a copy, as far as the index would.
func (c *corpus) add(d document) {
	if len(d.text) > provenance.MaxDocument {
		d.text = d.text[:provenance.MaxDocument+1] // by which the index knows that there was more
	}
	for c.bytes+len(d.text) > maxWaiting && c.takeOne() {
	}
	d.text = bytes.Clone(d.text)
	c.waiting = append(c.waiting, d)
	c.bytes += len(d.text)
}

// addSent adds what the agent sends with a call.
func (c *corpus) addSent(call *Call) {
	for _, part := range []json.RawMessage{call.Arguments, call.UndeclaredParams} {
		if len(part) > 0 {
			c.add(document{source: provenance.Source{URI: call.URI + sentAlong, Kinds: provenance.Untrusted}, text: part, sent: true})
		}
	}
}

// sentSize returns how many bytes the index of arguments takes.
func (c *corpus) sentSize() int {
	if c.sent == nil {
		return 0
	}
	return ownSize + c.sent.Size()
}

// takeOne takes in the oldest document that waits, and reports whether there was one.
func (c *corpus) takeOne() bool {
	if len(c.waiting) == 0 {
		return false
	}
	d := c.waiting[0]
	c.bytes -= len(d.text)
	if c.waiting = c.waiting[1:]; len(c.waiting) == 0 {
		c.waiting = nil
	}
	if d.sent {
		if c.sent == nil {
			c.sent = provenance.New(provenance.Options{Text: maxSent})
		}
		c.sent.AddJSON(d.source, d.text)
		c.sent.Add(d.source, string(d.text)) // values side by side
		return true
	}
	if d.public && len(d.text) <= provenance.MaxDocument {
		list := pagesIn(d.text)
		c.listed.add(list)
		if d.found && c.index.Complete() && (c.sent == nil || c.sent.Complete()) { // else nobody knows what an agent has told the search
			c.found.add(slices.DeleteFunc(slices.Clone(list), c.made))
		}
	}
	c.index.AddJSON(d.source, d.text)
	return true
}
