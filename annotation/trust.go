package annotation

import (
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/label"
)

// trustAnnotations is the experimental extension io.modelcontextprotocol/trust-annotations, in the _meta of results and
// of content blocks: sensitive, untrusted and evidenceRef. An absent or false member claims nothing: a block may
// strengthen the claims of its result and never weaken them.
func trustAnnotations() dialect {
	return dialect{
		id: idTrust, members: []string{trustKey},
		readResult: readTrust, writeResult: writeTrust,
	}
}

const (
	idTrust     = "trust-annotations"
	trustKey    = "io.modelcontextprotocol/trust-annotations"
	sensitive   = "sensitive"
	untrusted   = "untrusted"
	evidenceRef = "evidenceRef"
)

// maxEvidence is how many references to evidence are read of one result.
const maxEvidence = 32

func readTrust(in places, c *reading) {
	said, bad := in.meta.container(trustKey)
	c.Label.Untrusted = c.Label.Untrusted || bad || said.hint(untrusted) == contract.Yes
	c.unnamed = c.unnamed || bad || said.hint(sensitive) == contract.Yes
	if said == nil {
		return
	}
	ref := said.object(evidenceRef)
	if ref == nil {
		return
	}
	if len(c.Evidence) == maxEvidence {
		c.Beyond = true
		ref.found.add(ref.where, "is beyond the first 32 of this result")
		return
	}
	if e, ok := readEvidence(ref); ok {
		c.Evidence = append(c.Evidence, e)
	}
}

// writeTrust writes the assertions of the label. Data is sensitive as soon as not everyone may see it.
func writeTrust(meta *editor, l label.Label) {
	meta.in(trustKey, func(out *editor) {
		out.raise(untrusted, l.Untrusted)
		out.raise(sensitive, l.Private)
	})
}
