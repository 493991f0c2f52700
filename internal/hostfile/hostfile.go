// Package hostfile reads and edits the lists of servers in configuration files of hosts, in JSON with and without
// comments, TOML and YAML. An edit changes the entries that it names and nothing else: comments, spacing and members
// that nobody here knows stay as they are, byte for byte.
//
//	entries, err := hostfile.Entries(hosts.JSON, src, []string{"mcpServers"})
//	src, err = hostfile.Replace(hosts.JSON, src, hostfile.Change{
//		List: []string{"mcpServers"}, Remove: []string{"files"}, Put: []hostfile.Entry{{Name: "weir", Value: value}},
//	})
//
// Each edit is read again before it counts. One whose meaning is not the old one with exactly this change is an error.
// So a spelling that an editor here does not understand is refused and never damaged.
//
// Files are hostile input: they are read within the limits of their parsers, and nothing in them is followed or
// started.
package hostfile

import (
	"bytes"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/internal/hosts"
)

// Entries returns the servers of a list, in its order; none if there is no list.
func Entries(f hosts.Format, src []byte, list []string) ([]Entry, error) {
	root, err := decode(f, src)
	if err != nil {
		return nil, err
	}
	return entriesOf(root, list)
}

// Texts returns the texts of an array of texts; none if it is not there.
func Texts(f hosts.Format, src []byte, path []string) (texts []string, err error) {
	root, err := decode(f, src)
	if err != nil {
		return nil, err
	}
	switch v := at(root, path).(type) {
	case nil:
	case []any:
		for _, e := range v {
			text, ok := e.(string)
			if !ok {
				return nil, &Error{Msg: strings.Join(path, ".") + " must be a list of names"}
			}
			texts = append(texts, text)
		}
	default:
		return nil, &Error{Msg: strings.Join(path, ".") + " must be a list of names"}
	}
	return texts, nil
}

// A List is a list of servers in a file.
type List struct {
	Path    []string // the members that lead to it
	Entries []Entry
}

// Lists returns the lists that a path with * stands for in a file; for one without *, this one, which may be empty.
func Lists(f hosts.Format, src []byte, pattern []string) ([]List, error) {
	root, err := decode(f, src)
	if err != nil {
		return nil, err
	}
	paths := [][]string{pattern}
	if star := slices.Index(pattern, "*"); star >= 0 {
		paths = nil
		around, _ := at(root, pattern[:star]).(map[string]any)
		for _, name := range slices.Sorted(keys(around)) {
			list := slices.Concat(pattern[:star], []string{name}, pattern[star+1:])
			if at(root, list) != nil {
				paths = append(paths, list)
			}
		}
	}
	var lists []List
	for _, p := range paths {
		entries, err := entriesOf(root, p)
		if err != nil {
			return nil, err
		}
		lists = append(lists, List{p, entries})
	}
	return lists, nil
}

// Replace returns the text with a list changed.
func Replace(f hosts.Format, src []byte, c Change) ([]byte, error) {
	before, err := decode(f, src)
	if err != nil {
		return nil, err
	}
	if err := c.takeBack(f, before); err != nil {
		return nil, err
	}
	bom := src[:len(src)-len(bytes.TrimPrefix(src, byteOrderMark))]
	out, err := editors[f](src[len(bom):], c)
	if err != nil {
		return nil, err
	}
	out = slices.Concat(bom, out)
	after, err := decode(f, out)
	if err == nil && sameBut(c.List, after, c.applied(before)) {
		return out, nil
	}
	return nil, &Error{Msg: "the servers are written in a way that cannot be edited here: " + strings.Join(c.List, "."),
		Hint: "change the file by hand"}
}

var byteOrderMark = []byte("\ufeff")

var editors = map[hosts.Format]func([]byte, Change) ([]byte, error){
	hosts.JSON: editJSON, hosts.JSONC: editJSON, hosts.TOML: editTOML, hosts.YAML: editYAML,
}

// decoders read the text of a file without its byte order mark.
var decoders = map[hosts.Format]func([]byte) (any, error){
	hosts.JSON: decodeJSON, hosts.JSONC: decodeJSONC, hosts.TOML: decodeTOML, hosts.YAML: decodeYAML,
}

// takeBack leaves out of Back the entries that are there.
func (c *Change) takeBack(f hosts.Format, before any) error {
	if len(c.Back) == 0 {
		return nil
	}
	there, err := entriesOf(before, c.List)
	if err != nil {
		return err
	}
	earlier, err := Entries(f, c.From, c.List)
	if err != nil {
		return err
	}
	c.Back = slices.DeleteFunc(slices.Clone(c.Back), func(name string) bool {
		known := func(e Entry) bool { return e.Name == name }
		return slices.ContainsFunc(there, known) && !slices.Contains(c.Remove, name) || !slices.ContainsFunc(earlier, known)
	})
	c.returned = map[string]any{}
	for _, e := range earlier {
		if slices.Contains(c.Back, e.Name) {
			c.returned[e.Name] = valueOf(e.Value)
		}
	}
	c.From = bytes.TrimPrefix(c.From, byteOrderMark)
	return nil
}
