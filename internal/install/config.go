package install

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/hostfile"
	"github.com/weir-mcp/weir/internal/hosts"
)

// fresh returns the text of a configuration with the servers of a list.
func fresh(h hosts.Host, p Part, servers []hostfile.Entry) []byte {
	where := string(p.Scope) + " scope"
	if p.Project != "" {
		where += fmt.Sprintf(", %q", p.Project)
	}
	text, err := hostfile.YAML(servers, 2)
	if err != nil {
		return nil // then it does not load
	}
	return fmt.Appendf(nil, "# Servers of %s (%s), moved here by weir install. Change what you like:\n"+
		"# weir install adds servers, and weir uninstall gives the host its own back.\nversion: 1\nservers:\n%s", h.Name, where, text)
}

// configText returns the configuration with the servers that were taken: the one that is there, with them added.
func (l *lister) configText() ([]byte, error) {
	text := fresh(l.spec.host, l.part, l.conf)
	before, err := os.ReadFile(l.part.Config)
	switch {
	case err == nil && l.own != nil:
		text, err = hostfile.Replace(hosts.YAML, before, hostfile.Change{List: []string{"servers"}, Put: l.conf})
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	}
	if err == nil {
		_, err = l.load(text)
	}
	if err != nil {
		return nil, &hostfile.Error{Msg: "the configuration " + l.part.Config + " cannot take the servers: " + firstProblem(err),
			Hint: "correct it, or move it away"}
	}
	return text, nil
}

// load reads a configuration as weir run will, with the variables of Weir's entry.
func (l *lister) load(text []byte) (*config.Config, error) {
	return config.Load(l.part.Config, text, config.Options{Lookup: func(name string) (string, bool) {
		if value, ok := l.vars[name]; ok {
			if isURL := bytes.Contains(text, []byte("url: \"${env:"+name+"}")); isURL && strings.ContainsAny(value, "${") {
				return "https://host.invalid/", true // the host makes the URL
			}
			return "x", true
		}
		if l.opts.Machine.Lookup == nil {
			return "", false
		}
		return l.opts.Machine.Lookup(name)
	}})
}
