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

// arguments returns the arguments of a call with the folders that a search looks through.
func (e *Event) arguments() (json.RawMessage, error) {
	s, searches := e.Host.searches[e.Tool]
	if !searches {
		return e.Input, nil
	}
	all := e.folders(s)
	var value any = all
	if s.path != severalPaths {
		value = all[0]
	}
	return withMembers(e.Input, map[string]any{s.path: value})
}

// strange says which argument nothing is known of, or which path leads elsewhere in the host; "" if there is none, or
// the whole tool is not known, which may do anything.
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
	return e.oddPath()
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

// servesDashed is for hosts with names like SERVER-TOOL, which have servers in no file, such as github-mcp-server. So only the
// name that weir install writes is believed, which none of these begins with. See install.ReadNames for those in files.
func servesDashed(e *Event, entry string) bool {
	tool, ok := strings.CutPrefix(e.Tool, "weir-")
	return entry == "weir" && ok && tool != ""
}
