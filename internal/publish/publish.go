// Package publish brings signed checkpoints of a log to where whoever holds the log and its key cannot change them: to
// files, to URLs, and to witnesses (c2sp.org/tlog-witness), which sign that they have seen no other log of that name.
//
//	witness, err := publish.NewWitness("https://witness.example", "witness.example+…+…", log)
//	p := publish.Start(publish.Options{Log: log, Places: []publish.Place{publish.File(path, extends)}, Witnesses: …})
//	defer p.Close()
//
// What it promises: no call ever waits for it. A place that fails is tried again, with the newest checkpoint then. A
// checkpoint that the log does not extend is never overwritten, and a witness that knows another log is never
// satisfied: both are errors that are logged at each attempt, because that is the purpose of publication.
//
// A publisher has one goroutine of its own.
package publish

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/tlog"
)

// A Log is the published log. It is an audit.Log.
type Log interface {
	// Checkpoint returns a signed note over the log as it is, in the format c2sp.org/tlog-checkpoint; nil if it is
	// empty.
	Checkpoint(ctx context.Context) ([]byte, error)

	// Consistency proves that the tree over the first old entries, at least one, is a beginning of that over the first
	// size.
	Consistency(ctx context.Context, old, size int64) ([]tlog.Hash, error)
}

// A Place gets checkpoints. Its String names it in logs and holds no secret.
type Place interface {
	fmt.Stringer
	Publish(ctx context.Context, checkpoint []byte) error
}

// Options are the options of [Start].
type Options struct {
	Log       Log // required
	Witnesses []*Witness
	Places    []Place       // they get the checkpoint with the signatures of the witnesses
	Every     time.Duration // zero: a minute
	Logger    *slog.Logger  // required
}

const (
	retryAfter = 15 * time.Second // or Every, if that is sooner
	patience   = 10 * time.Second // with one place
	lastWords  = 5 * time.Second  // with all of them when the publisher is closed
)

// A Publisher publishes until it is closed.
type Publisher struct {
	opts Options
	end  context.CancelFunc
	done chan struct{}

	last    string          // the checkpoint of the last round
	signed  []byte          // the same, with the witnesses' signatures
	settled map[string]bool // who has it
}

// Start starts publishing.
func Start(opts Options) *Publisher {
	if opts.Every <= 0 {
		opts.Every = time.Minute
	}
	ctx, end := context.WithCancel(context.Background())
	p := &Publisher{opts: opts, end: end, done: make(chan struct{})}
	go p.run(ctx)
	return p
}

// Close publishes the newest checkpoint, for some seconds at most, and ends the publisher.
func (p *Publisher) Close() error {
	p.end()
	<-p.done
	ctx, cancel := context.WithTimeout(context.Background(), lastWords)
	defer cancel()
	p.round(ctx)
	return nil
}

func (p *Publisher) run(ctx context.Context) {
	defer close(p.done)
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
		wait := p.opts.Every
		if !p.round(ctx) {
			wait = min(wait, retryAfter)
		}
		pause.Reset(wait)
	}
}

// round brings the newest checkpoint to everybody who does not have it, and reports whether all have it now.
func (p *Publisher) round(ctx context.Context) bool {
	checkpoint, err := p.opts.Log.Checkpoint(ctx)
	if err != nil || checkpoint == nil {
		if err != nil && ctx.Err() == nil {
			p.opts.Logger.Error("there is no checkpoint to publish", "error", err)
		}
		return err == nil
	}
	if p.last != string(checkpoint) {
		p.last, p.signed, p.settled = string(checkpoint), checkpoint, map[string]bool{}
	}
	all := true
	for _, w := range p.opts.Witnesses {
		all = p.attempt(ctx, w.String(), func(ctx context.Context) error {
			lines, err := w.Cosign(ctx, checkpoint)
			if err == nil {
				p.signed = append(p.signed[:len(p.signed):len(p.signed)], lines...)
				p.forgetPlaces() // they get it with this signature too
			}
			return err
		}) && all
	}
	for _, place := range p.opts.Places {
		all = p.attempt(ctx, place.String(), func(ctx context.Context) error { return place.Publish(ctx, p.signed) }) && all
	}
	return all
}

func (p *Publisher) forgetPlaces() {
	for _, place := range p.opts.Places {
		delete(p.settled, place.String())
	}
}

// attempt has one place take the checkpoint unless it has it, and reports whether it has it then.
func (p *Publisher) attempt(ctx context.Context, name string, take func(context.Context) error) bool {
	if p.settled[name] {
		return true
	}
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := take(within); err != nil {
		if errors.Is(ctx.Err(), context.Canceled) {
			return false // the publisher is being closed, and tries once more
		}
		p.opts.Logger.Error("a checkpoint was not published", "to", name, "error", err)
		return false
	}
	p.settled[name] = true
	return true
}

// sizeOf returns how many entries a checkpoint is over. Its signatures are not looked at.
func sizeOf(checkpoint []byte) (int64, error) {
	lines := strings.SplitN(string(checkpoint), "\n", 4)
	if len(lines) < 4 || lines[0] == "" {
		return 0, fmt.Errorf("a checkpoint of %d lines", len(lines)-1)
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	if err != nil || size < 0 || strconv.FormatInt(size, 10) != lines[1] {
		return 0, fmt.Errorf("a checkpoint over %.20q entries", lines[1])
	}
	return size, nil
}
