package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"
)

// starts measures the time from the start of a way. The ways take turns.
func (p *plan) starts(ctx context.Context, dir string, r *report) error {
	cells := []cell{{Transport: starting, Tool: instant}, {Transport: starting, Tool: slow}, {Transport: starting, Tool: version}}
	samples := make([]map[string]*sample, len(cells))
	for i := range samples {
		samples[i] = map[string]*sample{}
	}
	for round := range p.Starts {
		for i, c := range cells {
			for _, name := range c.ways() {
				took, err := start(ctx, name, c, dir)
				if err != nil {
					return fmt.Errorf("starting %s, %s: %w", name, c.Tool, err)
				}
				if round == 0 { // the first makes the store
					samples[i][name] = new(sample)
					continue
				}
				samples[i][name].latencies = append(samples[i][name].latencies, took)
				samples[i][name].busy += took
			}
		}
	}
	for i, c := range cells {
		if p.Starts > 0 {
			r.add(c, samples[i])
		}
	}
	return nil
}

// start starts a way, and returns how long it took to its first list of tools, or for weir version to its end.
func start(ctx context.Context, name string, c cell, dir string) (time.Duration, error) {
	w := &way{name: name}
	defer w.close()
	if c.Tool == slow {
		w.server = []string{c.Tool}
	}
	began := time.Now()
	if c.Tool == version {
		p, err := w.start(ctx, false, []string{roleArgument, "", roleWeir, "version"})
		if err != nil {
			return 0, err
		}
		out, err := io.ReadAll(p.stdout)
		if err == nil && !strings.Contains(string(out), "weir") {
			err = fmt.Errorf("no version: %s", out)
		}
		return time.Since(began), err
	}
	if err := w.openLines(ctx, dir, ""); err != nil {
		return 0, err
	}
	if err := w.client.connect(); err != nil {
		return 0, err
	}
	err := w.client.(*lineClient).list()
	return time.Since(began), err
}
