package config

import (
	"path/filepath"
	"slices"
	"strings"
)

// readHTTP reads the section of that name.
func readHTTP(r reader, m member) {
	h := &r.d.Config.HTTP
	r.object(m, fields{
		"token": r.text(&h.Token),
		"tls": func(m member) {
			r.object(m, fields{"cert": r.text(&h.Cert), "key": r.text(&h.Key), "client_ca": r.text(&h.ClientCA)})
		},
		"tokens":       r.by(readTokens),
		"oauth":        r.by(readOAuth),
		"certificates": r.by(readCertificates),
		"hosts":        r.texts(&h.Hosts),
		"origins":      r.texts(&h.Origins),
		"share":        r.boolean(&h.Share),
		"apart":        r.boolean(&h.Apart),
	})
}

// minToken is the length of the shortest token that is taken: fewer characters can be tried out.
const minToken = 16

// fitToken reports whether a text can be a token: in a header, and too long to be tried out.
func fitToken(s string) bool {
	return len(s) >= minToken && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

// checkListener expands and checks the section http.
func checkListener(d *Draft, opts Options, dir string) {
	h := &d.Config.HTTP
	at := func(member string) Place { return d.Place(Pointer("http", member)) }
	token, flaws := expand(h.Token, opts.Lookup)
	h.Token = token
	for _, f := range flaws {
		d.Fault(at("token"), f.hint, "http.token: %s", f.msg)
	}
	if len(flaws) == 0 && d.Has(Pointer("http", "token")) && token != NoToken {
		if !fitToken(token) {
			d.Fault(at("token"), "use 16 or more letters, digits and punctuation, or none", "http.token: not fit for a token")
		}
	}
	if (h.Cert == "") != (h.Key == "") {
		d.Fault(d.Place(Pointer("http", "tls")), "name both files", "http.tls: cert and key belong together")
	}
	h.Cert, h.Key, h.ClientCA = resolve(dir, h.Cert), resolve(dir, h.Key), resolve(dir, h.ClientCA)
	checkPrincipals(d, opts)
	for i, name := range h.Hosts {
		if name == "" || strings.ContainsAny(name, "/ @") {
			d.Fault(at("hosts"), "write a host name, like weir.example", "http.hosts: entry %d is no host name", i+1)
		}
	}
	for i, origin := range h.Origins {
		if !isOrigin(origin) {
			d.Fault(at("origins"), "write scheme://host, like https://app.example", "http.origins: entry %d is no origin", i+1)
		}
	}
	if d.Config.Listen == "" && d.Has(Pointer("http")) {
		d.Warn(d.Place(Pointer("http")), "add listen: 127.0.0.1:8080, or give --listen", "http says how to serve HTTP, and nothing says where")
	}
}

func isOrigin(s string) bool {
	scheme, host, ok := strings.Cut(s, "://")
	return ok && slices.Contains([]string{"http", "https"}, scheme) && host != "" && !strings.ContainsAny(host, "/ @?#") && filepath.Clean(host) == host
}

// Open reports whether others than this machine may connect to the address that is listened on.
func (c *Config) Open() bool {
	_, open, ok := ParseListen(c.Listen)
	return ok && open
}

// ListenProblems returns warnings about the address and how it is served. It is not part of Warnings, because a flag
// may set another address.
func (c *Config) ListenProblems() (out []Problem) {
	if !c.Open() {
		return nil
	}
	if c.HTTP.Token == NoToken {
		out = append(out, Problem{
			Msg:  "everyone who can reach " + c.Listen + " can use every server",
			Hint: "set http.token, or leave it out to have one made",
		})
	}
	if c.HTTP.Cert == "" {
		out = append(out, Problem{
			Msg:  "traffic on " + c.Listen + ", the token included, is not encrypted",
			Hint: "set http.tls, or put a proxy with TLS in front",
		})
	}
	if len(c.HTTP.Hosts) == 0 {
		out = append(out, Problem{
			Msg:  "requests for any host name are answered at " + c.Listen,
			Hint: "list in http.hosts the names by which hosts reach it",
		})
	}
	return out
}
