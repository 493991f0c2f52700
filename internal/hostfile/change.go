package hostfile

import (
	"fmt"
	"slices"
)

// An Error is a reason why a file cannot be read or edited. It quotes no value of the file.
type Error struct {
	Line int // from 1; 0: the whole file
	Col  int
	Msg  string
	Hint string
}

// Error implements error.
func (e *Error) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("line %d: %s", e.Line, e.Msg)
	}
	return e.Msg
}

// An Entry is one server of a list.
type Entry struct {
	Name  string
	Value []byte // JSON, for any format of the file
}

// A Change is one edit of a list of servers.
type Change struct {
	List   []string // the members that lead to the list
	Remove []string // entries that go
	Put    []Entry  // entries that come, or replace those of the same name
	From   []byte   // an earlier text of the file, for Back
	Back   []string // entries of From that come back as they were written there, unless there are some of the same name

	returned map[string]any // the values of Back, by name
}

// goes reports whether the change takes an entry out.
func (c *Change) goes(name string) bool {
	return slices.Contains(c.Remove, name) || slices.ContainsFunc(c.Put, func(e Entry) bool { return e.Name == name })
}
