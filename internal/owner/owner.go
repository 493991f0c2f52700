// Package owner is the local service that owns the memory of agent sessions for one state directory, and how clients
// reach it: a unix socket in a directory that only its user may enter. There is one owner for each directory. Clients
// start it when they need it, and it ends when nobody has asked it anything for a while.
//
//	err := owner.Serve(ctx, owner.Options{Dir: dir, Build: build, Idle: 30 * time.Minute, Answer: answer})
//
//	c := owner.Client{Dir: dir, Build: build, Start: start}
//	answer, err := c.Ask(ctx, owner.Request{Head: head, Body: body})
//
// A connection carries one request. Each message is a frame: its length in four bytes, the highest first, and then its
// bytes. The owner speaks first:
//
//	owner:  {"v":1,"pid":4711,"build":"2026-11-23T02:11:09.123456789Z"}
//	client: {"op":"ask","head":…}     or     {"op":"retire"}     or     {"op":"attach","head":…}
//	client: the body, after ask
//	owner:  the answer, after ask
//
// After attach the connection belongs to those who use the package. Version: v is 1. A client of a newer build, or of
// another version, has the owner retire: it answers the requests that it has and ends, and the client starts another
// one. An owner of a newer build than the client serves it.
//
// Promises:
//
//   - One owner: whoever serves a directory holds its lock, which ends with the process.
//   - Both sides make sure that the other one runs as the same user, where the system tells.
//   - No answer is made up: whatever goes wrong, [Client.Ask] returns an error. It repeats a request whose answer was
//     lost, so requests must bear to be made twice.
package owner

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/weir-mcp/weir/internal/socket"
)

// Version is the version of the protocol.
const Version = 1

// ErrTaken says that another process owns the directory.
var ErrTaken = errors.New("another weir serve owns this state directory")

const (
	socketName = "socket"
	lockName   = "lock"

	maxHead   = 8 << 20 // with the variables of the host
	maxFrame  = 64<<20 + maxHead
	maxAtOnce = 64               // requests that are answered at a time
	handshake = 5 * time.Second  // for a client to say what it wants
	bodyTime  = 30 * time.Second // to send a request
	presence  = 2 * time.Second  // between two looks at whether the socket is still there
)

// A Build tells builds of the program apart and orders them by age.
type Build = time.Time

// A hello is the first message of an owner.
type hello struct {
	V     int   `json:"v"`
	PID   int   `json:"pid"`
	Build Build `json:"build"`
}

// An order is the first message of a client.
type order struct {
	Op   string          `json:"op"`
	Head json.RawMessage `json:"head,omitempty"`
}

// Operations of an order.
const (
	opAsk    = "ask"
	opRetire = "retire"
)

// A Request is a request to an owner: a small head, and a body of up to 64 MiB.
type Request struct {
	Head json.RawMessage
	Body []byte
}

// Options configures an owner.
type Options struct {
	Dir      string        // of the socket and the lock
	Build    Build         // of the program
	Idle     time.Duration // ends without a request for so long; zero: never
	Answer   func(context.Context, Request) ([]byte, error)
	Attached func(_ context.Context, _ *net.UnixConn, head json.RawMessage) // serves a connection that stays; may be nil

	// Outdated reports that the program was replaced, so the owner ends; may be nil.
	Outdated func() bool

	// Serves is called once it owns the directory, and stop before it no longer does; may be nil.
	Serves func() (stop func())
}

// A server is an owner that serves.
type server struct {
	Options
	socket *net.UnixListener
	slots  chan struct{}

	mu      sync.Mutex
	busy    int
	last    time.Time     // when the last request ended
	retired chan struct{} // closed when it takes no more connections
	work    sync.WaitGroup
}

// Serve answers requests in a directory until ctx ends, a client has the owner retire, or nobody asks for long. It then
// waits for the requests that it has. The error is [ErrTaken] if there is another owner.
func Serve(ctx context.Context, opts Options) (err error) {
	if err := socket.Private(opts.Dir); err != nil {
		return fmt.Errorf("serving sessions: %w", err)
	}
	lock := flock.New(filepath.Join(opts.Dir, lockName), flock.SetPermissions(0o600))
	if locked, err := lock.TryLock(); err != nil || !locked {
		return errors.Join(ErrTaken, err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	path := filepath.Join(opts.Dir, socketName)
	listener, err := socket.Listen(opts.Dir, socketName)
	if err != nil {
		return fmt.Errorf("serving sessions: %w", err)
	}
	s := &server{Options: opts, socket: listener, slots: make(chan struct{}, maxAtOnce), last: time.Now(), retired: make(chan struct{})}
	if opts.Serves != nil {
		defer opts.Serves()()
	}
	stop := context.AfterFunc(ctx, s.retire)
	defer stop()
	watched := make(chan struct{})
	go s.watch(path, watched)
	err = s.accept(ctx)
	s.retire()
	s.work.Wait()
	<-watched
	return err
}

// accept takes connections until the owner retires.
func (s *server) accept(ctx context.Context) error {
	for {
		conn, err := s.socket.AcceptUnix()
		s.mu.Lock()
		retired := s.isRetired()
		if err == nil && !retired {
			s.busy++
			s.work.Add(1)
		}
		s.mu.Unlock()
		switch {
		case err == nil && retired:
			return conn.Close()
		case retired:
			return nil
		case err != nil:
			return fmt.Errorf("serving sessions: %w", err)
		}
		go func() {
			defer s.finish()
			defer conn.Close()
			s.serve(ctx, conn)
		}()
	}
}

// finish notes that a connection has ended.
func (s *server) finish() {
	s.mu.Lock()
	s.busy, s.last = s.busy-1, time.Now()
	s.mu.Unlock()
	s.work.Done()
}

// retire has the owner take no more connections.
func (s *server) retire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.isRetired() {
		close(s.retired)
		_ = s.socket.Close()
	}
}

func (s *server) isRetired() bool {
	select {
	case <-s.retired:
		return true
	default:
		return false
	}
}

// watch retires an owner that nobody asks, one whose socket is no longer there, which nobody could ask, and one whose
// program was replaced.
func (s *server) watch(path string, done chan<- struct{}) {
	defer close(done)
	own, err := os.Lstat(path)
	every := presence
	if s.Idle > 0 {
		every = min(every, max(s.Idle/4, time.Millisecond))
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-s.retired:
			return
		case <-tick.C:
		}
		now, gone := os.Lstat(path)
		s.mu.Lock()
		idle := s.Idle > 0 && s.busy == 0 && time.Since(s.last) >= s.Idle
		s.mu.Unlock()
		if idle || err != nil || gone != nil || !os.SameFile(own, now) || s.Outdated != nil && s.Outdated() {
			s.retire()
		}
	}
}

// serve answers the request of a connection. A client that does not speak the protocol gets no answer.
func (s *server) serve(ctx context.Context, conn *net.UnixConn) {
	if err := samePeer(conn); err != nil {
		return
	}
	greeting, err := json.Marshal(hello{Version, os.Getpid(), s.Build})
	if err != nil || conn.SetDeadline(time.Now().Add(handshake)) != nil || write(conn, greeting) != nil {
		return
	}
	first, err := read(conn, maxHead)
	if err != nil {
		return
	}
	var o order
	if json.Unmarshal(first, &o) != nil {
		return
	}
	switch o.Op {
	case opRetire:
		if s.Attached == nil { // else it ends some time after those who are attached
			s.retire()
		}
	case opAsk:
		s.ask(ctx, conn, o.Head)
	case opAttach:
		s.attached(ctx, conn, o.Head)
	}
}

// ask reads the body of a request and answers it.
func (s *server) ask(ctx context.Context, conn *net.UnixConn, head json.RawMessage) {
	s.slots <- struct{}{}
	defer func() { <-s.slots }()
	if conn.SetDeadline(time.Now().Add(bodyTime)) != nil {
		return
	}
	body, err := read(conn, maxFrame)
	if err != nil {
		return
	}
	answer, err := s.Answer(ctx, Request{Head: head, Body: body})
	if err != nil || conn.SetDeadline(time.Now().Add(bodyTime)) != nil {
		return
	}
	_ = write(conn, answer) // a client that hung up has denied the call
}

// errFrame says that a peer sent what is no frame.
var errFrame = errors.New("the other side sent a message that is too long")

// read reads a frame of at most so many bytes.
func read(r io.Reader, most int) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if int64(n) > int64(most) {
		return nil, errFrame
	}
	text, err := io.ReadAll(io.LimitReader(r, int64(n)))
	if err == nil && len(text) < int(n) {
		err = io.ErrUnexpectedEOF
	}
	return text, err
}

// write writes a frame.
func write(w io.Writer, text []byte) error {
	if len(text) > maxFrame {
		return errFrame
	}
	size := binary.BigEndian.AppendUint32(nil, uint32(len(text)))
	buffers := net.Buffers{size, text}
	_, err := buffers.WriteTo(w)
	return err
}
