package app

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/files"
	"github.com/weir-mcp/weir/internal/gateway/agentsession"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/hook"
	"github.com/weir-mcp/weir/internal/pattern"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/internal/setup"
	"github.com/weir-mcp/weir/overlay"
)

// maxDesks is how many configurations are remembered.
const maxDesks = 4

// Hooks decides on the events of hosts, and remembers the agent sessions from one event to the next. Make one with [NewHooks] and end it
// with Close. It is safe for concurrent use.
type Hooks struct {
	log *slog.Logger

	mu    sync.Mutex
	desks []*hookDesk // the one used last in front

	entries entryBook
	ending  sync.WaitGroup // desks that lost their place

	asked, busy atomic.Int64 // events since the start, and those that are decided on
}

// NewHooks returns one that remembers nothing yet.
func NewHooks(log *slog.Logger) *Hooks { return &Hooks{log: log, entries: newEntryBook()} }

// A hookDesk decides on events by one configuration, one after the other.
type hookDesk struct {
	key   string
	turn  chan struct{} // holds one value while an event is decided on
	gone  bool          // another takes its place; only with the turn
	setup *setup.Setup
	read  []stamp // the files of the setup, as they were read
	known map[*hook.Host]*overlay.Overlay
	files files.Current
	desk  // not open before the first decision
}

// Decide decides on an event. An error is no answer: the call must not go.
func (h *Hooks) Decide(ctx context.Context, told Hook) (hook.Answer, error) {
	key, err := hookKey(&told)
	if err != nil {
		return hook.Answer{}, err
	}
	d := h.desk(key)
	for at := true; at; {
		select {
		case d.turn <- struct{}{}:
		case <-ctx.Done():
			return hook.Answer{}, fmt.Errorf("waiting for the decision on another event: %w", ctx.Err())
		}
		if at = d.gone; at { // it was ended before this event had its turn
			<-d.turn
			d = h.desk(key)
		}
	}
	defer func() { <-d.turn }()
	a, err := d.decide(ctx, h, told)
	if err != nil && d.broken() { // another store may be in its place by now
		if err := d.close(); err != nil {
			return hook.Answer{}, err
		}
		a, err = d.decide(ctx, h, told)
	}
	return a, err
}

// desk returns the desk with a key, and takes the place of the one that was used the longest ago for a new one.
func (h *Hooks) desk(key string) *hookDesk {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := slices.IndexFunc(h.desks, func(d *hookDesk) bool { return d.key == key })
	d := &hookDesk{key: key, turn: make(chan struct{}, 1)}
	if i >= 0 {
		d = h.desks[i]
		h.desks = slices.Delete(h.desks, i, i+1)
	}
	h.desks = slices.Insert(h.desks, 0, d)
	if len(h.desks) > maxDesks {
		last := h.desks[maxDesks]
		h.ending.Go(func() { h.end(last) })
		h.desks = h.desks[:maxDesks]
	}
	return d
}

// end closes a desk once it has decided.
func (h *Hooks) end(d *hookDesk) {
	d.turn <- struct{}{}
	defer func() { <-d.turn }()
	d.gone = true
	if err := d.close(); err != nil {
		h.log.Warn("closing the state", "error", err)
	}
}

// Close closes every state, once its events are decided on.
func (h *Hooks) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, d := range h.desks {
		h.end(d)
	}
	h.desks = nil
	h.ending.Wait()
}

// reference finds the variables that a configuration may refer to.
var reference = pattern.New(`\$\{?(?:env:)?([A-Za-z_][A-Za-z0-9_]*)`)

// hookKey returns a text that is the same for events that are decided on by the same configuration, in the same places.
func hookKey(told *Hook) (string, error) {
	all := []string{told.Config}
	add := func(name string) {
		value, set := told.Env.Getenv(name)
		all = append(all, name, strconv.FormatBool(set), value)
	}
	for _, name := range placeVariables {
		add(name)
	}
	if told.Config != "" {
		text, err := home.ReadFile(told.Config)
		if err != nil {
			return "", fmt.Errorf("reading the configuration: %w; run weir install again, or weir uninstall", err)
		}
		all = append(all, string(text))
		for _, m := range reference().FindAllSubmatch(text, -1) {
			add(string(m[1]))
		}
	}
	key, err := json.Marshal(all)
	sum := sha256.Sum256(key)
	return string(sum[:]), err
}

// placeVariables decide about the places of Weir's files, and who uses it.
var placeVariables = []string{"HOME", "USER", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "DBUS_SESSION_BUS_ADDRESS"}

// A stamp is a file as it was read.
type stamp struct {
	path string
	info fs.FileInfo // nil: it was not there
	sure bool        // it has not changed while it was read
}

// clockStep is more than the steps in which the times of files advance.
const clockStep = time.Second

// stamps returns files as they were read since a time.
func stamps(paths []string, began time.Time) (all []stamp) {
	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil {
			info = nil
		}
		all = append(all, stamp{p, info, info == nil || info.ModTime().Before(began.Add(-clockStep))})
	}
	return all
}

// fresh reports whether a file is as it was read.
func (s stamp) fresh() bool {
	now, err := os.Stat(s.path)
	if err != nil || s.info == nil {
		return err != nil && s.info == nil
	}
	return s.sure && os.SameFile(s.info, now) && now.ModTime().Equal(s.info.ModTime()) && now.Size() == s.info.Size()
}

// load reads the configuration, unless it is as it was read before.
func (d *hookDesk) load(told *Hook) error {
	if d.setup != nil && !slices.ContainsFunc(d.read, func(s stamp) bool { return !s.fresh() }) {
		if told.Config == "" {
			return nil
		}
		return setup.CheckSecured(told.Env, d.setup)
	}
	if err := d.close(); err != nil {
		return err
	}
	began := time.Now()
	s, err := hookSetup(told.Env, told.Config)
	if err != nil {
		return err
	}
	d.setup, d.read, d.known = s, stamps(s.Files, began), map[*hook.Host]*overlay.Overlay{}
	return nil
}

// decide decides on an event. It opens the state for that, if it takes a decision.
func (d *hookDesk) decide(ctx context.Context, h *Hooks, told Hook) (a hook.Answer, err error) {
	if err := d.load(&told); err != nil {
		return a, err
	}
	c := d.setup.Config
	by := &hook.Decider{
		Key: agentsession.HostSession, Principal: agentsession.LocalPrincipal, Now: time.Now,
		Conversations: told.Env.Conversations(), Begun: told.Env.Begun(), NoHost: c.Approval.NoHost,
	}
	by.Entries, by.Opens = h.entries.sure(&told, h.log)
	if !told.Event.Decides(by.Entries) {
		return by.Decide(ctx, told.Event)
	}
	if err := d.open(context.WithoutCancel(ctx), told.Env, h.log); err != nil {
		return a, err
	}
	if by.Overlay, err = d.overlay(told.Event.Host); err != nil {
		return a, err
	}
	ground := hostGround(told.Env, d.setup, told.Event)
	d.files.Set(ground)
	by.Files, by.Guard, by.Questions = ground, d.guard, d.book
	return by.Decide(ctx, told.Event)
}

// overlay returns the description of the tools of a host.
func (d *hookDesk) overlay(h *hook.Host) (*overlay.Overlay, error) {
	if known, ok := d.known[h]; ok {
		return known, nil
	}
	o, err := hostOverlay(d.setup, h)
	if err == nil {
		d.known[h] = o
	}
	return o, err
}

// open opens the state, unless it is open. The work of its background ends when it is closed, or with ctx.
func (d *hookDesk) open(ctx context.Context, env *home.Env, log *slog.Logger) (err error) {
	if d.kept != nil {
		return nil
	}
	c := d.setup.Config
	if c.Store == config.MemoryStore {
		return remedy.Usage(errors.New("hooks need a store, and this configuration keeps everything in memory"), "leave store out")
	}
	d.desk, err = openDesk(ctx, env, d.setup, log, &d.files)
	return err
}

// close closes the state, and forgets the setup.
func (d *hookDesk) close() error {
	d.setup = nil
	return d.desk.close()
}
