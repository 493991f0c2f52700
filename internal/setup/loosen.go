package setup

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/policy"
)

// Loosened lists the ways in which a running weir might decide more mildly by another setup. A change that cannot be
// compared, such as one of an overlay, is listed. An empty list means that the setup is at least as strict as the one
// before.
func Loosened(before, after *Setup) (ways []string) {
	a, b := before.Config, after.Config
	if b.Mode > a.Mode {
		ways = append(ways, fmt.Sprintf("mode %s -> %s", a.Mode, b.Mode))
	}
	ways = append(ways, milder(before.Policy(), after.Policy())...)
	ways = append(ways, opened(a.Servers, b.Servers)...)
	if before.Overlays.Digest() != after.Overlays.Digest() || a.NoCatalogue != b.NoCatalogue {
		ways = append(ways, "overlays say something else of servers")
	}
	for _, f := range b.Folders {
		if !slices.Contains(a.Folders, f) {
			ways = append(ways, "folder of your own work added: "+f)
		}
	}
	if !reflect.DeepEqual(rest(a), rest(b)) {
		ways = append(ways, "other settings changed")
	}
	return ways
}

// rest returns a configuration without the settings that are compared one by one, those that take effect at the next
// start only, and those that permit nothing.
func rest(c *config.Config) config.Config {
	r := *c
	r.Servers, r.Policy, r.Overlays, r.NoCatalogue, r.Mode, r.Folders, r.Startup, r.Warnings = nil, "", nil, false, 0, nil, 0, nil
	r.Approval = config.Approval{}
	r.Listen, r.Console, r.Notify, r.HTTP, r.Store, r.Record, r.Durability = "", "", config.Notify{}, config.Listener{}, "", "", ""
	r.Retention, r.Capture, r.Checkpoints, r.Words, r.Own = config.Retention{}, config.Capture{}, config.Checkpoints{}, config.Words{}, config.Own{}
	r.Pins, r.Limits, r.Detect = config.Pins{}, config.Limits{}, config.Detection{}
	return r
}

// opened says which servers are new, or are reached, described or trusted in another way than before.
func opened(before, after []config.Server) (ways []string) {
	for _, b := range after {
		i := slices.IndexFunc(before, func(a config.Server) bool { return a.Name == b.Name && !a.Disabled })
		switch {
		case b.Disabled:
		case i < 0:
			ways = append(ways, "server added: "+b.Name)
		default:
			a := before[i]
			if b.Trust > a.Trust {
				ways = append(ways, fmt.Sprintf("trust of %s %s -> %s", b.Name, a.Trust, b.Trust))
			}
			a.Trust, a.Timeout = b.Trust, b.Timeout
			if !reflect.DeepEqual(a, b) {
				ways = append(ways, "server changed: "+b.Name)
			}
		}
	}
	return ways
}

// milder says which rules of a policy another lacks, or has in a form that may be milder. A new rule can only be
// stricter unless its effect is milder than the default of the policy.
func milder(before, after *policy.Policy) (ways []string) {
	if before.Digest() == after.Digest() {
		return nil
	}
	if after.Fallback() > before.Fallback() {
		ways = append(ways, fmt.Sprintf("default %s -> %s", before.Fallback(), after.Fallback()))
	}
	left := after.Rules()
	for _, a := range before.Rules() {
		i := slices.IndexFunc(left, func(b policy.Rule) bool { return b.Name == a.Name })
		if i < 0 {
			what := "rule removed: "
			if slices.ContainsFunc(after.Rules(), func(b policy.Rule) bool { return b.Name == a.Name }) {
				what = "rule moved up: "
			}
			ways = append(ways, what+a.Name)
			continue
		}
		for _, b := range left[:i] {
			ways = append(ways, unproved(b, before.Fallback())...)
		}
		b := left[i]
		if left = left[i+1:]; b.When != a.When || b.If != a.If || b.Once && !a.Once ||
			b.Effect > a.Effect || b.Effect < a.Effect && b.Effect == policy.Hide {
			ways = append(ways, "rule changed: "+a.Name)
		}
	}
	for _, b := range left {
		ways = append(ways, unproved(b, before.Fallback())...)
	}
	return ways
}

// unproved says of a new rule why it may be milder than none.
func unproved(r policy.Rule, fallback policy.Effect) []string {
	if r.Effect > fallback || r.Once || r.Effect == policy.Hide { // a hidden result raises no label
		return []string{"rule added: " + r.Name}
	}
	return nil
}

// Differences describes a change of the policy between two setups, for logs and events.
func Differences(before, after *Setup) string {
	if before.Policy().Digest() == after.Policy().Digest() {
		return ""
	}
	names := func(p *policy.Policy) (all []string) {
		for _, r := range p.Rules() {
			all = append(all, r.Name)
		}
		return all
	}
	old, now := names(before.Policy()), names(after.Policy())
	text := fmt.Sprintf("policy %.8s -> %.8s, rules %d -> %d", before.Policy().Digest(), after.Policy().Digest(), len(old), len(now))
	for _, part := range []struct {
		word string
		all  []string
	}{
		{"removed", slices.DeleteFunc(slices.Clone(old), func(n string) bool { return slices.Contains(now, n) })},
		{"added", slices.DeleteFunc(slices.Clone(now), func(n string) bool { return slices.Contains(old, n) })},
	} {
		if len(part.all) > 0 {
			text += ", " + part.word + ": " + strings.Join(part.all, " ")
		}
	}
	return text
}

// Same reports whether another setup says the same.
func (s *Setup) Same(other *Setup) bool {
	return s.Policy().Digest() == other.Policy().Digest() && s.Overlays.Digest() == other.Overlays.Digest() && reflect.DeepEqual(s.Config, other.Config)
}
