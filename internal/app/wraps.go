package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/attach"
	"github.com/weir-mcp/weir/internal/budget"
	"github.com/weir-mcp/weir/internal/gateway/backend"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/owner"
	"github.com/weir-mcp/weir/internal/pattern"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/internal/setup"
	"github.com/weir-mcp/weir/internal/upstream"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// ErrAlone says that a wrap has to decide by itself.
var ErrAlone = attach.ErrAlone

// A sharedWrap is a weir wrap as it tells of itself.
type sharedWrap struct {
	Environ []string        `json:"environ"`
	Folder  string          `json:"folder"`
	Setup   json.RawMessage `json:"setup"`
}

// ShareWrap has the process decide that the wraps of this host share, and returns its exit status. Setup says how, in
// the form of the caller of [ServeWraps]. The server of the spec is a child of this process. The error is [ErrAlone]
// if nothing has begun.
func ShareWrap(ctx context.Context, env *home.Env, told json.RawMessage, spec upstream.Spec, log *slog.Logger) (status int, err error) {
	if in, out, logs := env.Standard[0], env.Standard[1], env.Standard[2]; !isStream(in) || !isStream(out) || sameStream(logs, in, out) {
		return 0, ErrAlone
	}
	inherited := env.BaseEnv()
	client, err := wrapsOwner(env, func(b owner.Build) (string, error) { return attach.Key(b, os.Getppid(), inherited) })
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrAlone, err)
	}
	folder, err := env.WorkDir()
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrAlone, err)
	}
	head, err := json.Marshal(sharedWrap{env.Environ, folder, told})
	if err != nil {
		return 0, err
	}
	status, err = attach.Run(ctx, client, head, attach.Wrap{
		Host:   func() (io.ReadCloser, io.Writer) { return readCloser(env.Standard[0]), writeCloser(env.Standard[1]) },
		Stderr: env.Standard[2],
		Start:  func() (*upstream.LocalChild, error) { return upstream.StartChild(spec, env.Environ, env.Stderr, log) },
		Log:    log,
	})
	if errors.Is(err, ErrAlone) && errors.Is(err, owner.ErrRefused) {
		log.Warn("this server decides by itself: another process is where the one that decides for the wraps of this host should be",
			"socket", client.Dir, "error", err)
	}
	if err != nil && !errors.Is(err, ErrAlone) {
		err = remedy.Failure(err, "have the host start this server again; "+owner.LogFile(client.Dir)+" may say why")
	}
	return status, err
}

// isStream reports whether a file is there, and is a pipe or a socket.
func isStream(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&(os.ModeNamedPipe|os.ModeSocket) != 0
}

// sameStream reports whether a file may be one of others. Then its mode, to wait or not, is theirs too.
func sameStream(f *os.File, others ...*os.File) bool {
	info, err := f.Stat()
	for _, o := range others {
		other, failed := o.Stat()
		if err != nil || failed != nil || os.SameFile(info, other) {
			return true
		}
	}
	return false
}

// wrapsOwner returns a client of the owner with the key that wraps have of a build.
func wrapsOwner(env *home.Env, keyOf func(owner.Build) (string, error)) (*owner.Client, error) {
	dir, err := env.OwnerDir()
	if err != nil {
		return nil, err
	}
	exe, build, err := owner.ThisBuild()
	if err != nil {
		return nil, err
	}
	key, err := keyOf(build)
	if err != nil {
		return nil, err
	}
	dir = filepath.Join(dir, key)
	start := func() (<-chan struct{}, error) {
		return owner.Start(dir, exe, []string{"serve", "--wraps", key}, env.BaseEnv())
	}
	return &owner.Client{Dir: dir, Build: build, Start: start}, nil
}

// settled is how long a start takes, and the first lists after it.
const settled = 3 * time.Second

// wrapsIdle is how long the owner of wraps waits for another one.
const wrapsIdle = 2 * time.Second

// A Prepared is a service that may be served.
type Prepared struct {
	*Service
	Status func(error) int // tells the user how the serving ended, and returns the exit status for that
	Close  func()          // ends its use
}

// A Wraps serves the wraps of one host. The zero Wraps has none.
type Wraps struct {
	Log *slog.Logger

	// Prepare prepares to serve the wrap that told of itself.
	Prepare func(env *home.Env, told json.RawMessage) (*Prepared, error)

	inherited []string // the variables of this process, sorted

	mu      sync.Mutex
	memory  *guard.Memory
	opened  []*state          // the last one counts, as long as its store works
	users   int               // of these
	servers map[string]string // by name, the text that stands for them in the memory

	neighbors backend.Neighbors
}

// ServeWraps serves the wraps that have a key until there are none for a while, or ctx ends.
func ServeWraps(ctx context.Context, env *home.Env, key string, w *Wraps) error {
	if !ownerKey().MatchString(key) { // it becomes the name of a directory, which is removed in the end
		return remedy.Usage(errors.New("--wraps: no key"), "weir wrap starts this by itself")
	}
	w.inherited = slices.Sorted(slices.Values(env.BaseEnv()))
	client, err := wrapsOwner(env, func(owner.Build) (string, error) { return key, nil })
	if err != nil {
		return err
	}
	pruneOwners(filepath.Dir(client.Dir))
	traces, _ := budget.New(budget.Limits{}).Traces.Acquire(0)
	w.memory, w.servers = guard.NewMemory(guard.MemoryOptions{Room: traces}), map[string]string{}
	return owner.Serve(ctx, owner.Options{
		Dir: client.Dir, Build: client.Build, Idle: wrapsIdle,
		Serves: func() (stop func()) { return func() { _ = os.RemoveAll(client.Dir) } },
		Answer: func(context.Context, owner.Request) ([]byte, error) { return nil, ErrAlone },
		Attached: func(ctx context.Context, conn *net.UnixConn, head json.RawMessage) {
			if err := w.attached(ctx, conn, client.Build, key, head); err != nil {
				w.Log.Warn("serving a wrap", "error", err)
			}
		},
	})
}

// ownerKey is the form of the names of owners' directories.
var ownerKey = pattern.New(`^[0-9a-f]{32}$`)

// pruneOwners removes the remains of owners that were killed: directories that nobody has locked for a day.
func pruneOwners(dir string) {
	all, _ := os.ReadDir(dir) // those that cannot be read stay
	for _, e := range all {
		info, err := e.Info()
		if err != nil || !e.IsDir() || !ownerKey().MatchString(e.Name()) || time.Since(info.ModTime()) < 24*time.Hour {
			continue
		}
		if path := filepath.Join(dir, e.Name()); !owner.Owned(path) {
			_ = os.RemoveAll(path)
		}
	}
}

// attached serves a wrap.
func (w *Wraps) attached(ctx context.Context, conn *net.UnixConn, build owner.Build, key string, head json.RawMessage) error {
	var told sharedWrap
	if err := json.Unmarshal(head, &told); err != nil {
		return err
	}
	env := &home.Env{Environ: told.Environ, Dir: told.Folder}
	inherited := env.BaseEnv()
	if err := attach.Check(conn, build, key, inherited); err != nil {
		return err
	}
	if !slices.Equal(slices.Sorted(slices.Values(inherited)), w.inherited) {
		return errors.New("this process was started with other variables than its wraps have")
	}
	guest, err := attach.Accept(conn)
	if err != nil {
		return err
	}
	defer guest.Close()
	env.Stdin, env.Stdout, env.Stderr, env.PID = guest.Stdin, guest.Stdout, guest.Stderr, guest.PID
	s, err := w.Prepare(env, told.Setup)
	if err != nil {
		return err // the wrap finds the same mistake
	}
	defer s.Close()
	if err := w.join(s.Service, guest); err != nil {
		return err
	}
	if s.kept, err = w.state(env, s.Service); err != nil {
		return err // likewise
	}
	leave := sync.OnceValue(w.leave)
	defer leave() // if it is not served after all; an error was logged then
	if s.Start = guest.Start; w.known(env, s.Service) {
		s.Shared = w.memory
	}
	defer time.AfterFunc(settled, debug.FreeOSMemory).Stop() // a start leaves much garbage
	return guest.Serve(ctx, func(ctx context.Context) int { return s.Status(errors.Join(Serve(ctx, env, s.Service), leave())) })
}

// join makes a service a neighbor of those of the other wraps. The wrap keeps the label of text that the host is shown,
// and may have kept one for an owner before this one.
func (w *Wraps) join(s *Service, guest *attach.Guest) error {
	if len(guest.Heard) > 0 {
		var heard label.Label
		if err := json.Unmarshal(guest.Heard, &heard); err != nil {
			return err
		}
		w.neighbors.Recall(heard)
	}
	s.Neighbors = &w.neighbors
	s.Keep = func(l label.Label) error {
		heard, err := abridged(l, attach.MaxHeard)
		if err != nil {
			return err
		}
		return guest.Keep(heard)
	}
	return nil
}

// abridged returns a label as JSON of a length at most. Where that is too short for it, parts become the worst of their
// kind, first those that decide least.
func abridged(l label.Label, most int) ([]byte, error) {
	for _, less := range []func(*label.Label){
		func(*label.Label) {},
		func(l *label.Label) { l.Attribution = label.SetOf("weir://many") },
		func(l *label.Label) {
			l.Malicious, l.Findings = l.Malicious || l.Findings.Len() > 0, label.Set[string]{}
		},
		func(l *label.Label) { l.Readers = label.OnlyReaders() },
		func(l *label.Label) {
			l.Private, l.Sensitivity = true, label.SetOf(label.Credentials, label.Unspecified)
		},
		func(l *label.Label) { l.Untrusted, l.Sources = true, label.SetOf(label.UntrustedPublic) },
	} {
		less(&l)
		if heard, err := json.Marshal(l); err != nil || len(heard) <= most {
			return heard, err
		}
	}
	return nil, errors.New("a label is too long")
}

// state returns the state that the wraps share: all have one place for it, and none has settings of its own for it.
func (w *Wraps) state(env *home.Env, s *Service) (*state, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.opened); n > 0 && w.opened[n-1].db.Health().State == sqlstore.OK {
		w.users++
		return w.opened[n-1], nil
	}
	kept, err := openState(context.Background(), env, s.Config, w.Log, nil)
	if err == nil {
		w.opened = append(w.opened, kept)
		w.users++
	}
	return kept, err
}

// leave closes every state when the last wrap that uses one leaves.
func (w *Wraps) leave() (err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.users--; w.users > 0 {
		return nil
	}
	for _, kept := range w.opened {
		err = errors.Join(err, kept.Close())
	}
	w.opened = nil
	return err
}

// known reports whether the server of a wrap may be in the memory of others: there a name stands for one server.
func (w *Wraps) known(env *home.Env, s *Service) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range s.Config.Servers {
		name, is := s.Config.Servers[i].Name, standsFor(env, s.Setup, i)
		if of, ok := w.servers[name]; ok && of != is {
			w.Log.Warn("two servers have one name, so they have no memory in common", "server", name)
			return false
		}
		w.servers[name] = is
	}
	return true
}

// standsFor returns a text that tells servers apart, their variables, and all that the operator says of them.
func standsFor(env *home.Env, s *setup.Setup, server int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%#v %s %q", s.Config.Servers[server], s.Overlays.Digest(), env.Environ))
	return hex.EncodeToString(sum[:])
}
