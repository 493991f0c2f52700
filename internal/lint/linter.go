package lint

import (
	"encoding/json"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/draft"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/report"
	"github.com/weir-mcp/weir/overlay"
)

// The rules, by their ids.
const (
	Unlabelled    = "unlabelled"
	Invalid       = "invalid-annotation"
	Contradiction = "contradiction"
	Suspicious    = "suspicious-claim"
	OverBroad     = "over-broad"
	Unresolvable  = "unresolvable"
	Poisoned      = "poisoned-text"
	SecretPlace   = "secret-place"
	SecretValue   = "secret-value"
	Addressed     = "addressed-to-the-model"
	Collision     = "name-collision"
	LookAlike     = "look-alike"
	Worse         = "worse-than-overlay"
	NotInOverlay  = "not-in-overlay"
	Trifecta      = "trifecta"
)

// Rules returns the rules, the worst first.
func Rules() []report.Rule {
	return []report.Rule{
		{ID: Poisoned, Summary: "Text for people holds hidden characters or instructions to the model", Severity: report.Error},
		{ID: Invalid, Summary: "An annotation breaks its schema, and counts as absent", Severity: report.Error},
		{ID: Contradiction, Summary: "Annotations of one tool contradict each other", Severity: report.Error},
		{ID: LookAlike, Summary: "Tools have names that people take for one another", Severity: report.Error},
		{ID: Suspicious, Summary: "A tool claims to be more harmless than its name says", Severity: report.Warning},
		{ID: Addressed, Summary: "Text for people instructs the model", Severity: report.Warning},
		{ID: SecretPlace, Summary: "Text for people names a place where secrets are kept", Severity: report.Warning},
		{ID: SecretValue, Summary: "A definition holds a key, a token or a password", Severity: report.Warning},
		{ID: Worse, Summary: "A server says worse of its tool than the overlay does", Severity: report.Warning},
		{ID: Trifecta, Summary: "Untrusted content, private data and a way out come together", Severity: report.Warning},
		{ID: Unlabelled, Summary: "No annotation or overlay describes a tool, so the worst case is assumed", Severity: report.Warning},
		{ID: Collision, Summary: "Several servers have a tool of the same name", Severity: report.Note},
		{ID: NotInOverlay, Summary: "The overlay for a server does not know one of its tools", Severity: report.Note},
		{ID: OverBroad, Summary: "An annotation allows everything and so says nothing", Severity: report.Note},
		{ID: Unresolvable, Summary: "Several values are possible, and nothing says which for a call", Severity: report.Note},
	}
}

// severities are those of the rules.
func severity(rule string) report.Severity {
	for _, r := range Rules() {
		if r.ID == rule {
			return r.Severity
		}
	}
	return report.Error
}

// A Server is the offer of one server, and its operator's overlay.
type Server struct {
	Name         string
	As           overlay.Server // how its operator has configured it
	Trust        contract.Trust
	Overlay      *overlay.Overlay  // nil: there is none
	Instructions string            // to the model, of the server's welcome
	Tools        []json.RawMessage // free of duplicate members
	Prompts      []json.RawMessage
	Resources    []json.RawMessage // and templates
}

// Unsaid returns the tools that no overlay speaks of.
func (s *Server) Unsaid() (tools []json.RawMessage) {
	for _, raw := range s.Tools {
		if len(s.Overlay.Tool(text(raw, "name")).Said()) == 0 {
			tools = append(tools, raw)
		}
	}
	return tools
}

// A tool is one tool under examination.
type tool struct {
	server    *Server
	name      string
	raw       json.RawMessage
	declared  contract.Contract
	defects   []annotation.Defect
	said      *overlay.Tool
	effective contract.Contract
	guess     draft.Draft
}

// A linter examines the definitions of servers that agents use together.
type linter struct {
	findings
	tools []*tool
	read  []passage
}

// findings are those so far.
type findings struct{ found report.Findings }

func newTool(s *Server, raw json.RawMessage) *tool {
	t := &tool{server: s, raw: raw, name: text(raw, "name"), guess: draft.Of(raw)}
	t.declared, t.defects = annotation.ReadTool(raw)
	t.said = s.Overlay.Tool(t.name)
	t.effective = contract.Overlaid(t.said.Static(), t.declared, s.Trust)
	return t
}

// labelled reports whether the server says anything about the effects of the tool.
func (t *tool) labelled() bool { return !t.declared.Equal(contract.Contract{}) }

func text(raw json.RawMessage, member string) string {
	value, _ := rawjson.Get(raw, member)
	s, _ := rawjson.String(value)
	return s
}

func (f *findings) add(rule, server, subject, message, hint string) {
	f.found.All = append(f.found.All, report.Finding{
		Rule: rule, Severity: severity(rule), Server: server, Subject: subject, Message: message, Hint: hint,
	})
}

// A passage is text that a model reads, and whose it is.
type passage struct {
	server  *Server
	subject string
	text    string
}
