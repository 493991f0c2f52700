package app

import (
	"encoding/json"

	"github.com/weir-mcp/weir/internal/lint"
	"github.com/weir-mcp/weir/internal/pins"
	"github.com/weir-mcp/weir/internal/plain"
)

// NameOfDefinition names a definition for people.
func NameOfDefinition(kind pins.Kind, name string) string {
	words := map[pins.Kind]string{pins.Tools: "tool", pins.Prompts: "prompt", pins.Resources: "resource", pins.Templates: "resource template"}
	switch {
	case kind == pins.Handshake && name == pins.Preamble:
		return "instructions to the model"
	case kind == pins.Handshake:
		return "description of the server"
	case name == pins.Beside:
		return "remarks beside the list of " + words[kind] + "s"
	}
	return words[kind] + " " + plain.Quote(name, MaxName)
}

// findingsOf returns the findings of lint in the text of one definition.
func findingsOf(h pins.Held) (all []string) {
	s := lint.Server{Name: h.Server}
	entry := []json.RawMessage{h.Offered.Entry(h.Kind, h.Name)}
	switch {
	case h.Name == pins.Preamble && h.Kind == pins.Handshake:
		s.Instructions = h.Offered.Text()
	case h.Kind == pins.Tools:
		s.Tools = entry
	default:
		s.Resources = entry
	}
	for _, f := range lint.Check([]lint.Server{s}).All {
		if lint.AboutText(f.Rule) {
			all = append(all, f.Severity.String()+": "+f.Message)
		}
	}
	return all
}
