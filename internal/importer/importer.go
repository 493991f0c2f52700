// Package importer reads the MCP configuration of other hosts, so that Weir can stand in front of the servers that are
// already set up: JSON, TOML and YAML files in which servers are listed the way hosts list them.
//
//	{"mcpServers": {"mail": {"command": "npx", "args": ["-y", "@example/mail-server"]}}}
//
// The lists are those of package hosts, such as mcpServers (Claude Desktop, Claude Code, Cursor and most others),
// servers (VS Code, .vscode/mcp.json), mcp_servers (Codex) or extensions (Goose), and mcp.servers (VS Code settings).
// Comments and trailing commas are accepted in JSON, because editors accept them in these files.
//
// The importer must read a file as its own host does. So it refuses duplicate members, and values of the wrong type in
// the members that Weir acts on, servers that are no command and no URL, and inputs that only an editor can ask for.
// Members that Weir does not act on are ignored with a warning, because hosts keep much else in these files. A file of
// another host cannot raise a server's trust: every server is untrusted.
//
// Problems and warnings have the form of package config, whose rules on secrets hold here too.
package importer

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/hostfile"
	"github.com/weir-mcp/weir/internal/hosts"
	"github.com/weir-mcp/weir/internal/rawjson"
)

// lists are the places of the list of servers in JSON, the most common first.
var lists = jsonLists()

func jsonLists() (all [][]string) {
	for _, l := range hosts.Lists(hosts.JSON, hosts.JSONC) {
		if slices.Equal(l, []string{"mcp"}) {
			all = append(all, []string{"mcp", "servers"}) // VS Code settings
		}
		all = append(all, l)
	}
	return all
}

// Detect reports whether the file at path is for Load rather than for config.Load: it is a JSON object with
// servers as hosts list them, or named .json or .toml, or YAML with such a list and no servers of its own. A weir.yaml
// that is written in JSON has a version.
func Detect(path string, src []byte) bool {
	data := hostfile.Standard(src)
	if rawjson.Check(data) == nil && rawjson.Kind(data) == '{' {
		if _, own := rawjson.Get(data, "version"); own && !slices.ContainsFunc(lists, func(l []string) bool {
			_, ok := rawjson.Get(data, l...)
			return ok && l[0] != "servers"
		}) {
			return false
		}
		return true
	}
	switch filepath.Ext(path) {
	case ".json", ".jsonc", ".toml":
		return true
	}
	own, err := hostfile.Entries(hosts.YAML, src, []string{"servers"})
	_, listed, _ := entriesOf(hosts.YAML, src)
	return err == nil && len(own) == 0 && len(listed) > 0
}

// entriesOf returns the servers of the first list in a file that has some.
func entriesOf(f hosts.Format, src []byte) (list []string, entries []hostfile.Entry, err error) {
	for _, list := range hosts.Lists(f) {
		if entries, err := hostfile.Entries(f, src, list); err != nil || len(entries) > 0 {
			return list, entries, err
		}
	}
	return nil, nil, nil
}

// Load reads the file that was found at path. The error is config.Errors; warnings are in Config.Warnings.
func Load(path string, src []byte, opts config.Options) (*config.Config, error) {
	d := config.NewDraft(path)
	data := hostfile.Standard(src)
	jsonError := rawjson.Check(data)
	switch ext := filepath.Ext(path); {
	case ext == ".toml":
		return loadEntries(d, hosts.TOML, src, opts)
	case jsonError != nil && ext != ".json" && ext != ".jsonc":
		if _, entries, err := entriesOf(hosts.YAML, src); err == nil && len(entries) > 0 {
			return loadEntries(d, hosts.YAML, src, opts)
		}
	}
	if jsonError != nil {
		syntax(d, data, jsonError)
		return d.Finish(opts)
	}
	r := reader{d, index(data)}
	for _, list := range lists {
		if servers, ok := rawjson.Get(data, list...); ok {
			r.servers(member{list, "", servers})
			if list[0] == "servers" || list[0] == "mcp" {
				r.inputs(data, list)
			}
			return d.Finish(opts)
		}
	}
	d.Fault(config.Place{}, "name the servers in mcpServers, or write a weir.yaml", "no mcpServers in this file")
	return d.Finish(opts)
}

// loadEntries reads TOML or YAML. Problems of servers have no line.
func loadEntries(d *config.Draft, f hosts.Format, src []byte, opts config.Options) (*config.Config, error) {
	list, entries, err := entriesOf(f, src)
	var unreadable *hostfile.Error
	switch {
	case errors.As(err, &unreadable):
		d.Fault(config.Place{Line: unreadable.Line, Col: unreadable.Col}, unreadable.Hint, "%s", unreadable.Msg)
		return d.Finish(opts)
	case len(entries) == 0:
		d.Fault(config.Place{}, "name the servers as their host does, or write a weir.yaml", "no list of servers in this file")
		return d.Finish(opts)
	}
	object := []byte("{}")
	for _, e := range entries {
		if object, err = rawjson.Add(object, e.Value, e.Name); err != nil {
			d.Fault(config.Place{}, "", "a server cannot be read")
			return d.Finish(opts)
		}
	}
	reader{d, nil}.servers(member{list, "", object})
	return d.Finish(opts)
}

// syntax notes why the document is refused.
func syntax(d *config.Draft, data []byte, err error) {
	var e *rawjson.SyntaxError
	if !errors.As(err, &e) {
		d.Fault(config.Place{}, "", "not JSON")
		return
	}
	hint := "check quotes, commas and brackets around here"
	if e.Fault == rawjson.DuplicateName {
		hint = "remove one of them: readers differ in which one counts"
	}
	d.Fault(placeAt(data, int(e.Offset)), hint, "bad JSON: %s", e.Reason)
}

// A reader turns a document into a draft.
type reader struct {
	d      *config.Draft
	places map[string]config.Place // of each member, by its JSON pointer in the document
}

// A member is a value of the document with the names of the members that lead to it.
type member struct {
	path  []string
	name  string // as it is called in messages
	value []byte
}

func (r reader) at(m member) config.Place { return r.places[config.Pointer(m.path...)] }

func (r reader) fault(m member, hint, format string, args ...any) {
	r.d.Fault(r.at(m), hint, "%s: %s", m.name, fmt.Sprintf(format, args...))
}

// inputs warns of inputs that VS Code would ask for. Where a server refers to one, config refuses the reference.
func (r reader) inputs(data []byte, list []string) {
	path := append(slices.Clone(list[:len(list)-1]), "inputs")
	if v, ok := rawjson.Get(data, path...); ok && len(slices.Collect(rawjson.Elements(v))) > 0 {
		r.d.Warn(r.at(member{path: path}), "set variables and refer to them as ${env:NAME}",
			"inputs are asked for by the editor only: servers that refer to one cannot be started")
	}
}

func (r reader) servers(m member) {
	r.d.Set(config.Pointer("servers"), r.at(m))
	if rawjson.Kind(m.value) != '{' {
		r.d.Fault(r.at(m), "write {\"NAME\": {…}}", "%s: must be an object", strings.Join(m.path, "."))
		return
	}
	taken := map[string]bool{}
	for written, value := range rawjson.Members(m.value) {
		e := member{append(slices.Clone(m.path), written), fmt.Sprintf("server %.80q", written), value}
		name := fitName(written)
		switch {
		case taken[name]:
			r.fault(e, "rename one of them", "another server here is called %q as well, once other characters are replaced", name)
			continue
		case name != written:
			r.d.Warn(r.at(e), "", "%s: called %q by weir", e.name, name)
		}
		taken[name] = true
		r.d.Set(config.Pointer("servers", name), r.at(e))
		if builtIn(value) {
			r.d.Warn(r.at(e), "", "%s: ignored, it is part of the host", e.name)
			continue
		}
		if rawjson.Kind(value) != '{' {
			r.fault(e, "write {\"command\": …} or {\"url\": …}", "must be an object")
			continue
		}
		r.server(e, name)
	}
}

// builtIn reports whether a server is part of its host: Goose lists those too.
func builtIn(value []byte) bool {
	v, _ := rawjson.Get(value, "type")
	kind, _ := rawjson.String(v)
	return slices.Contains([]string{"builtin", "platform", "frontend", "inline_python"}, kind)
}

// fitName returns the name with characters that config does not allow replaced by hyphens: other hosts allow any.
func fitName(name string) string {
	fit := strings.Map(func(c rune) rune {
		if c == '_' || c < utf8.RuneSelf && (unicode.IsLetter(c) || unicode.IsDigit(c)) {
			return c
		}
		return '-'
	}, name)
	fit = strings.TrimLeft(fit, "-_")
	return fit[:min(len(fit), 64)]
}

// server reads the members of one server.
func (r reader) server(m member, name string) {
	s := config.Server{Name: name}
	for key, value := range rawjson.Members(m.value) {
		e := member{append(slices.Clone(m.path), key), m.name + ": " + key, value}
		own, read := r.known(&s, key)
		if read == nil {
			r.ignore(m, e, key)
			continue
		}
		if rawjson.Kind(value) != 'n' { // hosts write null for a missing member
			pointer := config.Pointer("servers", name, own)
			if r.d.Has(pointer) && own != "disabled" { // disabled and enabled may both be there: either disables
				r.fault(e, "remove one of them", "says the same as another member of the server")
			}
			r.d.Set(pointer, r.at(e))
			read(e)
		}
	}
	r.guessTransport(m, &s)
	r.d.Config.Servers = append(r.d.Config.Servers, s)
}

// known returns the name that weir.yaml has for a member of a server, and its reader; nil for a member without meaning
// here.
func (r reader) known(s *config.Server, key string) (string, func(member)) {
	switch key {
	case "command":
		return "command", func(m member) { r.command(m, s) }
	case "args":
		return "args", func(m member) { r.texts(m, &s.Args) }
	case "cmd": // Goose
		return "command", func(m member) { r.command(m, s) }
	case "env", "environment", "envs": // most hosts, opencode, Goose
		return "env", func(m member) { r.textMap(m, "env", s.Name, &s.Env) }
	case "cwd":
		return "cwd", func(m member) { r.text(m, &s.Dir) }
	case "url", "serverUrl", "httpUrl", "uri": // most hosts, Windsurf, Gemini CLI, Goose
		return "url", func(m member) { r.text(m, &s.URL) }
	case "headers", "http_headers": // most hosts, Codex
		return "headers", func(m member) { r.textMap(m, "headers", s.Name, &s.Headers) }
	case "type", "transport":
		return "transport", func(m member) { r.transport(m, &s.Transport) }
	case "disabled":
		return "disabled", func(m member) { r.boolean(m, func(v bool) { s.Disabled = s.Disabled || v }) }
	case "enabled":
		return "disabled", func(m member) { r.boolean(m, func(v bool) { s.Disabled = s.Disabled || !v }) }
	}
	return "", nil
}

// ignore warns of a member that has no meaning here.
func (r reader) ignore(server, m member, key string) {
	hint := ""
	switch key {
	case "source", "name", "description": // Zed says "custom" of every server with a command
		return
	case "alwaysAllow", "autoApprove", "trust":
		hint = "weir decides by its policy"
	case "envFile":
		hint = "put the variables into env, or start weir with them"
	case "oauth", "auth", "headersHelper":
		hint = "weir does not sign in to servers: put the server's credentials into headers"
	case "timeout":
		hint = "hosts differ in its unit: set timeout in a weir.yaml"
	}
	r.d.Warn(r.at(m), hint, "%s: ignored %.64q", server.name, key)
}

// guessTransport takes a URL without a type that ends in /sse for the older transport, as hosts find out by trying.
func (r reader) guessTransport(m member, s *config.Server) {
	if s.Transport != "" || s.URL == "" {
		return
	}
	if u, err := url.Parse(s.URL); err == nil && strings.HasSuffix(strings.TrimSuffix(u.Path, "/"), "/sse") {
		s.Transport = config.SSE
		r.d.Warn(r.at(m), `add "type": "sse", or "http"`, "%s: taken for an sse server by the end of its url", m.name)
	}
}

// command reads a command. Zed also writes {"path": …, "args": […], "env": {…}}, and opencode the program with its
// arguments.
func (r reader) command(m member, s *config.Server) {
	switch rawjson.Kind(m.value) {
	case '[':
		var line []string
		if r.texts(m, &line); len(line) == 0 || line[0] == "" {
			r.fault(m, "name the program first", "needs a program")
			return
		}
		s.Command, s.Args = line[0], line[1:]
		return
	case '{':
	default:
		r.text(m, &s.Command)
		return
	}
	for key, value := range rawjson.Members(m.value) {
		e := member{append(slices.Clone(m.path), key), m.name + "." + key, value}
		switch key {
		case "path":
			r.text(e, &s.Command)
		case "args":
			r.texts(e, &s.Args)
		case "env":
			r.textMap(e, "env", s.Name, &s.Env)
		default:
			r.d.Warn(r.at(e), "", "%s: ignored", e.name)
		}
	}
}

func (r reader) text(m member, p *string) {
	if *p = r.anyText(m); *p == "" && rawjson.Kind(m.value) == '"' {
		r.fault(m, "remove it, or give it a value", "needs a value")
	}
}

func (r reader) anyText(m member) string {
	s, ok := rawjson.String(m.value)
	if !ok {
		r.fault(m, "write it in quotes", "must be a string")
	}
	return s
}

func (r reader) texts(m member, p *[]string) {
	if rawjson.Kind(m.value) != '[' {
		r.fault(m, `write ["a", "b"]`, "must be an array")
		return
	}
	i := 0
	for value := range rawjson.Elements(m.value) {
		*p = append(*p, r.anyText(member{append(slices.Clone(m.path), strconv.Itoa(i)), m.name, value}))
		i++
	}
}

// textMap reads an object of strings, own being the name that weir.yaml has for it.
func (r reader) textMap(m member, own, server string, p *map[string]string) {
	if rawjson.Kind(m.value) != '{' {
		r.fault(m, `write {"NAME": "value"}`, "must be an object")
		return
	}
	values := map[string]string{}
	for key, value := range rawjson.Members(m.value) {
		e := member{append(slices.Clone(m.path), key), m.name, value}
		r.d.Set(config.Pointer("servers", server, own, key), r.at(e))
		values[key] = r.anyText(e)
	}
	*p = values
}

func (r reader) boolean(m member, set func(bool)) {
	v, ok := rawjson.Bool(m.value)
	if !ok {
		r.fault(m, "write true or false", "must be a boolean")
		return
	}
	set(v)
}

func (r reader) transport(m member, p *config.Transport) {
	var s string
	r.text(m, &s)
	switch s {
	case "":
	case "stdio", "local": // most hosts, Copilot CLI and opencode
		*p = config.Stdio
	case "http", "remote", "streamable-http", "streamableHttp", "streamable_http":
		*p = config.HTTP
	case "sse":
		*p = config.SSE
	default:
		r.fault(m, "use stdio, http, streamable-http or sse", "unknown type %.40q", s)
	}
}
