package notify

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"github.com/weir-mcp/weir/approval"
	"github.com/weir-mcp/weir/internal/gateway/approve"
	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/record"
)

// The types of notifications.
const (
	typeAsked   = "approval.asked"
	typeFinding = "finding.malicious"
	typeTrust   = "trust.lowered"
)

// Bounds of texts of others, in characters.
const (
	maxName     = 200
	maxFindings = 16
	maxReason   = 600 // why a server lost trust
	maxWord     = 40  // of a name on the desktop
)

// An askedData is an open question in a notification. Every text that others chose is made plain.
type askedData struct {
	Question  string          `json:"question"` // the question's id
	Principal string          `json:"principal"`
	Session   string          `json:"session"`
	Server    string          `json:"server"`
	Method    string          `json:"method"`
	Name      string          `json:"name"`
	Phase     string          `json:"phase"`
	Rule      string          `json:"rule"`
	Asked     time.Time       `json:"asked"`
	Expires   time.Time       `json:"expires"`
	Text      string          `json:"text"` // the text that every channel shows
	Prompt    approval.Prompt `json:"prompt"`
}

func askedMessage(p *approve.Pending) message {
	return newMessage(askedPrefix+p.ID, document{typeAsked, p.Asked.UTC(), askedData{
		Question: p.ID, Principal: word(p.Principal), Session: word(p.Session), Server: word(p.Server), Method: word(p.Method),
		Name: word(p.Name), Phase: p.Phase, Rule: word(p.Rule), Asked: p.Asked.UTC(), Expires: p.Expires.UTC(),
		Text: p.Prompt.Text(), Prompt: p.Prompt,
	}})
}

// A findingData is a finding in a notification. Every text that others chose is made plain.
type findingData struct {
	Event     string   `json:"event"` // its id in the record
	Principal string   `json:"principal,omitempty"`
	Session   string   `json:"session"`
	Server    string   `json:"server"`
	Method    string   `json:"method"`
	Name      string   `json:"name"`
	Withheld  bool     `json:"withheld"` // whether the agent did not see it, as far as the event tells
	Findings  []string `json:"findings,omitempty"`
	Text      string   `json:"text"`
}

func findingMessage(e *record.Event) message {
	d := findingData{
		Event: e.ID, Principal: word(e.Principal), Session: word(e.Session), Server: word(e.Server), Method: word(e.Method),
		Name: word(e.Name), Withheld: e.Kind == record.Decision, Text: findingText(e),
	}
	if e.Label != nil && e.Kind == record.Label {
		for f := range e.Label.Findings.All() {
			if len(d.Findings) == maxFindings {
				break
			}
			d.Findings = append(d.Findings, word(f))
		}
	}
	return newMessage("finding_"+e.ID, document{typeFinding, e.Time.UTC(), d})
}

// isFinding reports whether an event tells of malicious content: it entered an agent session, or was kept from it.
func isFinding(e *record.Event) bool {
	switch e.Kind {
	case record.Label:
		return e.Label != nil && e.Label.Malicious
	case record.Decision:
		if e.Phase != "result" || e.Effect != "block" && e.Effect != "ask" || !bytes.Contains(e.Facts, []byte("maliciousActivityHint")) {
			return false
		}
		hint, _ := rawjson.Get(e.Facts, "response.annotations.maliciousActivityHint")
		return string(hint) == "true"
	}
	return false
}

// findingText tells of a finding in one line.
func findingText(e *record.Event) string {
	what := "Malicious content is in an agent session now. It came in with "
	if e.Kind == record.Decision {
		what = "Malicious content was kept from an agent. It came with "
	}
	return what + plain.Quote(e.Name, maxName) + " of server " + word(e.Server) + "."
}

// A trustData is a server that lost trust in a notification. Every text that others chose is made plain.
type trustData struct {
	Event  string `json:"event"` // its id in the record
	Server string `json:"server"`
	Text   string `json:"text"`
}

func trustMessage(e *record.Event) message {
	text := "Server " + word(e.Server) + " is " + plain.Text(e.Message, maxReason) + ". See weir servers."
	return newMessage("trust_"+e.ID, document{typeTrust, e.Time.UTC(), trustData{e.ID, word(e.Server), text}})
}

func trustBrief(e *record.Event) string {
	return "Server " + harmless(e.Server) + " has broken its contract. See weir servers."
}

// word makes text of others plain.
func word(s string) string { return plain.Text(s, maxName) }

// Titles of notifications on the desktop.
const (
	askedTitle   = "Weir: a question waits"
	findingTitle = "Weir: malicious content"
	trustTitle   = "Weir: a server is trusted less"
)

func askedBrief(p *approve.Pending) string {
	return "About " + harmless(p.Name) + " of server " + harmless(p.Server) + ". See weir approvals."
}

func findingBrief(e *record.Event) string {
	what := "It is in an agent session now"
	if e.Kind == record.Decision {
		what = "It was kept from an agent"
	}
	return what + ". It came with " + harmless(e.Name) + " of server " + harmless(e.Server) + ". See weir audit show."
}

// harmless returns a name in letters, digits and a few signs that mean nothing to a desktop, a shell or markup; the
// rest of it becomes question marks.
func harmless(s string) string {
	b := []byte(s[:min(len(s), maxWord)])
	for i, c := range b {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !letter && !strings.ContainsRune("_-./:", rune(c)) {
			b[i] = '?'
		}
	}
	if len(b) < len(s) {
		b = append(b, "..."...)
	}
	return string(b)
}

// A document is the body of a notification: the members that Standard Webhooks recommends.
type document struct {
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"` // of the event
	Data      any       `json:"data"`
}

// A message is a notification for a webhook.
type message struct {
	id   string // the same for every attempt
	body []byte
}

// newMessage returns a message. Its documents always encode.
func newMessage(id string, d document) message {
	body, err := json.Marshal(d)
	if err != nil {
		body = []byte("{}")
	}
	return message{id, body}
}
