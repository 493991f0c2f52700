package tracker

import (
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/label"
)

// A Conflict is a reason for the host to ask its user, or to refuse: a property of data that the session has seen, and
// the property of the tool that it meets.
type Conflict string

// The conflicts.
const (
	UntrustedToPublic     Conflict = "untrusted content may reach the public"
	UntrustedIrreversible Conflict = "untrusted content may cause a change that cannot be undone"
	PrivateToPublic       Conflict = "private data may reach the public"
	ClassNotAccepted      Conflict = "the tool does not accept a class of data that the session holds"
)

// Conflicts returns the conflicts of a next call of the tool with the label of the session; none says that there is no
// conflict. It knows neither arguments nor user, so it finds more than a host asks about.
//
// A tool with unknown destinations may reach the public. Classes are compared only where the tool's word on the classes
// that it accepts counts: a tool that says nothing of them promises nothing.
func (t *Tracker) Conflicts(tool Tool) []Conflict {
	seen, of := t.Label(), contract.Effective(tool.Declared, tool.Trust)
	accepts, stated := of.Accepts.Known()
	public := of.Discloses()
	var found []Conflict
	for _, c := range []struct {
		Conflict
		holds bool
	}{
		{UntrustedToPublic, seen.Untrusted && public},
		{UntrustedIrreversible, seen.Untrusted && of.Outcomes.Has(contract.Irreversible)},
		{PrivateToPublic, seen.Private && public},
		{ClassNotAccepted, stated && !accepts.Contains(seen.Sensitivity.Without(label.SetOf(label.User)))},
	} {
		if c.holds {
			found = append(found, c.Conflict)
		}
	}
	return found
}
