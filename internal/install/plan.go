package install

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/internal/hostfile"
	"github.com/weir-mcp/weir/internal/hosts"
)

// A spec is one file that a host may have.
type spec struct {
	host    hosts.Host
	file    hosts.File
	files   []hosts.File // all rows of the host with this path
	path    string
	project string // the folder of a file of a project
	nth     int    // among the files of its scope
}

// specs returns the files that the selected hosts may have, each path once.
func (i *Installer) specs(s Selection) (all []spec) {
	for _, h := range hosts.Table {
		if !s.has(h.ID) {
			continue
		}
		nth := map[hosts.Scope]int{}
		for _, f := range h.Files {
			path, ok := f.Resolve(i.opts.Machine)
			if !ok || f.Scope == hosts.Project && s.Project == "" {
				continue
			}
			one := spec{host: h, file: f, files: []hosts.File{f}, path: path, nth: nth[f.Scope]}
			if f.Scope == hosts.Project {
				one.path, one.project = filepath.Join(s.Project, filepath.FromSlash(path)), s.Project
			}
			nth[f.Scope]++
			at := slices.IndexFunc(all, func(a spec) bool { return a.path == one.path })
			switch {
			case at < 0:
				all = append(all, one)
			case all[at].host.ID == h.ID:
				all[at].files = append(all[at].files, f)
			}
		}
	}
	return all
}

// Plan looks for the files of hosts, and says how they would change.
func (i *Installer) Plan(s Selection) (*Plan, error) {
	p := &Plan{}
	for _, one := range i.specs(s) {
		f, err := i.planFile(one)
		var unreadable *hostfile.Error
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case errors.As(err, &unreadable):
			p.Notes = append(p.Notes, Note{one.host.ID, one.path, unreadable.Error(), unreadable.Hint, true})
		case err != nil:
			p.Notes = append(p.Notes, Note{one.host.ID, one.path, err.Error(), "", true})
		case one.file.Scope == hosts.Managed:
			p.managed(f)
		case len(f.Parts) > 0:
			p.Files = append(p.Files, f)
		}
	}
	for _, h := range hosts.Table {
		if h.Manual != "" && slices.Contains(s.Hosts, h.ID) {
			p.Notes = append(p.Notes, Note{h.ID, "", "its files cannot be changed", h.Manual, false})
		}
	}
	return p, nil
}

// Hooks says how the hooks of the selected hosts would change, as far as these hosts are here.
func (i *Installer) Hooks(s Selection) (all []*HookFile, notes []Note) {
	for _, h := range hosts.Table {
		if h.Hooks == nil || !s.has(h.ID) {
			continue
		}
		path, ok := h.Hooks.File.Resolve(i.opts.Machine)
		if !ok || !isHere(i, h, path) {
			continue
		}
		add := func(path string, f *HookFile, err error) {
			var unreadable *hostfile.Error
			switch {
			case errors.As(err, &unreadable):
				notes = append(notes, Note{h.ID, path, unreadable.Error(), unreadable.Hint, true})
			case err != nil:
				notes = append(notes, Note{h.ID, path, err.Error(), "", true})
			default:
				all = append(all, f)
			}
		}
		f, err := planHooks(i, h, path)
		add(path, f, err)
		if s := h.Hooks.Setting; s != nil {
			settings, _ := s.File.Resolve(i.opts.Machine)
			f, err := planSetting(i, h)
			add(settings, f, err)
		}
	}
	return all, notes
}

// ProjectFiles returns the files of a project in which hosts look for servers, as far as they are there.
func (i *Installer) ProjectFiles(project string) (paths []string) {
	for _, s := range i.specs(Selection{Project: project}) {
		if s.project == "" {
			continue
		}
		if _, err := os.Lstat(s.path); err == nil {
			paths = append(paths, s.path)
		}
	}
	return paths
}

// managed tells of servers that an administrator has set.
func (p *Plan) managed(f *File) {
	for _, part := range f.Parts {
		var names []string
		for _, t := range part.Taken {
			names = append(names, t.Name)
		}
		for _, l := range part.Left {
			names = append(names, l.Name)
		}
		if len(names) > 0 {
			p.Notes = append(p.Notes, Note{part.Host, f.Path, "an administrator has set servers that pass weir by: " + strings.Join(names, ", "),
				"ask the administrator to put weir in front of them", true})
		}
	}
}

// planFile reads a file and says how it would change.
func (i *Installer) planFile(s spec) (*File, error) {
	target, src, err := read(s.path, s.project)
	if err != nil {
		return nil, err
	}
	f := &File{Path: s.path, Format: s.file.Format, spec: s, target: target, before: src, after: src}
	for _, row := range s.files {
		lists, err := hostfile.Lists(row.Format, f.after, row.List)
		if err != nil {
			return nil, err
		}
		for _, list := range lists {
			one := s
			one.file = row
			if err := i.planList(f, one, list); err != nil {
				return nil, err
			}
		}
	}
	return f, nil
}

// lister returns one for a list.
func (i *Installer) lister(s spec, list []string) *lister {
	l := &lister{Installer: i, spec: s, part: Part{Host: s.host.ID, Scope: s.file.Scope, Project: s.project, List: list}, vars: map[string]string{}}
	if star := slices.Index(s.file.List, "*"); star >= 0 {
		l.part.Project = list[star]
	}
	l.part.Config = filepath.Join(i.configDir(s, list), "weir.yaml")
	return l
}

// planList adds the change of one list to those of the file.
func (i *Installer) planList(f *File, s spec, of hostfile.List) (err error) {
	if len(of.Entries) == 0 {
		return nil
	}
	list, l := of.Path, i.lister(s, of.Path)
	if l.off, err = disabled(f.Format, f.after, s.file, list); err != nil {
		return err
	}
	for _, e := range of.Entries {
		l.sort(e)
	}
	if err := l.finish(); err != nil {
		return err
	}
	defer func() { f.Parts = append(f.Parts, l.part) }()
	if len(l.part.Taken) == 0 && l.part.Stale == "" || s.file.Scope == hosts.Managed {
		return nil
	}
	change := hostfile.Change{List: list, Put: []hostfile.Entry{l.entry}}
	for _, t := range l.part.Taken {
		change.Remove = append(change.Remove, t.Name)
	}
	after, err := hostfile.Replace(f.Format, f.after, change)
	if err != nil {
		return err
	}
	f.after = after
	return nil
}

// disabled returns the names of servers that a file disables outside of their list.
func disabled(f hosts.Format, src []byte, row hosts.File, list []string) (names []string, err error) {
	for _, path := range row.Off {
		path = slices.Clone(path)
		if i := slices.Index(path, "*"); i >= 0 {
			path[i] = list[i]
		}
		more, err := hostfile.Texts(f, src, path)
		if err != nil {
			return nil, err
		}
		names = append(names, more...)
	}
	return names, nil
}

// signature tells one set of servers and changes from another.
func (f *File) signature() string {
	var b strings.Builder
	for _, p := range f.Parts {
		fmt.Fprintf(&b, "%q %q %q\n%s\n", p.List, p.Entry, p.Stale, p.configText)
		for _, t := range p.Taken {
			fmt.Fprintf(&b, "%q %s\n", t.Name, t.value)
		}
	}
	return b.String()
}

// configDir returns the directory of the configuration for a list.
func (i *Installer) configDir(s spec, list []string) string {
	name := fmt.Sprintf("%s-%s", s.host.ID, s.file.Scope)
	if s.file.Scope != hosts.User || s.nth > 0 {
		sum := sha256.Sum256([]byte(s.path + "\x00" + fmt.Sprintf("%q", list)))
		name += "-" + hex.EncodeToString(sum[:4])
	}
	return filepath.Join(i.opts.State, "hosts", name)
}
