package evaluate

import (
	"errors"

	"github.com/weir-mcp/weir/overlay"
	"github.com/weir-mcp/weir/policy"
)

// Options configures [Run].
type Options struct {
	Policy   *policy.Policy      // nil: policy.Default()
	Overlays *overlay.Set        // nil: Overlays()
	Domains  []string            // the operator's own domains
	Hidden   bool                // results are hidden, servers answer in JSON where they can, and the agent uses handles; a nil Policy is headless
	Lying    bool                // with Hidden: the agent reveals nothing, and obeys a quarantined model that the attacker controls
	Programs bool                // the agent has a program make the calls of each task; a nil Policy is headless
	Plans    bool                // the agent submits a plan for each task
	Me       []string            // the user's own mail addresses
	Readers  map[string][]string // groups of readers

	Confirmed bool // a person has confirmed the drafted parts of the arguments of all tools
}

var (
	errLying    = errors.New("a quarantined model lies about hidden results")
	errPrograms = errors.New("an agent with programs uses no handles and submits no plans")
)

// check reports options that do not go together.
func (o *Options) check() error {
	switch {
	case o.Lying && !o.Hidden:
		return errLying
	case o.Programs && (o.Hidden || o.Plans):
		return errPrograms
	}
	return nil
}
