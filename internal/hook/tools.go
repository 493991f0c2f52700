package hook

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/overlay"
)

// Overlay returns the contracts of the tools of the host.
func (h *Host) Overlay() (*overlay.Set, error) {
	return overlay.Load("hook/"+h.ID+".yaml", h.overlay)
}

// arguments returns the arguments of a call as the tool takes them.
func (e *Event) arguments() (json.RawMessage, error) {
	name, takes := e.Host.here[e.Tool]
	value, given := rawjson.Get(e.Input, name)
	switch {
	case !takes || given && (name != severalPaths || rawjson.Kind(value) == '['):
		return e.Input, nil
	case !given:
		value = rawjson.Quote(e.Folder)
	}
	if name == severalPaths {
		value = slices.Concat([]byte("["), value, []byte("]"))
	}
	return rawjson.Set(e.Input, value, name)
}

// severalPaths is the argument that may be one path or a list of them; overlays see a list.
const severalPaths = "paths"

// strange says which argument nothing is known of; "" if there is none, or the whole tool is not known, which may do anything.
func (e *Event) strange() string {
	known, ok := e.Host.tools[e.Tool]
	if !ok {
		return ""
	}
	for name := range rawjson.Members(e.Input) {
		if !slices.Contains(known, name) {
			return fmt.Sprintf("nothing is known of the argument %+.80q", name)
		}
	}
	return ""
}

// behind reports whether the call goes to one of the entries that run Weir, which decides on it there.
func (e *Event) behind(entries []string) bool {
	if slices.Contains(e.Host.resources, e.Tool) {
		raw, _ := rawjson.Get(e.Input, "server")
		server, _ := rawjson.String(raw)
		return slices.Contains(entries, server)
	}
	return slices.ContainsFunc(entries, func(entry string) bool { return e.Host.serves(e, entry) })
}

// servesDoubly is for hosts with names like mcp__SERVER__TOOL. A name that could be that of a tool of another entry,
// whose name continues the entry's, is not taken for one.
func servesDoubly(e *Event, entry string) bool {
	tool, ok := strings.CutPrefix(e.Tool, "mcp__"+entry+"__")
	return ok && !strings.Contains(entry, "__") && !strings.HasPrefix(tool, "_") && !strings.Contains(tool, "__")
}

// servesTold is for hosts that tell the server of a call.
func servesTold(e *Event, entry string) bool {
	return e.Server == entry && strings.HasPrefix(e.Tool, "mcp_")
}

// servesDashed is for hosts with names like SERVER-TOOL. No other server has a name that begins alike: see
// install.ReadNames.
func servesDashed(e *Event, entry string) bool {
	tool, ok := strings.CutPrefix(e.Tool, entry+"-")
	return ok && tool != ""
}
