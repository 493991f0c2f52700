package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// A plan selects the measurements and their duration.
type plan struct {
	Cells   []cell
	Starts  int           // of each way; none: starts are not measured
	Slice   time.Duration // of one turn of one way; each caller makes one call at least
	Cell    time.Duration // of all turns in one cell; each way has two turns at least
	Profile string        // directory for profiles; "" for none
}

// A sample holds the measurements of one way in one cell.
type sample struct {
	latencies []time.Duration
	busy      time.Duration // the sum of the slices
	used      usage         // mallocs and bytes by the calls; peak since the process began
	before    int64         // the peak when the process had done nothing but the handshake and small calls
}

// run measures every cell.
func (p *plan) run(ctx context.Context) (*report, error) {
	dir, err := os.MkdirTemp("", "weir-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	r := newReport()
	for i := 0; i < len(p.Cells); {
		group := p.Cells[i : i+1]
		for next := i + 1; next < len(p.Cells) && p.Cells[next].shares(group[0]); next++ {
			group = p.Cells[i : next+1]
		}
		if err := p.group(ctx, dir, group, r); err != nil {
			return nil, err
		}
		i += len(group)
	}
	return r, p.starts(ctx, dir, r)
}

// group measures cells that share processes.
func (p *plan) group(ctx context.Context, dir string, cells []cell, r *report) error {
	var open []*way
	defer func() {
		for _, w := range open {
			w.close()
		}
	}()
	idle := map[string]int64{}
	for _, name := range cells[0].ways() {
		profile := ""
		if p.Profile != "" {
			profile = filepath.Join(p.Profile, strings.ReplaceAll(cells[0].name(), "/", "-")+"-"+name)
		}
		w, err := openWay(ctx, name, cells[0], dir, profile)
		if err != nil {
			return err
		}
		open = append(open, w)
		if idle[name], err = w.warm(); err != nil {
			return fmt.Errorf("first calls of %s: %w", name, err)
		}
	}
	for _, c := range cells {
		samples, err := p.cell(ctx, c, open)
		if err != nil {
			return fmt.Errorf("measuring %v: %w", c, err)
		}
		for name, s := range samples {
			s.before = idle[name]
		}
		r.add(c, samples)
	}
	return nil
}

// warm makes a few small calls and returns the peak of memory after them.
func (w *way) warm() (int64, error) {
	if err := w.grow(1); err != nil {
		return 0, err
	}
	for range 20 {
		if err := w.callers[0].call(64); err != nil {
			return 0, err
		}
	}
	u, err := w.usage()
	return u.Peak, err
}

// cell lets the ways take turns until the time is over.
func (p *plan) cell(ctx context.Context, c cell, open []*way) (map[string]*sample, error) {
	samples := map[string]*sample{}
	for _, w := range open {
		if err := w.grow(c.Callers); err != nil {
			return nil, err
		}
		samples[w.name] = new(sample)
		if err := turn(ctx, w, c, 0, new(sample)); err != nil { // the first is not like the others
			return nil, fmt.Errorf("%s: %w", w.name, err)
		}
	}
	slice, end := p.Slice, time.Now().Add(p.Cell)
	if c.Paced { // in which there are few calls
		slice, end = 4*slice, time.Now().Add(3*p.Cell)
	}
	for round := 0; round < 2 || time.Now().Before(end); round++ {
		for i := range open {
			w := open[(i+round)%len(open)] // so that none is always after the same
			if err := turn(ctx, w, c, slice, samples[w.name]); err != nil {
				return nil, fmt.Errorf("%s: %w", w.name, err)
			}
		}
	}
	return samples, nil
}

// turn has all callers of a way call for one slice, and adds the measurements to s.
func turn(ctx context.Context, w *way, c cell, slice time.Duration, s *sample) error {
	before, err := w.usage()
	if err != nil {
		return err
	}
	latencies := make([][]time.Duration, c.Callers)
	errs := make([]error, c.Callers)
	var wg sync.WaitGroup
	began := time.Now()
	for i, caller := range w.callers[:c.Callers] {
		wg.Go(func() {
			for last := began; ctx.Err() == nil; {
				if errs[i] = caller.call(c.Size); errs[i] != nil {
					return
				}
				now := time.Now()
				latencies[i] = append(latencies[i], now.Sub(last))
				if now.Sub(began) >= slice {
					return
				}
				if c.Paced {
					time.Sleep(pace - now.Sub(last))
					now = time.Now()
				}
				last = now
			}
		})
	}
	wg.Wait()
	s.busy += time.Since(began)
	for i := range errs {
		if errs[i] != nil {
			return errs[i]
		}
		s.latencies = append(s.latencies, latencies[i]...)
	}
	after, err := w.usage()
	s.used.Peak = max(s.used.Peak, after.Peak)
	s.used.Mallocs += max(0, after.Mallocs-before.Mallocs)
	s.used.Bytes += max(0, after.Bytes-before.Bytes)
	return cmp.Or(err, ctx.Err())
}
