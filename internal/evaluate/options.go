package evaluate

import (
	"github.com/weir-mcp/weir/overlay"
	"github.com/weir-mcp/weir/policy"
)

// Options configures [Run].
type Options struct {
	Policy   *policy.Policy      // nil: policy.Default()
	Overlays *overlay.Set        // nil: Overlays()
	Domains  []string            // the operator's own domains
	Hidden   bool                // results are hidden, servers answer in JSON where they can, and the agent uses handles; a nil Policy is headless
	Plans    bool                // the agent submits a plan for each task
	Me       []string            // the user's own mail addresses
	Readers  map[string][]string // groups of readers
}
