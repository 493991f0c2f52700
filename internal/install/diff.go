package install

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/internal/hostfile"
	"github.com/weir-mcp/weir/internal/hosts"
	"github.com/weir-mcp/weir/internal/rawjson"
)

// Diff returns the servers that go and come, one in a line, without the values of their variables and headers. The lines are not
// fit to be shown raw.
func (f *File) Diff() (lines []string) {
	for _, p := range f.Parts {
		lines = append(lines, diff(f.Format, p.List, f.before, f.after)...)
	}
	return lines
}

// Diff returns the servers that go and come, as that of a [File].
func (m *Removal) Diff() (lines []string) {
	var seen []string
	for _, r := range m.records {
		if r.Hooks != nil && r.Hooks.Plugin {
			return changedLines(m.before, m.after)
		}
		if r.Hooks != nil && len(r.Hooks.Setting) > 0 && len(lines) == 0 {
			lines = append(lines, settingDiff("-", r.Hooks.Setting))
		}
		if r.Hooks != nil {
			for _, e := range r.Hooks.Added {
				lines = append(lines, fmt.Sprintf("- %s: %s", strings.Join(e.Array, "."), e.Value))
			}
		}
		for _, p := range r.Parts {
			if name := fmt.Sprintf("%q", p.List); !slices.Contains(seen, name) {
				seen = append(seen, name)
				lines = append(lines, diff(r.Format, p.List, m.before, m.after)...)
			}
		}
	}
	return lines
}

// diff compares the lists of servers of two texts. Nothing else of them is shown: hosts keep tokens there.
func diff(f hosts.Format, list []string, before, after []byte) (lines []string) {
	old, err := hostfile.Entries(f, before, list)
	if err != nil {
		return nil
	}
	now, err := hostfile.Entries(f, after, list)
	if err != nil {
		return nil
	}
	has := func(all []hostfile.Entry, e hostfile.Entry) bool {
		return slices.ContainsFunc(all, func(o hostfile.Entry) bool { return o.Name == e.Name && string(o.Value) == string(e.Value) })
	}
	for _, side := range []struct {
		sign      string
		all, rest []hostfile.Entry
	}{{"-", old, now}, {"+", now, old}} {
		for _, e := range side.all {
			if !has(side.rest, e) {
				lines = append(lines, fmt.Sprintf("%s %s: %s", side.sign, strings.Join(append(slices.Clone(list), e.Name), "."), shown(e.Value)))
			}
		}
	}
	return lines
}

// shownWhole are the members of a server that say which program or address it is. Of others only texts in this list are shown.
var shownWhole = []string{"type", "command", "cmd", "args", "cwd", "enabled", "disabled", "default_tools_approval_mode"}

// shown returns a server without values that may be secret.
func shown(value []byte) string {
	var parts []string
	for name, v := range rawjson.Members(value) {
		text := "…"
		switch {
		case slices.Contains(shownWhole, name) && rawjson.Kind(v) != '{':
			text = string(v)
		case rawjson.Kind(v) == '"':
			if address, _ := rawjson.String(v); strings.Contains(address, "://") {
				text = withoutQuery(address)
			}
		case rawjson.Kind(v) == '{':
			var names []string
			for k := range rawjson.Members(v) {
				names = append(names, k)
			}
			text = "{" + strings.Join(names, ": …, ") + ": …}"
			if len(names) == 0 {
				text = "{}"
			}
		}
		parts = append(parts, name+" "+text)
	}
	return strings.Join(parts, ", ")
}

// withoutQuery returns an address without the parts in which keys are.
func withoutQuery(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "…"
	}
	u.User, u.Fragment = nil, ""
	if u.RawQuery != "" {
		u.RawQuery = "…"
	}
	return u.String()
}
