package importer

import (
	"slices"

	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/rawjson"
)

// An Entry is one server of another host as it is written there: nothing is expanded, resolved or checked.
type Entry struct {
	Server   config.Server
	Problems config.Errors // values of a wrong type; they quote none
	Unknown  []string      // members that Weir cannot carry over, in the order of the entry
}

// Read reads the value of one server, in JSON.
func Read(name string, value []byte) Entry {
	d := config.NewDraft("")
	r := reader{d, nil}
	m := member{[]string{name}, name, value}
	if rawjson.Check(value) != nil || rawjson.Kind(value) != '{' {
		r.fault(m, `write {"command": …} or {"url": …}`, "must be an object")
		return Entry{Problems: d.Problems()}
	}
	if builtIn(value) {
		return Entry{Server: config.Server{Name: name}}
	}
	r.server(m, name)
	e := Entry{Server: d.Config.Servers[0], Problems: d.Problems()}
	for key, v := range rawjson.Members(value) {
		if _, read := r.known(new(config.Server), key); read == nil && !idle(key, v) {
			e.Unknown = append(e.Unknown, key)
		}
	}
	return e
}

// idle reports whether a member changes neither the server nor its permissions, or only reduces the questions of its
// host. Weir cannot carry over any other member.
func idle(key string, value []byte) bool {
	values, listed := idleValues[key]
	return rawjson.Kind(value) == 'n' || slices.Contains(idleMembers, key) || listed && slices.Contains(values, string(rawjson.Canonical(value)))
}

// idleMembers are idle with every value.
var idleMembers = []string{
	"alwaysAllow", "autoApprove", "trust", "source", "name", "description", "display_name", "bundled", "timeout",
	"startup_timeout_sec", "startup_timeout_ms", "tool_timeout_sec", "required", "icon", "gallery", "version",
}

// idleValues are values with which members are idle: an empty list means everything to some members and nothing to
// others.
var idleValues = map[string][]string{
	"tools": {`["*"]`}, "env_keys": {"[]"}, "available_tools": {"[]"}, "env_vars": {"[]"}, "excludeTools": {"[]"}, "disabled_tools": {"[]"},
	"env_http_headers": {"{}"}, "default_tools_approval_mode": {`"approve"`},
}

// FitName returns the name with characters that weir.yaml does not allow replaced by hyphens; "" if none are left.
func FitName(name string) string { return fitName(name) }
