package files

import (
	"net/url"
	"path/filepath"
	"strings"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/pattern"
)

// maxPath is how long a path can be, in bytes; longer texts are none.
const maxPath = 4096

// The places are where servers work.
type places struct {
	home    string
	homes   []string // the ways in which it is written
	servers map[string]site
}

func newPlaces(opts Options) places {
	p := places{home: opts.Home, homes: append([]string{"~" + filepath.Base(opts.Home)}, homes...), servers: map[string]site{}}
	for name, s := range opts.Servers {
		p.servers[name] = newSite(s, opts.Dir)
	}
	return p
}

// Locate returns the files that a path, or a file URI, may mean to a server: for each folder that it may be relative
// to, the file that the system opens. A server may resolve ".." in the text before it asks the system, so both ways are
// followed. Of a path that may be any file, or leads to another machine, nothing is known.
func (p *places) Locate(server, path string) (at guard.Place) {
	s := p.servers[server]
	if len(path) > maxPath || strings.ContainsAny(path, "\x00") {
		return guard.Place{Unsure: true}
	}
	for _, abs := range p.absolutes(ofURI(path), s) {
		for _, host := range s.hosts(abs) {
			for _, way := range appendNew(nil, host, filepath.Clean(host)) {
				e := follow(way)
				if e.blind || e.far {
					return guard.Place{Unsure: true}
				}
				at.Names = appendNew(at.Names, e.path)
				at.Unsure = at.Unsure || e.unsure || !s.here && e.path != filepath.Clean(way)
			}
		}
	}
	return at
}

// absolutes returns the absolute paths that a text can stand for, in the server's names.
func (p *places) absolutes(text string, s site) (all []string) {
	if home, ok := p.atHome(text); ok {
		return append(all, home)
	}
	if isAbsolute(text) {
		return append(all, text)
	}
	for _, base := range s.bases {
		all = appendNew(all, strings.TrimSuffix(base, sep)+sep+text)
	}
	return all
}

// isAbsolute reports whether a text is an absolute path here, or in a container.
func isAbsolute(text string) bool { return filepath.IsAbs(text) || strings.HasPrefix(text, "/") }

// homes are the ways in which a home directory is written.
var homes = []string{"~", "$HOME", "${HOME}", "%USERPROFILE%", "%HOME%", "$env:USERPROFILE", "$env:HOME"}

// atHome returns the path of a text that begins with the home directory.
func (p *places) atHome(text string) (string, bool) {
	if p.home == "" {
		return "", false
	}
	for _, home := range p.homes {
		rest, ok := strings.CutPrefix(text, home)
		if ok && (rest == "" || rest[0] == '/' || rest[0] == '\\') {
			return p.home + filepath.FromSlash(strings.ReplaceAll(rest, `\`, "/")), true
		}
	}
	return "", false
}

// ofURI returns the path of a file URI, and any other text as it is. Its authority is not a machine's name: an overlay
// makes file://docs/a.txt of a relative path.
func ofURI(text string) string {
	rest := fileScheme().ReplaceAllString(text, "")
	if rest == text {
		return text
	}
	rest, _, _ = strings.Cut(rest, "#")
	rest = strings.TrimPrefix(rest, "//")
	if after, ok := strings.CutPrefix(rest, "localhost/"); ok {
		rest = "/" + after
	}
	if plain, err := url.PathUnescape(rest); err == nil {
		return plain
	}
	return rest
}

var fileScheme = pattern.New(`(?i)^file:`)

// spellings returns the texts that a path may mean: a file URI without its scheme and its escapes, and a path with the
// separators of another system.
func spellings(path string) []string {
	all := []string{path}
	if !strings.ContainsAny(path, `:%\`) {
		return all
	}
	if rest := fileScheme().ReplaceAllString(path, ""); rest != path {
		all = nil
		rest, _, _ = strings.Cut(rest, "#")
		host := ""
		if after, ok := strings.CutPrefix(rest, "//"); ok {
			host, rest, _ = strings.Cut(after, "/")
			rest = "/" + rest
		}
		if host == "" || strings.EqualFold(host, "localhost") || host == "127.0.0.1" {
			all = appendNew(all, rest)
		} else {
			all = appendNew(all, "//"+host+rest, "/"+host+rest) // a network share, or a relative path
			all = appendNew(all, host+rest)
		}
	}
	for _, text := range all {
		if plain, err := url.PathUnescape(text); err == nil {
			all = appendNew(all, plain)
			if again, err := url.PathUnescape(plain); err == nil {
				all = appendNew(all, again)
			}
		}
	}
	for _, text := range all {
		if strings.Contains(text, `\`) {
			all = appendNew(all, strings.ReplaceAll(text, `\`, "/"))
		}
	}
	return all
}
