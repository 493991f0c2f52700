package main

import (
	"cmp"
	"fmt"
)

// A cell is one situation in which the ways are compared.
type cell struct {
	Transport string `json:"transport"`
	Tool      string `json:"tool,omitempty"` // of a trusted server: plain or change; empty: read of one that is not trusted
	Size      int    `json:"bytes"`          // of a result
	Callers   int    `json:"callers"`
}

func (c cell) String() string {
	return fmt.Sprintf("%s/%s/%d", c.name(), sizeName(c.Size), c.Callers)
}

// name returns the name of the cell without its numbers.
func (c cell) name() string { return cmp.Or(c.Tool, c.Transport) }

// shares reports whether the ways of two cells are the same processes.
func (c cell) shares(o cell) bool {
	c.Callers = o.Callers
	return c == o
}

func sizeName(n int) string {
	if n >= 1<<20 {
		return fmt.Sprintf("%dMiB", n>>20)
	}
	return fmt.Sprintf("%dKiB", n>>10)
}

// ways are those that are compared in the cell, in the order in which they take turns. The second is what ratios are
// to.
func (c cell) ways() []string {
	if c.Tool != "" {
		return []string{direct, unrecorded, weirOn, disk}
	}
	return []string{direct, relay, weirOff, weirOn}
}

// The ways from the client to the server.
const (
	direct  = "direct"
	relay   = "relay"
	weirOff = "weir-off"
	weirOn  = "weir-on"

	unrecorded = "unrecorded" // Weir as it is by default, but for the record: state is on disk
	disk       = "disk"       // no server: each call appends as much as an event has to a file, and syncs it
)
