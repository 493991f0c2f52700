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
	listed  pages
	found   foundPages
	waiting []document // in the order in which they came
	bytes   int        // of these
}

// A document is an answer that the agent gets to see.
type document struct {
	source provenance.Source
	text   json.RawMessage
	public bool // it holds nothing private
	found  bool // it is the result of a search of the web
}

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

// made reports whether an address is known already, from private data or from the arguments of a call: a search that
// shows it then may repeat words of the agent.
func (c *corpus) made(page string) bool {
	return slices.ContainsFunc(c.index.Trace(page).Matches, func(m provenance.Match) bool {
		known := m.How == provenance.Decoded || m.Start == 0 && m.End == len(page)
		return known && (m.Source.Kinds&provenance.Private != 0 || strings.HasSuffix(m.Source.URI, sentAlong))
	})
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
	if d.public && len(d.text) <= provenance.MaxDocument {
		list := pagesIn(d.text)
		c.listed.add(list)
		if d.found && c.index.Complete() { // else nobody knows what an agent has told the search
			c.found.add(slices.DeleteFunc(slices.Clone(list), c.made))
		}
	}
	c.index.AddJSON(d.source, d.text)
	return true
}
