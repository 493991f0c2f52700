package trace

import (
	"bytes"
	"encoding/json"

	"github.com/weir-mcp/weir/provenance"
)

// A corpus is the index of the texts of a session, and the pages that they list. To index a document takes much longer
// than the agent should wait for it, so documents wait until somebody reads the corpus, or until there is time. The
// owner locks.
type corpus struct {
	index   *provenance.Index
	listed  pages
	waiting []document // in the order in which they came
	bytes   int        // of these
}

// A document is an answer that the agent gets to see.
type document struct {
	source provenance.Source
	text   json.RawMessage
	public bool // it holds nothing private
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

// add adds a document. It keeps a copy, as far as the index would.
func (c *corpus) add(source provenance.Source, text json.RawMessage, public bool) {
	if len(text) > provenance.MaxDocument {
		text = text[:provenance.MaxDocument+1] // by which the index knows that there was more
	}
	for c.bytes+len(text) > maxWaiting && c.takeOne() {
	}
	c.waiting = append(c.waiting, document{source, bytes.Clone(text), public})
	c.bytes += len(text)
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
		c.listed.add(d.text)
	}
	c.index.AddJSON(d.source, d.text)
	return true
}
