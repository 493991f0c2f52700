package annotation

import (
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/label"
)

// A Defect is something in an annotation that its vocabulary does not allow.
type Defect struct {
	Where  string `json:"where"`  // path from the document, as "annotations.inputMetadata.destination"; "" is the document
	Reason string `json:"reason"` // why it is wrong: `is a string, not a boolean`
}

// String returns both in one line. Quotations of the document are escaped and cut short.
func (d Defect) String() string {
	if d.Where == "" {
		return "document " + d.Reason
	}
	return d.Where + " " + d.Reason
}

// A Claim is a server's statement about one result.
type Claim struct {
	// Label is the data's label. It is normal (see [label.Label.Normal]). It holds the server's assertions; a hint that
	// is false asserts nothing. It has no findings: why the data is malicious, the server has no words for.
	Label label.Label
	// Stated is the server's statement, member by member, in the form of a contract resolved for this one call. Outside
	// of the tool's declaration it is a contract violation: see [contract.Contract.Narrows].
	Stated contract.Contract
	// Evidence are the records that trust-annotations refer to, the first 32 of them.
	Evidence []Evidence
	// Beyond reports that there are more references to evidence.
	Beyond bool
}

// A dialect is one vocabulary. A nil function means that it has no words for that.
type dialect struct {
	id string
	// members are the names that it looks for, in any of the places.
	members []string

	// These read the members of the dialect and join them into those of other dialects.
	readTool    func(in places, c *contract.Contract)
	readResult  func(in places, c *reading) // of content blocks too
	readRequest func(in places, l *label.Label)

	// These write a contract into a tool, and a label into the _meta of a result or a request, as far as the dialect
	// has words for it. The last two never lower a claim that is there.
	writeTool    func(tool *editor, c contract.Contract)
	writeResult  func(meta *editor, l label.Label)
	writeRequest func(meta *editor, l label.Label)
}

// Where the annotations are: in a tool, and in a result or a request's params.
const (
	annotations = "annotations"
	meta        = "_meta"
)

// places are the objects of one document in which dialects have members; nil where there is none.
type places struct {
	annotations *object
	meta        *object
	meanings    Meanings
	unreadable  bool // annotations are there, and no object
}

// A reading is a claim that is being read from one place.
type reading struct {
	Claim
	unnamed bool // data is said to be sensitive in a vocabulary that cannot name how
	whole   bool // Weir's own vocabulary says what the others have no words for
}
