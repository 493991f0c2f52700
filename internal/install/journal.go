package install

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"

	"github.com/weir-mcp/weir/internal/hostfile"
	"github.com/weir-mcp/weir/internal/hosts"
)

// A record is one change of a file of a host. It is in the journal before the change is made.
type record struct {
	Version int          `json:"v"`
	Time    time.Time    `json:"time"`
	Path    string       `json:"path"`
	Target  string       `json:"target"`            // where links led
	Project string       `json:"project,omitempty"` // for files of a project
	Format  hosts.Format `json:"format"`
	Before  []byte       `json:"before"` // the whole file
	After   string       `json:"after"`  // the digest of the file that was written
	Created bool         `json:"created,omitempty"`
	Parts   []recordPart `json:"parts,omitempty"`
	Hooks   *recordHooks `json:"hooks,omitempty"` // nil: the file is one of servers

	file string // of the journal
}

// A recordPart is the change of one list of servers.
type recordPart struct {
	Host   string      `json:"host"`
	Scope  hosts.Scope `json:"scope"`
	List   []string    `json:"list"`
	Entry  string      `json:"entry"`
	Added  bool        `json:"added"` // the entry was new
	Taken  []string    `json:"taken"`
	Config string      `json:"config"`
	Digest string      `json:"config_digest"` // of the configuration as it was written; "" if it was not
}

// A recordHooks is the change of the hooks of a host.
type recordHooks struct {
	Host  string             `json:"host"`
	Added []hostfile.Element `json:"added"`

	Plugin  bool     `json:"plugin,omitempty"`  // the whole file is Weir's
	Setting []string `json:"setting,omitempty"` // the way to the member of the settings that was made true
}

// hosts returns the ids of the hosts whose files the record is about.
func (r *record) hosts() (ids []string) {
	for _, p := range r.Parts {
		ids = append(ids, p.Host)
	}
	if r.Hooks != nil {
		ids = append(ids, r.Hooks.Host)
	}
	return ids
}

// A journal is the directory with the records of the changes.
type journal string

// records returns the journal, the oldest change first.
func (j journal) records() ([]*record, error) {
	names, err := os.ReadDir(string(j))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []*record
	for _, n := range names {
		if !strings.HasSuffix(n.Name(), ".json") {
			continue
		}
		path := filepath.Join(string(j), n.Name())
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		r := &record{file: path}
		if err := json.Unmarshal(text, r); err != nil || r.Version != 1 {
			return nil, fmt.Errorf("%s is no record that this weir can read", path)
		}
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *record) int { return strings.Compare(a.file, b.file) })
	return all, nil
}

// note adds a record to the journal.
func (j journal) note(r *record, now time.Time) error {
	all, err := j.records()
	if err != nil {
		return err
	}
	next := 1
	if len(all) > 0 {
		if _, err := fmt.Sscanf(filepath.Base(all[len(all)-1].file), "%d.json", &next); err != nil {
			return fmt.Errorf("%s has no number for a name", all[len(all)-1].file)
		}
		next++
	}
	r.Version, r.Time = 1, now.UTC()
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	r.file = filepath.Join(string(j), fmt.Sprintf("%08d.json", next))
	return writeOwn(r.file, append(text, '\n'))
}

// lock keeps other installers out.
func (j journal) lock() (unlock func(), err error) {
	if err := os.MkdirAll(string(j), 0o700); err != nil {
		return nil, err
	}
	return lockedfile.MutexAt(filepath.Join(string(j), "lock")).Lock()
}
