// Package demo shows the harm that a hijacked agent does, and a guard that prevents it.
//
// [Run] tells each of the [Scenarios] twice: once with the agent connected to the servers directly, once through a
// guard such as weir run. Every telling gets a [World] of its own, with real MCP servers as processes (package
// servers), a web site on a loopback address, and an agent that obeys every instruction it reads (package agent). The
// user is played by someone who agrees to what the task is about and declines everything else.
//
// Whether an attack succeeded is read from the world afterwards: the outbox, what the attacker's host was sent, the
// files, the rows of the database. The word of a guard is shown, and a guard that stopped an attack must have said so,
// but that nothing happened is never concluded from it.
//
//	report, err := demo.Run(ctx, demo.Options{Guarded: demo.Command("weir", "run", "--config", "{config}")})
//
// Nothing leaves the machine, and nothing is touched outside of a temporary directory.
package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
)

// Options says how the scenarios are told. The zero Options tells all of them without a guard.
type Options struct {
	Guarded   Connect               // the way through the guard; nil tells the scenarios without one only
	Unguarded Connect               // the way without; nil means Direct()
	Hidden    bool                  // the guard hides results that anyone could have written, and nobody answers its questions
	Protocol  string                // revision of the protocol that the agent asks for; "" means the newest
	Only      []string              // ids of the scenarios to tell; empty means all
	Exe       string                // the program that serves with the arguments of World.Server; "" means this program
	TempDir   string                // where worlds get their directories; "" means the system's directory for them
	Observe   func(n int, s *Story) // called after each story, n counting from 1; nil calls nothing
}

// Run tells the scenarios one after the other and reports the outcome. An error means that they could not be told;
// that something in them did not go as it should is in the report, see [Report.OK].
func Run(ctx context.Context, opts Options) (*Report, error) {
	if opts.Unguarded == nil {
		opts.Unguarded = Direct()
	}
	if opts.Exe == "" {
		exe, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("finding this program: %w", err)
		}
		opts.Exe = exe
	}
	chosen, err := choose(Scenarios(), opts.Only)
	if err != nil {
		return nil, err
	}
	report := &Report{Version: reportVersion}
	for i, s := range chosen {
		story := &Story{ID: s.ID, Title: s.Title, Origin: s.Origin, Task: s.Task, Attack: len(s.Attack) > 0}
		if story.Without, err = (&stage{s, opts, opts.Unguarded}).tell(ctx); err != nil {
			return nil, fmt.Errorf("scenario %q without a guard: %w", s.ID, err)
		}
		judge(s, story.Without, unguarded)
		if opts.Guarded != nil {
			if story.With, err = (&stage{s, opts, opts.Guarded}).tell(ctx); err != nil {
				return nil, fmt.Errorf("scenario %q with a guard: %w", s.ID, err)
			}
			judge(s, story.With, guardedBy(opts.Hidden))
		}
		report.add(story)
		if opts.Observe != nil {
			opts.Observe(i+1, story)
		}
	}
	return report, nil
}

// choose returns the scenarios with the given ids, in their own order; all of them for none.
func choose(all []Scenario, ids []string) ([]Scenario, error) {
	for _, id := range ids {
		if !slices.ContainsFunc(all, func(s Scenario) bool { return s.ID == id }) {
			return nil, fmt.Errorf("unknown scenario %q", id)
		}
	}
	if len(ids) == 0 {
		return all, nil
	}
	return slices.DeleteFunc(all, func(s Scenario) bool { return !slices.Contains(ids, s.ID) }), nil
}

// A stage is everything that one telling needs.
type stage struct {
	scenario Scenario
	opts     Options
	connect  Connect
}

// tell plays the scenario in a new world and looks for the evidence.
func (s *stage) tell(ctx context.Context) (telling *Telling, err error) {
	dir, err := os.MkdirTemp(s.opts.TempDir, "weir-demo-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	world, err := NewWorld(dir, s.opts.Exe, s.opts.Hidden)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, world.Close()) }()

	telling = new(Telling)
	if err := s.play(ctx, world, telling); err != nil {
		return nil, err
	}
	for _, e := range s.scenario.Attack {
		found, err := world.Happened(e)
		if err != nil {
			return nil, fmt.Errorf("looking for evidence: %w", err)
		}
		telling.Evidence = append(telling.Evidence, Evidence{What: e.describe(found), Found: found})
	}
	return telling, nil
}
