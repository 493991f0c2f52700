package install

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/weir-mcp/weir/internal/hostfile"
	"github.com/weir-mcp/weir/internal/hosts"
	"github.com/weir-mcp/weir/internal/importer"
)

// Names are names of a host's servers, as its files have them where a conversation runs.
type Names struct {
	Ours  []string // those that stand for this Weir, and for nothing else
	Other bool     // some other name is, or may be, also that of a server that does not run this Weir
	Opens bool     // a project may put files into conversations, with no tool and no hook: see Brought
	Files []string // every file and folder that this depends on
}

// ReadNames looks which names of servers stand for this Weir wherever the host reads servers for conversations in some folders: the user's files
// define the name as an entry that runs it, and nothing else defines that name or one that the host may spell alike. The servers of a
// project, of a sub-agent and of an administrator are never this Weir. The error is of a file that cannot be read; then no name is.
func ReadNames(i *Installer, host string, folders, names []string) (n Names, err error) {
	h, ok := hosts.Lookup(host)
	if !ok {
		return n, fmt.Errorf("no host %.64q is known", host)
	}
	c := &claims{Installer: i, host: h, names: names, ours: map[string]bool{}, other: map[string]bool{}}
	defer func() { n.Files = c.read }()
	for _, s := range i.specs(Selection{Hosts: []string{host}}) {
		if err := c.file(s); err != nil {
			return n, err
		}
	}
	own := slices.Clone(c.read)
	for _, folder := range around(folders) {
		by, looked := Brought(i.opts.Machine, h, folder)
		c.read = append(c.read, looked...)
		if len(by) > 0 {
			n.Opens, c.all = true, true
		}
		for _, s := range i.specs(Selection{Hosts: []string{host}, Project: folder}) {
			if s.project == "" || slices.ContainsFunc(own, func(p string) bool { return same(p, s.path) }) {
				continue
			}
			if c.file(s) != nil {
				c.all = true
			}
		}
	}
	for _, f := range h.Agents {
		c.agents(f, folders)
	}
	for _, name := range names {
		if c.ours[name] && !c.all && !c.taken(name) && !reserved(name) {
			n.Ours = append(n.Ours, name)
		} else {
			n.Other = n.Other || c.all || c.taken(name)
		}
	}
	return n, nil
}

// claims are the servers that the files of a host define.
type claims struct {
	*Installer
	host  hosts.Host
	names []string
	read  []string
	ours  map[string]bool // names of entries that run this Weir
	other map[string]bool // folded names of other servers
	all   bool            // any name may be that of another server
}

// taken reports whether another server has a name, or one that goes on from it: some hosts put the names of tools
// behind with one mark only. Where a server chooses its name, any other one may have it.
func (c *claims) taken(name string) bool {
	if c.host.Announced && len(c.other) > 0 {
		return true
	}
	for other := range c.other {
		if strings.HasPrefix(other+"_", folded(name)+"_") {
			return true
		}
	}
	return false
}

// file takes the servers of a file, which need not be there.
func (c *claims) file(s spec) error {
	c.read = append(c.read, s.path)
	_, src, err := read(s.path, s.project)
	if absent(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", s.path, err)
	}
	if Substitutes(c.host, src) {
		c.all = true
	}
	for _, row := range s.files {
		lists, err := hostfile.Lists(row.Format, src, row.List)
		if err != nil {
			return fmt.Errorf("reading %s: %w", s.path, err)
		}
		if row.Refers != "" && (escaped(src) || mentions(src, row.Refers)) {
			c.all = true
		}
		one := s
		one.file = row
		for _, list := range lists {
			l := c.lister(one, list.Path)
			for _, e := range list.Entries {
				c.entry(l, e)
			}
		}
	}
	return nil
}

// entry takes one server.
func (c *claims) entry(l *lister, e hostfile.Entry) {
	users := l.part.Scope == hosts.User || l.part.Scope == hosts.Local
	s := importer.Read(e.Name, e.Value).Server
	if users && s.URL == "" && (l.owns(s) || runsWeir(s) && c.host.Session == "") && sameProgram(s.Command, l.opts.Exe) {
		c.ours[e.Name] = true
		return
	}
	c.other[folded(e.Name)] = true
}

// agents takes the servers of the sub-agents in the folders of a row.
func (c *claims) agents(row hosts.File, folders []string) {
	path, ok := row.Resolve(c.opts.Machine)
	if !ok {
		return
	}
	if row.Scope != hosts.Project {
		c.folder(row, path, "")
		return
	}
	for _, project := range around(folders) {
		c.folder(row, filepath.Join(project, filepath.FromSlash(path)), project)
	}
}

// maxAgents bounds the files and folders of sub-agents at one place.
const maxAgents = 1000

// folder looks for names in the files of sub-agents. Their formats leave hosts room, so a file with servers that has a name anywhere may
// define it, and so may one whose characters are escaped.
func (c *claims) folder(row hosts.File, root, project string) {
	c.read = append(c.read, root)
	target, err := filepath.EvalSymlinks(root)
	if absent(err) {
		return
	}
	n := 0
	if err == nil {
		err = filepath.WalkDir(target, func(path string, d fs.DirEntry, err error) error {
			if n++; err != nil || n > maxAgents {
				return errors.Join(err, errors.New("the folder cannot be read, or has too many files"))
			}
			c.read = append(c.read, path)
			if d.IsDir() {
				return nil
			}
			_, src, err := read(path, project)
			if err != nil {
				return err
			}
			c.agent(row, src)
			return nil
		})
	}
	if err != nil {
		c.all = true
	}
}

// agent looks for names in the file of a sub-agent.
func (c *claims) agent(row hosts.File, src []byte) {
	if escaped(src) || Substitutes(c.host, src) {
		c.all = true
	}
	if !mentions(src, row.List[len(row.List)-1]) {
		return
	}
	for _, name := range c.names {
		if mentions(src, name) {
			c.other[folded(name)] = true
		}
	}
}

// absent reports whether an error says that there is no file.
func absent(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) }

// same reports whether two paths lead to one file.
func same(a, b string) bool {
	if a == b {
		return true
	}
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Lstat(b) // a link of a project to a file of the user is the project's
	return err == nil && os.SameFile(x, y)
}

// around returns folders and all folders around them, each once: hosts differ in which of them is the project.
func around(folders []string) (all []string) {
	for _, f := range folders {
		if !filepath.IsAbs(f) {
			continue
		}
		for f = filepath.Clean(f); !slices.Contains(all, f); f = filepath.Dir(f) {
			all = append(all, f)
		}
	}
	return all
}

// folded returns a name with everything alike that a host may take for alike in the names of tools.
func folded(name string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		switch {
		case 'a' <= r && r <= 'z' || '0' <= r && r <= '9':
			b.WriteRune(r)
		case !strings.HasSuffix(b.String(), "_"):
			b.WriteByte('_')
		}
	}
	return strings.Trim(b.String(), "_")
}

// reserved reports whether a host may give a name to servers that no file of servers has, such as those of plugins and of accounts.
func reserved(name string) bool {
	first, _, _ := strings.Cut(folded(name), "_")
	return slices.Contains([]string{"", "plugin", "claude", "ide"}, first)
}

// mentions reports whether a text has a name anywhere, written without escapes.
func mentions(src []byte, name string) bool {
	return strings.Contains("_"+folded(string(src))+"_", "_"+folded(name)+"_")
}

// escaped reports whether a text may have letters that are not written as themselves.
func escaped(src []byte) bool {
	return slices.ContainsFunc([]string{`\u`, `\U`, `\x`, "\\\n", "\\\r"}, func(e string) bool { return bytes.Contains(src, []byte(e)) }) ||
		bytes.IndexByte(src, 0) >= 0
}
