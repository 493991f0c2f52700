package main

import (
	"fmt"
	"time"
)

// A cell is one situation in which the ways are compared.
type cell struct {
	Transport string `json:"transport"`
	Tool      string `json:"tool"`  // that is called
	Size      int    `json:"bytes"` // of a result
	Callers   int    `json:"callers"`
	Paced     bool   `json:"paced,omitempty"` // a caller makes a call every pace, as agents do, and not one after the other
}

// pace is the time from one call of a paced caller to the next.
const pace = 20 * time.Millisecond

func (c cell) String() string {
	name := c.name()
	if c.Callers > 0 {
		name += fmt.Sprintf("/%d", c.Callers)
	}
	if c.Paced {
		name += "/paced"
	}
	return name
}

// name returns the name of the cell without its callers.
func (c cell) name() string {
	if c.Transport == starting {
		return c.Transport + "/" + c.Tool
	}
	return fmt.Sprintf("%s/%s/%s", c.Transport, c.Tool, sizeName(c.Size))
}

// shares reports whether the ways of two cells are the same processes.
func (c cell) shares(o cell) bool { return c.name() == o.name() }

func sizeName(n int) string {
	if n >= 1<<20 {
		return fmt.Sprintf("%dMiB", n>>20)
	}
	return fmt.Sprintf("%dKiB", n>>10)
}

// ways are those that are compared in the cell, in the order in which they take turns. Ratios are to the relay.
func (c cell) ways() []string {
	all := []string{direct, relay, weirOff, weirOn}
	if c.Transport == starting && c.Tool == version {
		return []string{weirOn}
	}
	if c.Transport == stdio && c.Tool == toolChange && c.Size == small {
		all = append(all, disk)
	}
	return all
}

// The ways from the client to the server.
const (
	direct  = "direct"
	relay   = "relay"
	weirOff = "weir-off" // in audit mode, without a record, and with state in memory
	weirOn  = "weir-on"  // as it is by default

	disk = "disk" // no server: each call appends as much as an event has to a file, and syncs it
)

// The tools of the server, see there.
const (
	toolPlain  = "plain"
	toolChange = "change"
)

// The transports.
const (
	stdio     = "stdio"
	streaming = "http"
)

// Starts have cells of their own, with one of these in the place of a tool.
const (
	starting = "start"

	instant = "instant" // to the first list of tools of a server that begins at once
	slow    = "50ms"    // to that of one that takes so long to begin
	version = "version" // to the end of weir version
)

// The sizes of results.
const (
	small  = 1 << 10
	medium = 100 << 10
	large  = 10 << 20
)

// manyCallers is how many callers make a crowd.
const manyCallers = 16

// allCells are those of a full run. Those that differ in callers and pace only follow each other, and share processes.
func allCells() []cell {
	return []cell{
		{stdio, toolPlain, small, 1, false}, {stdio, toolPlain, small, manyCallers, false},
		{stdio, toolChange, small, 1, false}, {stdio, toolChange, small, manyCallers, false},
		{stdio, toolPlain, medium, 1, false}, {stdio, toolPlain, medium, 1, true}, {stdio, toolPlain, medium, manyCallers, false},
		{stdio, toolChange, medium, 1, false}, {stdio, toolChange, medium, 1, true},
		{stdio, toolPlain, large, 1, false}, {stdio, toolPlain, large, manyCallers, false},
		{streaming, toolPlain, small, 1, false}, {streaming, toolPlain, small, manyCallers, false},
		{streaming, toolChange, small, 1, false}, {streaming, toolChange, small, manyCallers, false},
		{streaming, toolPlain, medium, 1, false}, {streaming, toolPlain, medium, manyCallers, false},
		{streaming, toolPlain, large, 1, false},
	}
}
