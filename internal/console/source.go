package console

import (
	"context"
	"time"

	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/record"
)

// A Log tells the events. It must be safe for concurrent use, and its work for one page must not grow with the log.
type Log interface {
	// Head returns a number that grows with each event.
	Head(ctx context.Context) (int64, error)

	// Events returns the events that the filter selects, the newest first.
	Events(ctx context.Context, f Filter) ([]Event, error)

	// Findings returns what was found in arguments and answers of decisions before an entry of the log, 0 being the end
	// of it, the newest first: those of so many decisions at most.
	Findings(ctx context.Context, before int64, limit int) ([]Found, error)

	// Passage returns a finding of an entry with the text around it, as far as that is kept.
	Passage(ctx context.Context, entry int64, number int) (Passage, error)

	// Flows returns how much of each kind happened in a session with each subject, the most frequent first, so many at
	// most.
	Flows(ctx context.Context, session string, limit int) ([]Flow, error)

	// Counts returns the figures that are counted while the log grows.
	Counts(ctx context.Context) (Counts, error)
}

// A Desk tells the decisions that wait for people. It must be safe for concurrent use.
type Desk interface {
	// Session returns the agent session with a key; false if there is none.
	Session(ctx context.Context, key string) (Session, bool, error)

	// Sessions returns agent sessions, the newest first, from the one after a key on, "" being the first, so many at
	// most.
	Sessions(ctx context.Context, after string, limit int) ([]Session, error)

	// Questions returns the open questions, the oldest first.
	Questions(ctx context.Context) ([]Question, error)
}

// A Fleet tells of the processes that serve now. It must be safe for concurrent use.
type Fleet interface {
	Servers(ctx context.Context) ([]Server, error)
	Tools(ctx context.Context) ([]Tool, error)
	Pins(ctx context.Context) ([]PinFile, error)
	Policies(ctx context.Context) ([]Policy, error)
}

// A Vault tells of the results that agents were not shown. It must be safe for concurrent use.
type Vault interface {
	// Values returns the hidden values of an agent session, the newest first, without their texts.
	Values(ctx context.Context, key string) ([]HiddenValue, error)

	// Value returns a hidden value with its text, once the log says that a person sees it.
	Value(ctx context.Context, key, id string) (HiddenValue, error)
}

// An Actor carries out a person's decisions. Its errors are shown to the person.
type Actor interface {
	// Answer answers a question: with "once", "session", "deny" or "end", and the code at the end of its listing if it
	// has one.
	Answer(ctx context.Context, id, choice, code string) error

	// End has an agent session do nothing more.
	End(ctx context.Context, key, why string) error

	// Declassify takes the named words out of the label of an agent session.
	Declassify(ctx context.Context, key string, drop []string, why string) error

	// Except has a finding count for nothing from now on.
	Except(ctx context.Context, x Exception) error

	// Accept pins the definition that the id of a [Pin] stands for, if that has not changed.
	Accept(ctx context.Context, id string) error
}

// A Session is an agent session.
type Session struct {
	Key, Parent, Principal string
	Label                  label.Label
	Calls                  int64
	Created, Seen          time.Time
	Ended                  bool   // a person has ended it
	About                  string // which host it is of, and where; "" if that is not known
}

// An Event is an event of the log and its number there.
type Event struct {
	Seq int64
	record.Event
}

// A Filter selects events. Each zero member selects all.
type Filter struct {
	Before  int64  // number; only events before it
	Session string // key
	Kind    string
	Effect  string
	Subject string // "server/name"
	Text    string // part of the event's text, in any case
	Limit   int
}

// A Flow is how often something happened in a session.
type Flow struct {
	Kind, Subject, Effect string
	Count                 int64
}

// A Passage is a finding with the text around it, in which no value stands.
type Passage struct {
	Found
	Before, Text, After string
	Missing             string // why there is no text; "" if there is some
}

// A Found is a finding in the arguments or the answer of a decision. It has no value.
type Found struct {
	Entry  int64 // of the log
	Number int   // of the finding in it, from 1
	Time   time.Time

	Session, Server, Name string
	Arguments             bool // it is in arguments, not in an answer
	Kind, Is, Confidence  string
	Path                  string // of the member; "" if it is not known
	Size                  int    // in bytes

	Exception string // the ID of the one by which it counted for nothing; "" if it counted
	Refused   string // why it cannot be excepted; "" if it can be
	AnyValue  bool   // an exception would be for any value at its place
}

// An Exception is a person's word that a finding is none.
type Exception struct {
	Entry    int64
	Number   int
	AnyValue bool // the person was told that it is for any value
	Why      string
}

// A HiddenValue is a result that an agent was not shown, or a part of one.
type HiddenValue struct {
	ID, Name string // the agent knows the name alone
	Server   string
	Tool     string
	Label    label.Label
	Failed   bool // it is the answer to a call that went wrong
	Size     int  // of its text, in bytes
	Text     string
}

// A Question waits for an answer. Its texts are plain already.
type Question struct {
	ID, Session string
	Asked       time.Time
	Expires     time.Time
	Lead        string   // the effect of the call
	Lines       []string // all else that there is to know, in this order
	Unseen      bool     // whether a yes needs the code at the end of the listing
	Listing     []string // everything that the lines leave out; nil if nothing, or too much
	MaySession  bool     // whether it may be accepted for the session and the destination
}

// Counts are figures: hits in the events since a time, sums of the whole log.
type Counts struct {
	Since     time.Time      // zero if there was no event
	Decisions int            // that hits are counted in
	Hits      map[string]int // decisions that a rule matched, by its name
	Figures   []Figure       // of questions and answers
}

// A Policy is the rules by which processes decide.
type Policy struct {
	Name, Mode, Processes string
	Rules                 []Rule
}

// A Rule is a rule of a policy.
type Rule struct{ Name, When, If, Effect, Message string }

// A Server is a server, as a process that serves it tells.
type Server struct {
	Name, Process, Trust, State, Error string
	Calls                              int64
}

// A Tool is a tool, as a process shows it to hosts.
type Tool struct {
	Process, Server, Name, Shown string
	Trust                        string // in the server
	Title, Description           string // as the server wrote them
	Brief                        string // its possible effects, in a few words
	Held                         string // why it must not be called; "" if it may
	Notes                        []string
	Contract                     []Member
	Carries                      []Figure // other statements of the server, which decide nothing
}

// A Member is a part of a tool's contract.
type Member struct {
	Name, Value string
	From        string // who says so
	Dialects    string // in which the server says something of it
}

// A PinFile is where the definitions of tools are pinned.
type PinFile struct {
	Path, Process string
	Review        bool // new tools wait for a person too
	Tools         int  // that are pinned
	Pins          []Pin
}

// A Pin is a definition of a server that nobody has reviewed: a tool, its instructions, or any other.
type Pin struct {
	ID           string // stands for exactly this difference
	Server, Tool string // "" for the instructions
	New          bool   // it never was accepted
	Seen         bool   // hosts see it all the same
	Findings     []string
	TooLarge     bool // it cannot be shown here
	Changes      []Change
}

// A Change is how a part of a definition changed. Before and After are the server's own text, in lines; "" is none.
type Change struct{ Member, Before, After string }

// A Figure is a number with its name.
type Figure struct{ Name, Value string }

// Options configures a Console.
type Options struct {
	Log     Log    // required, like the next three
	Desk    Desk   //
	Fleet   Fleet  //
	Actor   Actor  //
	Vault   Vault  // nil: hidden values are with another process
	Address string // host:port where it is served; required
	Now     func() time.Time
}
