package demo

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/internal/demo/servers"
)

// seed holds the beginning of a world: a directory for each server that keeps data, and the pages of the site.
//
//go:embed all:seed
var seed embed.FS

// reported are the addresses that the web server knows to be malicious.
const reported = "http://free-fonts.example/\n"

// A World is everything that the agent can touch: the servers' data in a directory of its own, and a web site. Servers
// are processes that others start, see [World.Server].
type World struct {
	Dir  string // holds a directory for each server and weir.yaml
	Exe  string // the program that serves with the arguments of [World.Server]
	site *site

	hidden bool // weir.yaml names the policy that hides results
}

// NewWorld furnishes a world in dir, which must exist and be empty, and opens its web site. Close it after use; the
// directory stays. With hidden, its weir.yaml has results hidden.
func NewWorld(dir, exe string, hidden bool) (*World, error) {
	w := &World{Dir: dir, Exe: exe, hidden: hidden}
	if err := w.furnish(); err != nil {
		return nil, fmt.Errorf("furnishing the world in %s: %w", dir, err)
	}
	return w, nil
}

func (w *World) furnish() (err error) {
	for _, name := range servers.Names() {
		if err := os.MkdirAll(w.data(name), 0o700); err != nil {
			return err
		}
		if err := copySeed(name, w.data(name)); err != nil {
			return err
		}
	}
	if w.site, err = openSite(); err != nil {
		return err
	}
	hosts := make(map[string]string)
	for _, host := range w.site.hosts() {
		hosts[host] = w.site.address()
	}
	table, err := json.Marshal(hosts)
	if err == nil {
		err = errors.Join(
			os.WriteFile(filepath.Join(w.data("web"), servers.HostsFile), table, 0o600),
			os.WriteFile(filepath.Join(w.data("web"), servers.ReportedFile), []byte(reported), 0o600),
			os.WriteFile(w.Config(), w.config(), 0o600),
		)
	}
	if err != nil {
		return errors.Join(err, w.Close())
	}
	return nil
}

// copySeed copies the files that the named server begins with, if it has any.
func copySeed(server, dir string) error {
	dirName := "seed/" + server
	entries, err := seed.ReadDir(dirName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		data, err := seed.ReadFile(dirName + "/" + e.Name())
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, e.Name()), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// data returns the directory of a server.
func (w *World) data(server string) string { return filepath.Join(w.Dir, server) }

// Server returns the command line that serves the named server over standard input and output.
func (w *World) Server(name string) []string {
	return []string{w.Exe, "demo", "server", name, "--data", w.data(name)}
}

// Config returns the path of a weir.yaml that names the servers of this world.
func (w *World) Config() string { return filepath.Join(w.Dir, "weir.yaml") }

// config returns that file. Strings are written as JSON, which YAML reads as they are meant.
func (w *World) config() []byte {
	quote := func(s string) string {
		data, err := json.Marshal(s)
		if err != nil {
			panic(err) // a string always encodes
		}
		return string(data)
	}
	var b strings.Builder
	if w.hidden {
		b.WriteString("policy: headless\n")
	}
	fmt.Fprintf(&b, "version: 1\napproval: {pace: %s}\nservers:\n", reading/2)
	for _, name := range servers.Names() {
		argv := w.Server(name)
		var args []string
		for _, a := range argv[1:] {
			args = append(args, quote(a))
		}
		fmt.Fprintf(&b, "  %s:\n    command: %s\n    args: [%s]\n    trust: trusted\n",
			name, quote(argv[0]), strings.Join(args, ", "))
	}
	return []byte(b.String())
}

// Close shuts the web site.
func (w *World) Close() error { return w.site.close() }

// Happened reports whether the effect is found in the world.
func (w *World) Happened(e Effect) (bool, error) {
	switch e.Place {
	case Outbox:
		sent, err := servers.ReadOutbox(w.data("mail"))
		return slices.ContainsFunc(sent, func(m servers.Message) bool {
			return m.To == e.Name && strings.Contains(m.Body, e.Text)
		}), err
	case Collector:
		return slices.ContainsFunc(w.site.seen(), func(r visit) bool {
			return r.host == e.Name && strings.Contains(r.asked, e.Text)
		}), nil
	case File:
		_, err := os.Stat(filepath.Join(w.data("files"), e.Name))
		if errors.Is(err, os.ErrNotExist) {
			return true, nil
		}
		return false, err
	case Table:
		t, err := servers.ReadTable(w.data("database"), e.Name)
		return err == nil && !slices.ContainsFunc(t.Rows, func(row []string) bool {
			return slices.Contains(row, e.Text)
		}), err
	}
	return false, fmt.Errorf("unknown place of evidence %d", e.Place)
}
