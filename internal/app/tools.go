package app

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/gateway/catalog"
)

// A ToolReport is one tool with its effective contract.
type ToolReport struct {
	Server   string         `json:"server"`
	Name     string         `json:"name"`  // on its server
	Shown    string         `json:"shown"` // to hosts
	Trust    string         `json:"trust"`
	Refined  bool           `json:"refined,omitempty"`    // an overlay refines it by arguments
	Resolves bool           `json:"resolvable,omitempty"` // its server resolves the effect of a call
	Contract []MemberReport `json:"contract"`

	Carries []annotation.Note `json:"carries,omitempty"` // further statements of its server, which decide nothing
}

// A MemberReport is one member of a contract.
type MemberReport struct {
	Name   string   `json:"name"`
	Values []string `json:"values"` // the members of a set; else "yes" or "no"; none if it is not known
	Known  bool     `json:"known"`
	From   string   `json:"from"` // overlay NAME (FILE:LINE), server, server and worst case, implied or worst case, draft NAME …

	Dialects []string `json:"dialects,omitempty"` // in which the server says something of it, whether or not that counts
}

// FromText says where the value comes from, and in which words the server spoke of it.
func (m MemberReport) FromText() string {
	if len(m.Dialects) == 0 || !strings.HasPrefix(m.From, "server") {
		return m.From
	}
	return "server (" + strings.Join(m.Dialects, ", ") + ")" + strings.TrimPrefix(m.From, "server")
}

// ReportTool returns the report of a tool, with the dialects in which its server speaks of each member.
func ReportTool(e *catalog.Entry, reader annotation.Reader) ToolReport {
	r := ToolReport{
		Server: e.Server, Name: e.Name, Shown: e.Shown, Trust: e.Trust.String(),
		Refined: e.Overlay.Refines(), Resolves: e.Resolvable, Carries: annotation.Notes(e.Said),
	}
	said := reader.Statements(e.Said)
	for _, m := range contractMembers() {
		values, known := m.of(&e.Effective)
		one := MemberReport{Name: m.name, Values: values, Known: known, From: m.origin(e)}
		for _, s := range said {
			if _, stated := m.of(&s.Contract); stated {
				one.Dialects = append(one.Dialects, s.Dialect)
			}
		}
		r.Contract = append(r.Contract, one)
	}
	return r
}

// A contractMember is one member of a contract, as overlays name it.
type contractMember struct {
	name string
	of   func(*contract.Contract) (values []string, known bool)
}

// ContractNames returns the names of the members in the order of reports.
func ContractNames() (names []string) {
	for _, m := range contractMembers() {
		names = append(names, m.name)
	}
	return names
}

func contractMembers() (all []contractMember) {
	for _, h := range contract.Hints() {
		if h.Overlay {
			all = append(all, contractMember{h.Short, func(c *contract.Contract) ([]string, bool) { return ofHint(*h.Of(c)) }})
		}
	}
	return append(all, []contractMember{
		{"destinations", func(c *contract.Contract) ([]string, bool) { return ofSet(c.Destinations) }},
		{"accepts", func(c *contract.Contract) ([]string, bool) { return ofSet(c.Accepts) }},
		{"outcomes", func(c *contract.Contract) ([]string, bool) { return ofSet(c.Outcomes) }},
		{"sources", func(c *contract.Contract) ([]string, bool) { return ofSet(c.Sources) }},
		{"returns", func(c *contract.Contract) ([]string, bool) { return ofSet(c.Returns) }},
	}...)
}

func ofHint(h contract.Hint) ([]string, bool) {
	if h == contract.Unknown {
		return []string{}, false
	}
	return []string{h.String()}, true
}

func ofSet[T ~string](v contract.Values[T]) ([]string, bool) {
	set, known := v.Known()
	values := []string{}
	for x := range set.All() {
		values = append(values, string(x))
	}
	return values, known
}

// origin says where the value of a member comes from.
func (m contractMember) origin(e *catalog.Entry) string {
	said := e.Overlay.Said()
	static := e.Overlay.Static()
	undrafted := contract.Overlaid(static, e.Declared, e.Trust)
	now, _ := m.of(&e.Effective)
	before, known := m.of(&undrafted)
	from := m.undrafted(e, before, known)
	if slices.Equal(now, before) {
		return from
	}
	for _, s := range said {
		if _, stated := m.of(&s.Contract); stated && s.Entry.Draft {
			return fmt.Sprintf("%s, raised by the draft %s (%s:%d)", from, s.Entry.Name, s.Entry.File, s.Line)
		}
	}
	return from
}

// undrafted is origin without drafts.
func (m contractMember) undrafted(e *catalog.Entry, now []string, known bool) string {
	for _, s := range e.Overlay.Said() {
		if _, stated := m.of(&s.Contract); stated && !s.Entry.Draft {
			return fmt.Sprintf("overlay %s (%s:%d)", s.Entry.Name, s.Entry.File, s.Line)
		}
	}
	declared, stated := m.of(&e.Declared)
	switch {
	case !known:
		return "nobody"
	case stated && slices.Equal(declared, now):
		return "server"
	case stated:
		return "server, joined with the worst"
	}
	return "assumed"
}
