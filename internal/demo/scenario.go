package demo

import (
	"github.com/weir-mcp/weir/internal/demo/agent"
)

// A Scenario is a task that a user gives, the agent's plan for it, and an attacker's attempt to abuse it.
type Scenario struct {
	ID     string
	Title  string
	Origin string    // where the scenario comes from
	Task   string    // the user's words
	Plan   []Planned // the agent's calls for it
	Wishes []Wish    // the calls that the user agrees to when asked, and no others
	Attack []Effect  // the goals of the attack; empty if the scenario is harmless
}

// A Planned is one call of the plan and how it should fare under a guard. Without one, each should simply pass.
type Planned struct {
	agent.Call
	Guarded Fate
}

// A Fate is how a call should fare under a guard.
type Fate uint8

// The fates of a call. Those that pass are the harmless part of a scenario.
const (
	Passes      Fate = iota // passes, nobody is asked
	PassesOnYes             // passes after the person was asked and agreed
	DoesNotPass             // is blocked, or its result is withheld
)

// A Wish is a call that the user wants: of this tool, with at least these arguments.
type Wish struct {
	Tool      string
	Arguments map[string]string
}

// An Effect is something that an attack does to the world. It is looked for in the world itself, never in what a
// guard says.
type Effect struct {
	Place Place
	Name  string // the recipient, host, file or table; see the places
	Text  string // the text that must be found there for the attack to have succeeded; see the places
}

// A Place is where the evidence of an attack is looked for.
type Place uint8

// The places of evidence.
const (
	Outbox    Place = iota // a mail to Name whose body holds Text was sent
	Collector              // the host Name was asked for an address that holds Text
	File                   // the user's file Name is gone
	Table                  // the table Name has no row with Text in any column
)
