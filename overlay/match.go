package overlay

import (
	"net/url"
	stdpath "path"
	"slices"
	"strings"
)

// A Server is one server as its operator has configured it.
type Server struct {
	Name    string   // in weir.yaml
	Command []string // the program and its arguments; nil if it is reached by a URL
	URL     string
	Env     []string // NAME=VALUE, that the configuration sets for the command
}

// A match is one item under match: every member that is stated has to fit. An item states one at least.
type match struct {
	pkg     string
	from    registry      // of the package; "": any
	version *versionRange // nil: any
	command string
	url     *urlPattern // nil: any
	server  string      // glob
}

// Package returns the package that the server's command line runs, without its version; "" if it runs none, or it is
// not sure to be that of the registry, such as with an option or a variable that may name another source.
func (s Server) Package() string {
	return s.runs().name
}

// runs returns the package that the server's command line runs.
func (s Server) runs() fetched {
	if !s.plain() {
		return fetched{}
	}
	return commandPackage(s.Command)
}

// plain reports whether the program is none of the working folder, and no variable has it run other code.
func (s Server) plain() bool {
	return len(s.Command) > 0 && (!strings.ContainsAny(s.Command[0], `/\`) || isAbsolute(s.Command[0])) &&
		!slices.ContainsFunc(s.Env, func(variable string) bool { return !isSetting(variable) })
}

func (m match) fits(s Server) bool {
	if m.server != "" && !glob(m.server, s.Name) {
		return false
	}
	if m.url != nil && !m.url.fits(s.URL) {
		return false
	}
	if m.command != "" && (!s.plain() || program(s.Command[0]) != m.command) {
		return false
	}
	if m.pkg == "" {
		return true
	}
	p := s.runs()
	return p.is(m.pkg) && (m.from == "" || m.from == p.kind) && (m.version == nil || p.version == "" || m.version.has(p.version))
}

// MayMatch reports whether an entry with that text may be for the server: the text mentions its package or its program,
// or speaks of URLs or of names of servers. It counts only for texts of YAML without escapes.
func (s Server) MayMatch(text string) bool {
	if s.URL != "" && strings.Contains(text, "url:") || strings.Contains(text, "server:") {
		return true
	}
	text = foldPackage(text)
	mentions := func(name string) bool { return name != "" && strings.Contains(text, foldPackage(name)) }
	return mentions(s.Package()) || len(s.Command) > 0 && mentions("command: "+program(s.Command[0]))
}

// is compares names as the registries do: Python's does not tell -, _ and . apart, and none tells upper from lower
// case.
func (p fetched) is(name string) bool {
	if p.kind == pypi {
		return foldPackage(p.name) == foldPackage(name)
	}
	return p.name != "" && strings.EqualFold(p.name, name)
}

func foldPackage(name string) string { return strings.ToLower(separators.Replace(name)) }

var separators = strings.NewReplacer("_", "-", ".", "-")

// isGlob reports whether the pattern has a star.
func isGlob(pattern string) bool { return strings.Contains(pattern, "*") }

// glob reports whether the pattern, in which * stands for any text, fits all of s. The first place that fits each part
// is the right one for all but the last, so this takes time linear in both for each star.
func glob(pattern, s string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == s
	}
	first, last := parts[0], parts[len(parts)-1]
	if len(s) < len(first)+len(last) || !strings.HasPrefix(s, first) || !strings.HasSuffix(s, last) {
		return false
	}
	s = s[len(first) : len(s)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(s, part)
		if i < 0 {
			return false
		}
		s = s[i+len(part):]
	}
	return true
}

// A urlPattern is a URL in which the path may have stars and the host may begin with one label of them.
type urlPattern struct {
	scheme, host, path string // host with its port, in lower case; *.example.com is anything below
}

// parseURLPattern reads a pattern; the hint says what is wrong with it, if anything.
func parseURLPattern(s string) (p *urlPattern, hint string) {
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok || scheme != "https" && scheme != "http" {
		return nil, "begin with https:// or http://"
	}
	host, path, _ := strings.Cut(rest, "/")
	host = strings.ToLower(host)
	switch {
	case host == "" || strings.ContainsAny(host, "@?#\\ "):
		return nil, "write https://host/path"
	case isGlob(strings.TrimPrefix(host, "*.")):
		return nil, "a star in the host is its first label only, as in https://*.example.com/*"
	case strings.ContainsAny(path, "?#"):
		return nil, "leave out what follows ? or #"
	}
	return &urlPattern{scheme, host, "/" + path}, ""
}

func (p *urlPattern) fits(s string) bool {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.User != nil || !strings.EqualFold(u.Scheme, p.scheme) {
		return false
	}
	host := strings.ToLower(u.Host)
	if below, ok := strings.CutPrefix(p.host, "*"); ok {
		if !strings.HasSuffix(host, below) {
			return false
		}
	} else if host != p.host {
		return false
	}
	at := stdpath.Clean("/" + u.Path)
	return glob(p.path, at) || glob(p.path, at+"/")
}
