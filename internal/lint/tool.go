package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/draft"
	"github.com/weir-mcp/weir/internal/rawjson"
)

// definition looks at one tool.
func (l *linter) definition(t *tool) {
	say := func(rule, message, hint string) { l.add(rule, t.server.Name, t.name, message, hint) }
	for _, d := range t.defects {
		say(Invalid, d.String(), "it counts as absent; tell the author of the server")
	}
	l.passages(t.server, t.name, t.raw, 0)
	for _, c := range contradictions(t.declared) {
		say(Contradiction, c, "the worse of the two is believed")
	}
	if message := t.suspicious(); message != "" {
		say(Suspicious, message, "read its code or documentation before you trust the server")
	}
	if worse := t.said.Static().Narrows(t.declared); t.said != nil && len(worse) > 0 {
		say(Worse, "the server says worse than the overlay of "+strings.Join(worse, ", "), "check the overlay against this version of the server")
	}
	l.breadth(t)
}

// contradictions returns hints that cannot be true together.
func contradictions(c contract.Contract) (found []string) {
	check := func(wrong bool, message string) {
		if wrong {
			found = append(found, message)
		}
	}
	readOnly := c.ReadOnly == contract.Yes
	check(readOnly && c.Destructive == contract.Yes, "it is read-only and destructive")
	_, known := c.Outcomes.Known()
	check(readOnly && known && !c.Outcomes.Has(contract.Benign), "it is read-only, and its outcome is never benign")
	check(readOnly && c.Outcomes.Has(contract.Irreversible), "it is read-only, and may be irreversible")
	check(c.OpenWorld == contract.No && c.Destinations.Has(contract.Public), "its world is closed, and its destination may be public")
	check(c.Operation.Reversible == contract.Yes && c.Outcomes.Has(contract.Irreversible), "it is reversible, and may be irreversible")
	return found
}

// suspicious returns the claim of the tool that its name belies; "" if none.
func (t *tool) suspicious() string {
	k := t.guess.Kind
	why := ""
	if len(t.guess.Lines) > 0 {
		why = t.guess.Lines[0].Reason
	}
	changes := k == draft.Destroys || k == draft.Sends || k == draft.Pays
	switch {
	case t.declared.ReadOnly == contract.Yes && changes:
		return fmt.Sprintf("it claims to be read-only, and seems to be one that %s: %s", k, why)
	case t.declared.Destructive == contract.No && k == draft.Destroys:
		return fmt.Sprintf("it claims to destroy nothing, and seems to be one that %s: %s", k, why)
	case t.declared.OpenWorld == contract.No && (k == draft.Sends || k == draft.Pays):
		return fmt.Sprintf("it claims a closed world, and seems to be one that %s: %s", k, why)
	}
	return ""
}

// breadth looks for possible sets that promise nothing, or that nothing narrows.
func (l *linter) breadth(t *tool) {
	var open []string
	for _, set := range []struct {
		name      string
		size, all int
	}{
		{"destination", t.declared.Destinations.Set().Len(), 5},
		{"outcomes", t.declared.Outcomes.Set().Len(), 3},
		{"source", t.declared.Sources.Set().Len(), 5},
	} {
		if set.size == set.all {
			l.add(OverBroad, t.server.Name, t.name, set.name+" may be anything", "state the possible values")
		} else if set.size > 1 {
			open = append(open, set.name)
		}
	}
	resolvable, _ := rawjson.Get(t.raw, "_meta", "io.modelcontextprotocol/tool-resolution", "resolvable")
	if len(open) > 0 && string(resolvable) != "true" && !t.said.Refines() {
		l.add(Unresolvable, t.server.Name, t.name, "several values are possible of "+strings.Join(open, ", ")+", and nothing says which a call has",
			"the worst of them counts; refine it in an overlay, or serve tools/resolve")
	}
}

func (l *linter) server(s *Server) {
	l.text(s, "instructions", s.Instructions)
	for _, raw := range slices.Concat(s.Prompts, s.Resources) {
		l.passages(s, text(raw, "name"), raw, 0)
	}
	var unlabelled, unknown []string
	for _, raw := range s.Tools {
		t := newTool(s, raw)
		l.tools = append(l.tools, t)
		l.definition(t)
		switch {
		case t.labelled():
		case t.said != nil && len(t.said.Said()) > 0:
		case s.Overlay != nil:
			unknown = append(unknown, t.name)
		default:
			unlabelled = append(unlabelled, t.name)
		}
	}
	if len(unlabelled) > 0 {
		l.add(Unlabelled, s.Name, "", counted(len(unlabelled), len(s.Tools))+" of their effects, so the worst case is assumed: "+some(unlabelled),
			"write an overlay for them; weir annotate proposes one")
	}
	if len(unknown) > 0 {
		l.add(NotInOverlay, s.Name, "", "the overlay "+s.Overlay.Entries()[0].Name+" does not know "+some(unknown)+", so the worst is assumed of them",
			"add them to an overlay of your own")
	}
}
