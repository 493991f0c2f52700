package config

import (
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-mcp/weir/internal/pattern"
)

var serverName = pattern.New(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

// checkServer checks s and makes it whole: the transport inferred, variables expanded, paths resolved. Of a
// disabled server only the shape is looked at: its variables need not be set.
func checkServer(d *Draft, s *Server, opts Options, dir string) {
	c := checker{d, s}
	if !serverName().MatchString(s.Name) {
		c.fault(c.at(), "use 1 to 64 letters, digits, _ and -, the first a letter or a digit", "no server can have this name")
	}
	c.checkShape()
	if s.Disabled {
		return
	}
	sound := c.expandAll(opts.Lookup)
	if sound("url") && s.URL != "" {
		checkURL(c)
	}
	if sound("auth") {
		checkAuth(c)
	}
	first := map[string]bool{}
	for _, k := range slices.Sorted(maps.Keys(s.Headers)) {
		checkHeader(c, k)
		if lower := strings.ToLower(k); first[lower] && token(k) {
			c.fault(c.at("headers", k), "remove one of them", "headers: %s is here twice: upper and lower case are the same", k)
		} else {
			first[lower] = true
		}
	}
	for _, k := range slices.Sorted(maps.Keys(s.Env)) {
		if k == "" || strings.ContainsAny(k, "=\x00") {
			c.fault(c.at("env", k), "write NAME: value", "env: a name is empty, or holds = or a NUL byte")
		}
	}
	s.Dir = resolve(dir, s.Dir)
	if strings.ContainsRune(s.Command, filepath.Separator) {
		s.Command = resolve(dir, s.Command)
	}
}

// checkShape checks that the server is either a command or a URL, and has members of that kind only.
func (c checker) checkShape() {
	s := c.s
	switch {
	case s.Command == "" && s.URL == "":
		there := c.d.Has(Pointer("servers", s.Name, "command")) || c.d.Has(Pointer("servers", s.Name, "url"))
		if there && len(c.d.problems) > 0 {
			return // the member is there, and the reader has reported its problem
		}
		c.fault(c.at(), "add command: PROGRAM, or url: https://…", "neither a command nor a url")
	case s.Command != "" && s.URL != "":
		c.fault(c.at("url"), "remove one of them", "both a command and a url")
	case s.URL != "":
		if s.Transport == "" {
			s.Transport = HTTP
		}
		if s.Transport == Stdio {
			c.fault(c.at("transport"), "use http or sse", "a url cannot be reached over stdio")
		}
		c.misplaced("args", len(s.Args), "command")
		c.misplaced("env", len(s.Env), "command")
		c.misplaced("cwd", len(s.Dir), "command")
	default:
		if s.Transport == "" {
			s.Transport = Stdio
		}
		if s.Transport != Stdio {
			c.fault(c.at("transport"), "use stdio, or a url instead of the command",
				"a command cannot be reached over %s", s.Transport)
		}
		c.misplaced("headers", len(s.Headers), "url")
		if at := Pointer("servers", s.Name, "auth"); c.d.Has(at) {
			c.misplaced("auth", 1, "url")
		}
	}
}

// misplaced faults a member that has no meaning without the other one.
func (c checker) misplaced(member string, size int, other string) {
	if size > 0 {
		c.fault(c.at(member), "remove it", "%s has no meaning without a %s", member, other)
	}
}

// expandAll expands the variables of every member that can have them. The function that it returns reports
// whether a member, by its name, came out without a flaw.
func (c checker) expandAll(lookup func(string) (string, bool)) (sound func(string) bool) {
	flawed := map[string]bool{}
	one := func(s *string, member ...string) {
		value, flaws := expand(*s, lookup)
		if strings.ContainsRune(value, 0) {
			flaws = append(flaws, flaw{"a NUL byte", "remove it"})
		}
		for _, f := range flaws {
			c.fault(c.at(member...), f.hint, "%s: %s", member[0], f.msg)
			flawed[member[0]] = true
		}
		*s = value
	}
	every := func(values map[string]string, member string) {
		for _, k := range slices.Sorted(maps.Keys(values)) {
			v := values[k]
			one(&v, member, k)
			values[k] = v
		}
	}
	one(&c.s.Command, "command")
	one(&c.s.Dir, "cwd")
	one(&c.s.URL, "url")
	one(&c.s.Auth.ClientID, "auth", "client_id")
	one(&c.s.Auth.ClientSecret, "auth", "client_secret")
	one(&c.s.Auth.Issuer, "auth", "issuer")
	for i := range c.s.Args {
		one(&c.s.Args[i], "args", strconv.Itoa(i))
	}
	every(c.s.Env, "env")
	every(c.s.Headers, "headers")
	return func(member string) bool { return !flawed[member] }
}
