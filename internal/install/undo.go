package install

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/internal/hostfile"
	"github.com/weir-mcp/weir/internal/importer"
)

// A Removal is how one file of a host gets its own servers back.
type Removal struct {
	Hosts []string // ids
	Path  string
	Exact bool     // it becomes what it was, byte for byte
	Gone  bool     // the file is not there any more
	Back  []string // servers that come back
	Err   error    // it cannot be done; nothing changes

	records []*record
	target  string
	before  []byte
	after   []byte
	deletes bool              // weir install made the file
	configs map[string]string // digest by path
}

// Removals returns how the files of hosts get their own servers back.
func (i *Installer) Removals(s Selection) ([]*Removal, error) {
	all, err := i.journal.records()
	if err != nil {
		return nil, err
	}
	var removals []*Removal
	for n := len(all) - 1; n >= 0; n-- {
		r := all[n]
		if !slices.ContainsFunc(r.hosts(), s.has) {
			continue
		}
		at := slices.IndexFunc(removals, func(m *Removal) bool { return m.Path == r.Path })
		if at < 0 {
			removals = append(removals, begin(r))
			at = len(removals) - 1
		}
		removals[at].undo(r)
	}
	slices.SortFunc(removals, func(a, b *Removal) int { return strings.Compare(a.Path, b.Path) })
	return removals, nil
}

// begin reads the file that a record is about.
func begin(r *record) *Removal {
	m := &Removal{Path: r.Path, Exact: true, configs: map[string]string{}}
	m.target, m.before, m.Err = read(r.Path, r.Project)
	if errors.Is(m.Err, fs.ErrNotExist) {
		m.Gone, m.Err = true, nil
	}
	if m.Err == nil && !m.Gone && m.target != r.Target {
		m.Err = fmt.Errorf("it leads to %s now, and led to %s", m.target, r.Target)
	}
	m.after = m.before
	return m
}

// undo takes back one change, the newest first.
func (m *Removal) undo(r *record) {
	m.records = append(m.records, r)
	for _, id := range r.hosts() {
		if !slices.Contains(m.Hosts, id) {
			m.Hosts = append(m.Hosts, id)
		}
	}
	for _, p := range r.Parts {
		if _, known := m.configs[p.Config]; !known && p.Digest != "" {
			m.configs[p.Config] = p.Digest
		}
		for _, name := range p.Taken {
			if !slices.Contains(m.Back, name) {
				m.Back = append(m.Back, name)
			}
		}
	}
	switch {
	case m.Err != nil || m.Gone:
	case digest(m.after) == r.After:
		m.after, m.deletes = r.Before, r.Created
	case digest(m.after) == digest(r.Before) && !r.Created:
	default:
		m.Exact = false
		switch {
		case r.Hooks != nil && r.Hooks.Plugin && isPlugin(m.after):
			m.after, m.deletes = r.Before, r.Created
			return
		case r.Hooks != nil && r.Hooks.Plugin:
			m.Err = errors.New("it is no plugin that weir install wrote any more: see to it yourself")
			return
		case r.Hooks != nil && len(r.Hooks.Setting) > 0:
			m.after, m.Err = r.unset(m.after)
			return
		case r.Hooks != nil:
			m.after, m.Err = hostfile.Without(r.Format, m.after, r.Before, r.Hooks.Added)
			return
		}
		for n := len(r.Parts) - 1; n >= 0 && m.Err == nil; n-- {
			m.after, m.Err = undoPart(r, r.Parts[n], m.after)
		}
	}
}

// undoPart takes Weir's entry out of a text that the host has rewritten, and puts servers back that are not there.
func undoPart(r *record, p recordPart, text []byte) ([]byte, error) {
	entries, err := hostfile.Entries(r.Format, text, p.List)
	if err != nil {
		return text, err
	}
	change := hostfile.Change{List: p.List, From: r.Before, Back: p.Taken}
	for _, e := range entries {
		if e.Name == p.Entry && p.Added && slices.Contains(importer.Read(e.Name, e.Value).Server.Args, p.Config) {
			change.Remove = []string{e.Name}
		}
	}
	missing := slices.ContainsFunc(p.Taken, func(name string) bool {
		return !slices.ContainsFunc(entries, func(e hostfile.Entry) bool { return e.Name == name && !slices.Contains(change.Remove, name) })
	})
	switch {
	case !missing && len(change.Remove) == 0:
		return text, nil
	case r.Project != "" && p.Added && len(change.Remove) == 0:
		return text, fmt.Errorf("weir's entry is not in it, so that it may be another project's; the file as it was is in %s, in base64", r.file)
	}
	after, err := hostfile.Replace(r.Format, text, change)
	if err != nil {
		return text, fmt.Errorf("%w; the file as it was is in %s, in base64", err, r.file)
	}
	return after, nil
}

// Deletes reports whether the file goes, since it was made for Weir's hooks and holds nothing else.
func (m *Removal) Deletes() bool { return m.deletes && m.Changes() }

// OfHooks reports whether the file is one of hooks.
func (m *Removal) OfHooks() bool {
	return slices.ContainsFunc(m.records, func(r *record) bool { return r.Hooks != nil })
}

// Changes reports whether the file is to change.
func (m *Removal) Changes() bool { return m.Err == nil && string(m.before) != string(m.after) }

// Remove gives a file its own servers back, and takes the change out of the journal. It returns configurations of Weir that stay,
// since somebody has changed them. What the host writes meanwhile is kept.
func (i *Installer) Remove(m *Removal) (kept []string, err error) {
	unlock, err := i.journal.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	for range attempts {
		if err = m.apply(); !errors.Is(err, errChanged) {
			break
		}
		again := begin(m.records[0])
		for _, r := range m.records {
			again.undo(r)
		}
		*m = *again
	}
	if err != nil {
		return nil, err
	}
	for _, r := range m.records {
		if err := os.Remove(r.file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	for _, path := range slices.Sorted(maps.Keys(m.configs)) {
		text, err := os.ReadFile(path)
		switch {
		case err == nil && digest(text) == m.configs[path]:
			err = os.Remove(path)
		case err == nil:
			kept = append(kept, path)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return kept, err
		}
	}
	return kept, nil
}

// apply writes the file.
func (m *Removal) apply() error {
	if !m.Changes() {
		return m.Err
	}
	err := error(nil)
	if m.deletes {
		err = remove(m.target, m.before)
	} else {
		err = replace(m.target, m.before, m.after)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", m.Path, err)
	}
	return nil
}
