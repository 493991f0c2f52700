package trace

import (
	"bytes"
	"encoding/json"
	"sync"
	"sync/atomic"

	"github.com/weir-mcp/weir/provenance"
)

// A corpus is the index of the texts of a session, and the pages that they list. To index a document takes much longer
// than the agent should wait for it, so documents wait until somebody reads the corpus, or until there is time. All but
// takeOne is for the owner of the lock of the session: while it is held no document comes, so once none waits and none
// is being taken in, index and pages are the owner's. Who takes in a document needs no lock of the session, so that
// calls wait for it only if they read the corpus.
type corpus struct {
	index  *provenance.Index
	listed pages
	taking sync.Mutex // held by who takes in a document; nobody takes the lock of a session meanwhile
	taken  int64      // bytes of index and pages, as the owner counted them last

	mu      sync.Mutex
	waiting []document   // in the order in which they came; guarded by mu
	bytes   atomic.Int64 // of these
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
	for int(c.bytes.Load())+len(text) > maxWaiting && c.takeOne() {
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = append(c.waiting, document{source, bytes.Clone(text), public})
	c.bytes.Add(int64(len(text)))
}

// takeOne takes in the oldest document that waits, once the one before it is, and reports whether there was one.
func (c *corpus) takeOne() bool {
	c.taking.Lock()
	defer c.taking.Unlock()
	c.mu.Lock()
	if len(c.waiting) == 0 {
		c.mu.Unlock()
		return false
	}
	d := c.waiting[0]
	if c.waiting = c.waiting[1:]; len(c.waiting) == 0 {
		c.waiting = nil
	}
	c.bytes.Add(-int64(len(d.text)))
	c.mu.Unlock()
	if c.index.AddJSON(d.source, d.text) && d.public && len(d.text) <= provenance.MaxDocument {
		c.listed.add(d.text)
	}
	return true
}
