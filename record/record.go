// Package record is the one schema of Weir's events: every decision, every rise of a label, every
// defect of a server, every question and its answer.
//
// An [Event] is one JSON object. A record is a sequence of them, one a line ([Lines]), each complete in itself:
//
//	{"v":1,"id":"…","time":"2026-11-21T10:00:00.123456789Z","kind":"decision","session":"…","principal":"local",
//	 "call":"…","server":"mail","method":"tools/call","name":"send_email","phase":"call","effect":"ask",
//	 "rule":"ask-before-private-data-leaves","message":"…","arguments":"sha256:…","label":{"private":true,…}}
//
// Version: v is 1. Members may be added under the same version; a reader ignores those it does not know. A member that
// changes its meaning changes v.
//
// Arguments and results are not written down: they may hold data that must not leave the agent's context. Salted
// digests of them tie an event to its call ([Content]), and facts describe them. The operator can name members that are
// kept, and have all of them captured: then they go with the event to a Recorder that encrypts them, and to no other.
// Names, URIs and messages that a server chose are written as JSON strings and are hostile to whoever prints them.
//
// A Recorder returns when the event is written. An event that must be evidence before it takes effect is recorded
// first, and an error of the Recorder means that the effect does not happen.
package record

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"time"

	"github.com/weir-mcp/weir/label"
)

// Version is the version of the event schema that this package writes.
const Version = 1

// A Kind is the subject of an event.
type Kind string

// The kinds of events.
const (
	Decision Kind = "decision" // policy decided on a call or a result
	Label    Kind = "label"    // a label joins into an agent session and its ancestors
	Defect   Kind = "defect"   // a server broke its contract, a schema or the protocol
	Approval Kind = "approval" // a person was asked, or answered
	Upstream Kind = "upstream" // a connection to a server began, failed or ended, or a call is shown to its server early, unanswered or sent again
	Taint    Kind = "taint"    // a call is about to write, and its target carries the label from now on
	Pin      Kind = "pin"      // the definition of a tool was seen for the first time, and counts as accepted from now on
	Reload   Kind = "reload"   // other servers, policy or mode count from now on
)

// An Event is one entry of the record. Members that do not apply to its kind are empty.
type Event struct {
	V         int       `json:"v"`
	ID        string    `json:"id"`   // unique, random
	Time      time.Time `json:"time"` // UTC, nanoseconds
	Kind      Kind      `json:"kind"`
	Session   string    `json:"session,omitempty"` // agent session key
	Parent    string    `json:"parent,omitempty"`  // of the session it descends from: its labels join there too
	Principal string    `json:"principal,omitempty"`
	Call      string    `json:"call,omitempty"` // ties the events of one call together
	Server    string    `json:"server,omitempty"`
	Method    string    `json:"method,omitempty"` // JSON-RPC method
	Name      string    `json:"name,omitempty"`   // tool or prompt name, or resource URI

	Phase     string       `json:"phase,omitempty"`     // decision: "call" or "result"
	Effect    string       `json:"effect,omitempty"`    // decision: the effect; approval: its outcome; upstream: its state; reload: the mode
	Decided   string       `json:"decided,omitempty"`   // decision: the effect that policy chose, where the mode softened it
	Rule      string       `json:"rule,omitempty"`      // decision: the rule that decided
	Matched   []string     `json:"matched,omitempty"`   // decision: every rule that matched
	Message   string       `json:"message,omitempty"`   // the message to the user, or the defect
	Where     string       `json:"where,omitempty"`     // defect: the JSON path; taint: the resource; decision: weir_reveal for a hidden result
	Arguments string       `json:"arguments,omitempty"` // the salted digest of the canonical arguments; see Content
	Binding   string       `json:"binding,omitempty"`   // approval: the call it is bound to; erase: the numbers of the entries that it erases, as Ranges
	Label     *label.Label `json:"label,omitempty"`     // decision: the session's label then; label: the added part

	// Facts holds the other inputs of a policy's decision: an object of facts by their names in the language of
	// policies. It describes the call's arguments without their values, but for the destinations if the operator keeps
	// these. See policy.Facts.Encode, which lists the omissions.
	Facts json.RawMessage `json:"facts,omitempty"`

	// Content holds digests, and captures if configured, of the arguments and the answer of a decision's call.
	Content *Content `json:"content,omitempty"`

	// Evidence are, of a decision about a result, the records that its server refers to, the first MaxEvidence of them.
	Evidence []Evidence `json:"evidence,omitempty"`
}

// Content is the recorded part of a call's arguments and of its answer. A digest is "sha256:" and the hexadecimal
// SHA-256 of the bytes of the salt, followed by the text.
type Content struct {
	Salt   string                     `json:"salt"`             // 16 random bytes of the call's own, in hexadecimal
	Answer string                     `json:"answer,omitempty"` // of a decision about an answer: the digest of it as its server sent it
	Fields map[string]json.RawMessage `json:"fields,omitempty"` // the members that the operator names, such as "/arguments/to"

	// Detection is, of a decision about an answer, the outcome of searching it for sensitive values; nil if there are
	// none.
	Detection *Detection `json:"detection,omitempty"`

	// The captures: the arguments in canonical form, or for a decision about an answer the answer; nil unless capture
	// is configured. They are valid until the Recorder returns.
	Arguments []byte `json:"-"`
	Result    []byte `json:"-"`
}

// Bounds of the evidence of one event.
const (
	MaxEvidence = 8
	MaxRef      = 512 // bytes of one Ref
)

// Evidence is a reference to a record, kept elsewhere, that is said to tell why data is labelled as it is (the
// extension io.modelcontextprotocol/trust-annotations, evidenceRef). The server chose it, and it proves nothing by
// itself: who holds the record can compare its digest. Nothing of the data or of the record is in it.
type Evidence struct {
	Type             string `json:"type"`             // such as "data-class.v1"
	Digest           string `json:"digest"`           // "sha256:" and the hexadecimal digest of the record
	Canonicalization string `json:"canonicalization"` // under which it was made: "jcs/rfc8785" or "cbor/rfc8949"
	Ref              string `json:"ref,omitempty"`    // where the record is; empty if that was not said or is longer than MaxRef
}

// New returns an event of the given kind with its version, id and time set.
func New(kind Kind, now time.Time) *Event {
	return &Event{V: Version, ID: rand.Text(), Time: now.UTC(), Kind: kind}
}

// A Recorder writes events down. It is safe for concurrent use, and returns when the event is written. After an error
// the event may be unwritten, and its effect must not happen.
type Recorder interface {
	Record(ctx context.Context, e *Event) error
}

// Discard returns a Recorder that keeps nothing. It is dangerous: decisions leave no trace.
func Discard() Recorder { return discard{} }

type discard struct{}

func (discard) Record(context.Context, *Event) error { return nil }
