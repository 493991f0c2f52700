package policy

import (
	"time"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/label"
)

// Facts is everything that a policy may look at. The caller fills it and must not change it during [Policy.Decide].
type Facts struct {
	Phase   Phase
	Method  string // "tools/call", "resources/read", "prompts/get", or that of a question that the server asks
	Tool    ToolFacts
	Server  ServerFacts
	Session SessionFacts

	// Arguments is call.arguments: a JSON object, or nil if the call has none. Member names must be unique; the caller
	// has checked that. It is decoded at most once for a decision, and only if a rule reads it.
	Arguments []byte

	Roles     Roles     // of the arguments
	Resources Resources // that the call reads and writes

	// Call describes the parts of the arguments and their origins. Its zero value is the worst: nothing is known.
	Call CallFacts

	// Trace fills in Call and returns it. It is called when a rule first reads a fact of Call; nil: Call is final.
	Trace func() CallFacts

	// Response is the label of this result. It is nil on a call.
	Response      *label.Label
	ResponseError bool     // the result says that the call went wrong
	ResponseFound Findings // in the result

	// ResponseOutside are the members of the tool's description that the result's own statement, or a finding in it, is
	// outside of.
	ResponseOutside label.Set[string]

	// ResponseChanged says in which ways the result is unlike all that the agent got from the tool before: "size",
	// "shape".
	ResponseChanged label.Set[string]
}

// An Argument is one value among the arguments of a call.
type Argument struct {
	Path string `json:"path"` // as "to[0].address"
	Text string `json:"text"` // a string's text; of any other scalar, its JSON
}

// Roles are the parts that the arguments of a call play. The zero Roles say nothing: every argument may be anything.
type Roles struct {
	Known        bool
	Destinations []Argument // where something goes
	Contents     []Argument // that go there
	Cut          bool       // there were more than these
	Plain        bool       // there is nothing else in the arguments, and no member name that the caller chose
}

// Resources are the resources that a call reads and writes, as URIs. The zero Resources say nothing: it may be
// anything.
type Resources struct {
	Known         bool
	Reads, Writes []string
}

// ToolFacts describes the tool, or of the resource or prompt that is read.
type ToolFacts struct {
	Name string // as the server calls it; the URI of a resource

	// Annotations is the contract to decide by, as [contract.Effective] returns it. Its unknown members are assumed
	// (see [contract.Contract.Assume]), so the zero contract is the worst.
	Annotations contract.Contract

	// Declared is the description of the tool: by the operator, and else by the server, whether or not it is trusted.
	// Rules may read it; nothing that Weir itself derives does.
	Declared contract.Contract
}

// ServerFacts describes the server.
type ServerFacts struct {
	Name  string         // as the operator calls it
	Trust contract.Trust // how far the operator trusts it
}

// SessionFacts describes the agent session.
type SessionFacts struct {
	ID     string
	Parent string      // the id of the parent session; "" if there is none
	Label  label.Label // the join of all that entered the session
	Calls  int         // calls made before this one
	Looked int         // bits that typed looks told of hidden values, with those of this call

	UserWords bool          // the host has passed on the user's messages
	SinceUser time.Duration // since the user's last message; meaningless without UserWords
	Sent      int           // calls made before this one that sent anything out
	Recent    int           // calls made in the last minute
	Burst     int           // calls in the last minute that changed or sent something after untrusted content
	Reached   int           // destinations that are new since untrusted content
}

// CallFacts describes the arguments of a call. Sets of kinds hold names of provenance: user, trusted, private,
// untrusted, novel.
type CallFacts struct {
	Traced bool // the rest is known
	Stated bool // the operator has said which arguments are destinations and contents; else all of them may be either

	From      label.Set[string] // kinds of all values but the small ones
	SmallFrom label.Set[string] // kinds of the small values

	Destinations    label.Set[string] // where something goes
	Hosts           label.Set[string] // the hosts and mail domains among them
	DestinationFrom label.Set[string] // kinds of the destinations, novel among them if one is not whole
	Own             bool              // every destination is in one of the operator's own domains
	Local           bool              // every destination is at localhost or a loopback address
	Self            bool              // plain text to the user's own mail addresses alone
	Readable        bool              // every recipient may read all private data of the session, and the call sends nothing else
	First           bool              // a destination that the session has not sent anything to before
	Strange         bool              // a destination is at a site that only a stranger can have named

	ContentFrom label.Set[string] // kinds of the contents, but the small ones
	Links       bool              // they hold a link, an address or an account that neither the user nor a trusted source wrote

	Orders     bool // a text or a memory that is kept gets an outsider's link, address or account, with words that tell a reader to do something
	Identifies bool // a value holds a person's name, an address or a long number that is known from private data

	MadeLinks bool // a value, of whatever part, holds the address of a site that nobody wrote as it stands, or mentions one of an outsider

	Verbatim bool // there is a value, and each is, as a whole, one piece of the user's words
	Crosses  bool // credentials of another server may be in the values

	Leak  int // bits that the call can tell whoever learns of it, beside the user's own words
	Total int // with the bits that they were told before

	Named bool // the user's words hold the verb with which the tool's name begins

	Found Findings // of detection in the arguments
}
