package install

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/internal/hostfile"
	"github.com/weir-mcp/weir/internal/hosts"
	"github.com/weir-mcp/weir/internal/rawjson"
)

// planSetting says how the user's settings would change, for a host that reads the file of its hooks only if these
// name it.
func planSetting(i *Installer, h hosts.Host) (*HookFile, error) {
	s := h.Hooks.Setting
	path, ok := s.File.Resolve(i.opts.Machine)
	if !ok {
		return nil, errors.New("it is not known where the settings are")
	}
	f := &HookFile{Host: h, Path: path, Setting: s}
	var err error
	f.target, f.before, err = read(path, "")
	src := f.before
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.target, src = path, []byte("{\n}\n")
		if info, err := os.Lstat(path); err == nil {
			return f, fmt.Errorf("it is a %s that leads nowhere", info.Mode().Type())
		}
	case err != nil:
		return f, err
	}
	entries, err := hostfile.Entries(s.File.Format, src, s.File.List)
	if err != nil {
		return f, err
	}
	f.Absent = !slices.ContainsFunc(entries, func(e hostfile.Entry) bool { return e.Name == s.Name && string(e.Value) == "true" })
	data := hostfile.Standard(src)
	f.Off = !f.Absent && Unread(h, data)
	also, _ := rawjson.Get(data, s.Also)
	f.Borrows = string(also) == "true"
	if f.after = src; f.Absent {
		put := hostfile.Change{List: s.File.List, Put: []hostfile.Entry{{Name: s.Name, Value: []byte("true")}}}
		f.after, err = hostfile.Replace(s.File.Format, src, put)
	}
	return f, err
}

// Unread reports whether settings keep a host from reading the file of its hooks.
func Unread(h hosts.Host, src []byte) bool {
	s := h.Hooks.Setting
	if s == nil {
		return false
	}
	if use, ok := rawjson.Get(src, s.Use); ok && string(use) != "true" {
		return true
	}
	places, ok := rawjson.Get(src, s.File.List...)
	read, named := rawjson.Get(places, s.Name)
	return ok && rawjson.Kind(places) != '{' || named && string(read) != "true"
}

// unset takes the setting of a record out of a text that the user has changed since, or gives it the value that it had.
func (r *record) unset(text []byte) ([]byte, error) {
	at := len(r.Hooks.Setting) - 1
	list, name := r.Hooks.Setting[:at], r.Hooks.Setting[at]
	entries, err := hostfile.Entries(r.Format, text, list)
	if err != nil || !slices.ContainsFunc(entries, func(e hostfile.Entry) bool { return e.Name == name }) {
		return text, err
	}
	change := hostfile.Change{List: list, Remove: []string{name}}
	if !r.Created {
		change.From, change.Back = r.Before, []string{name}
	}
	return hostfile.Replace(r.Format, text, change)
}

// member returns the way to the member of a setting.
func member(s *hosts.Setting) []string { return append(slices.Clone(s.File.List), s.Name) }

// settingDiff returns the line of a difference that adds or takes out a setting.
func settingDiff(sign string, way []string) string {
	return fmt.Sprintf("%s %s: true", sign, strings.Join(way, "."))
}
