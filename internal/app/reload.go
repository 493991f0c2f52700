package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os/signal"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/gateway"
	"github.com/weir-mcp/weir/internal/gateway/agentsession"
	"github.com/weir-mcp/weir/internal/gateway/approve"
	"github.com/weir-mcp/weir/internal/setup"
	"github.com/weir-mcp/weir/internal/watch"
	"github.com/weir-mcp/weir/record"
)

// propose asks a person whether a setup may be taken over that loosens weir in these ways. Until then everything stays.
func (r *reloader) propose(ctx context.Context, s *setup.Setup, ways []string) {
	p := &r.proposals
	if p.waiting != nil && p.waiting.Same(s) {
		if open, err := p.book.Waits(ctx, p.pending.ID); err == nil && open || p.book.Stands(ctx, p.pending.ID) {
			return // or it was accepted just now
		}
	}
	p.drop()
	what := strings.Join(ways, "; ")
	sum := sha256.Sum256([]byte(s.Policy().Digest() + s.Overlays.Digest() + what))
	pending, err := p.book.Propose(ctx, approve.Proposal{
		Principal: agentsession.LocalPrincipal, File: s.Path, Binding: reloadBinding + hex.EncodeToString(sum[:]), Rule: ruleLoosens, Ways: ways,
	})
	if err == nil {
		e := record.New(record.Reload, time.Now())
		e.Effect, e.Rule, e.Message = s.Config.Mode.String(), ruleLoosens, "waits for a person: "+what
		if more := setup.Differences(r.now, s); more != "" {
			e.Message += "; " + more
		}
		err = p.record.Record(ctx, e)
	}
	if err != nil {
		r.refuse(s, fmt.Errorf("asking about a configuration that loosens weir: %w", err), reloading{}, false)
		return
	}
	waits, end := context.WithCancel(ctx)
	p.waiting, p.pending, p.end = s, pending, end
	go p.await(waits, pending, s)
	const hint = "weir reload --accept"
	r.log.Warn("the configuration loosens weir and waits for a person; the one before goes on", "config", s.Path, "changes", what, "hint", hint)
	r.failed(s, reloading{time.Now(), false, []setup.Problem{{File: s.Path, Message: "it loosens weir and waits for a person: " + what, Hint: hint}}})
}

// A reloader applies changes of the configuration to a gateway.
type reloader struct {
	load    func() (*setup.Setup, error) // all of it as at the start, flags included
	gateway *gateway.Gateway
	settled func(*setup.Setup) // is called with each applied setup
	keys    *setup.Keychain
	log     *slog.Logger
	started *config.Config // of which some things hold until the end

	proposals proposals // setups that wait for a person

	mu    sync.Mutex
	now   *setup.Setup // the setup that was applied last
	tried []string     // the files that were read since
	last  reloading    // zero if there was none

	watched []string // the files that are watched
}

// A reloading is one attempt to take over a changed configuration.
type reloading struct {
	at       time.Time
	taken    bool
	problems []setup.Problem // why it was not applied; else the settings that take effect at the next start only
}

// start has the configuration taken over when SIGHUP comes or the files change, until stop is called, which waits.
func (r *reloader) start(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	first := nextHangup(ctx)
	watcher, err := watch.New(setup.Settle)
	if err != nil {
		r.log.Warn("the configuration is read again on SIGHUP only", "error", err)
	}
	r.watch(watcher)
	var running sync.WaitGroup
	running.Go(func() { r.run(ctx, watcher, first) })
	return func() {
		cancel()
		running.Wait()
		if watcher != nil {
			watcher.Close()
		}
	}
}

// watch watches the files that the configuration is read from, and reports whether they are others than before.
func (r *reloader) watch(watcher *watch.Watcher) bool {
	r.mu.Lock()
	files := slices.Compact(slices.Sorted(slices.Values(slices.Concat(r.now.Files, r.tried))))
	others := !slices.Equal(files, r.watched)
	r.watched = files
	r.mu.Unlock()
	if watcher == nil || !others {
		return false
	}
	if err := watcher.Set(files...); err != nil {
		r.log.Warn("not every change of the configuration will be noticed", "error", err)
	}
	return true
}

// A hangup is one SIGHUP that is waited for.
type hangup struct {
	came   <-chan struct{} // closed when it has come, or ctx has ended
	forget func()          // ends the waiting
}

func nextHangup(ctx context.Context) hangup {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP)
	return hangup{ctx.Done(), stop}
}

// run takes over the configuration each time that it should, until ctx ends.
func (r *reloader) run(ctx context.Context, watcher *watch.Watcher, next hangup) {
	defer func() { next.forget() }()
	var changed <-chan struct{}
	if watcher != nil {
		changed = watcher.Changed()
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-next.came:
			// One more is waited for before this wait ends, or it would end weir.
			last := next
			next = nextHangup(ctx)
			last.forget()
			if ctx.Err() == nil {
				r.reload(ctx, true)
			}
		case <-changed:
			r.reload(ctx, false)
		case s := <-r.proposals.accepted:
			r.proposals.waiting = nil
			r.take(ctx, s, "; accepted by a person")
		}
		for r.watch(watcher) {
			r.reload(ctx, false) // a file may have changed after it was read and before it was watched
		}
	}
}

// reload applies the configuration as it is now, if it is sound and as strict as the one before; else everything stays. Its
// mistakes are logged; for one that loosens, the user is asked. Without an explicit request, unchanged files are
// passed over.
func (r *reloader) reload(ctx context.Context, asked bool) {
	r.mu.Lock()
	before, last, failed := r.now, r.last, r.tried != nil
	r.mu.Unlock()
	s, err := setup.Steady(r.load, func(d time.Duration) { time.Sleep(d) })
	switch {
	case err != nil:
		r.refuse(s, err, last, failed && !asked)
		return
	case s.Same(before):
		r.proposals.drop()
		if !asked && !failed {
			return
		}
	}
	if ways := setup.Loosened(before, s); len(ways) > 0 {
		r.propose(ctx, s, ways)
		return
	}
	r.proposals.drop()
	r.take(ctx, s, "")
}

// refuse logs why a setup is not taken over, unless nothing has changed in that.
func (r *reloader) refuse(s *setup.Setup, err error, last reloading, again bool) {
	before := r.now.Path
	problems := setup.ProblemsOf(err, before)
	if again && slices.Equal(problems, last.problems) {
		r.failed(s, last)
		return
	}
	r.log.Error("the configuration is not taken over, the one before goes on", "config", before, "problems", len(problems))
	for _, p := range problems {
		r.log.Error(p.String(), "hint", p.Hint)
	}
	r.failed(s, reloading{time.Now(), false, problems})
}

// take takes over a setup, by whoever has accepted it.
func (r *reloader) take(ctx context.Context, s *setup.Setup, by string) {
	r.mu.Lock()
	before := r.now
	r.mu.Unlock()
	what := setup.Differences(before, s)
	why := by
	if what != "" {
		why = "; " + what + by
	}
	servers, err := s.Servers(r.keys)
	var d gateway.Difference
	if err == nil {
		d, err = r.gateway.Reload(ctx, gateway.Change{
			Servers: servers, Policy: s.Policy(), Mode: s.Config.Mode, Approval: s.Config.Approval.Timeout,
			Startup: s.Config.Startup, Plans: plansOf(s.Config), Why: why,
		})
	}
	if err != nil {
		r.refuse(s, err, reloading{}, false)
		return
	}
	r.settled(s)
	r.log.Info("configuration taken over", "config", s.Path, "mode", s.Config.Mode, "policy", setup.PolicyName(s.Config),
		"added", d.Added, "removed", d.Removed, "replaced", d.Replaced, "adjusted", d.Adjusted, "changed", what)
	late := fixed(r.started, s.Config)
	for _, p := range append(late, s.Config.Warnings...) {
		r.log.Warn(p.String(), "hint", p.Hint)
	}
	done := reloading{at: time.Now(), taken: true}
	for _, p := range late {
		done.problems = append(done.problems, setup.NewProblem(p))
	}
	r.done(s, done)
}

func (r *reloader) done(s *setup.Setup, last reloading) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now, r.tried, r.last = s, nil, last
}

// failed notes that a setup, of which there may be nothing, was not taken over.
func (r *reloader) failed(s *setup.Setup, last reloading) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last, r.tried = last, []string{r.now.Path}
	if s != nil {
		r.tried = s.Files
	}
}

// fixed returns the changed settings of a configuration that take effect at the next start only.
func fixed(before, after *config.Config) (out []config.Problem) {
	late := func(name string, changed bool) {
		if changed {
			out = append(out, config.Problem{
				Msg:  fmt.Sprintf("%s has changed, which a running weir cannot take over", name),
				Hint: "start weir again for it to take effect",
			})
		}
	}
	late("listen", before.Listen != after.Listen)
	late("console", before.Console != after.Console)
	late("notify", !reflect.DeepEqual(before.Notify, after.Notify))
	late("http", !reflect.DeepEqual(before.HTTP, after.HTTP))
	late("store", before.Store != after.Store)
	late("record", before.Record != after.Record)
	late("durability", before.Durability != after.Durability)
	late("retention", before.Retention != after.Retention)
	late("capture", !reflect.DeepEqual(before.Capture, after.Capture))
	late("audit.signer", !reflect.DeepEqual(before.Checkpoints.Signer, after.Checkpoints.Signer))
	late("checkpoints", !reflect.DeepEqual(before.Checkpoints, after.Checkpoints))
	late("annotations", !reflect.DeepEqual(before.Words, after.Words))
	late("domains", !reflect.DeepEqual(before.Own.Domains, after.Own.Domains))
	late("me", !slices.Equal(before.Own.Me, after.Own.Me))
	late("readers", !reflect.DeepEqual(before.Own.Readers, after.Own.Readers))
	late("detect", !reflect.DeepEqual(before.Detect, after.Detect))
	late("pins", before.Pins != after.Pins)
	asking, asks := before.Approval, after.Approval
	asking.Timeout, asks.Timeout = 0, 0
	late("approval.host, approval.pace and approval.hold", asking != asks)
	late("limits.message", before.Limits.Message != after.Limits.Message)
	was, is := before.Limits, after.Limits
	was.Message, is.Message = 0, 0
	late("limits", was != is)
	return out
}
