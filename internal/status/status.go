// Package status is how a running weir tells of itself, and how others of the same user find it.
//
//	server, err := status.Serve(dir, os.Getpid(), tell)
//	processes, err := status.List(ctx, dir)
//
// A process serves HTTP on a unix socket in a directory that only its user may enter, under the name PID.sock. GET
// /status answers with a [Process] as JSON, and GET /details with further facts, as JSON that the caller of [Serve]
// defines. There are no other requests, and none changes anything. The status is never served on a network.
//
//	{"v":1,"pid":4711,"version":"…","command":"weir run","started":"…","config":"weir.yaml","serves":"http://127.0.0.1:8080/mcp",
//	 "policy":"built-in","digest":"…","mode":"enforce","hosts":1,"calls":12,"inFlight":1,"questions":0,"servers":[…]}
//
// Version: v is 1. Members may be added under the same version. Commands, variables, headers and URLs of servers are
// left out. Errors may name a program or a URL, and may quote a server's text: a program that prints them must treat
// them as hostile.
package status

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/weir-mcp/weir/internal/budget"
	"github.com/weir-mcp/weir/internal/socket"
)

// Version is the version of the schema.
const Version = 1

const (
	suffix    = ".sock"
	path      = "/status"
	more      = "/details"
	patience  = 2 * time.Second // with a process that is asked
	maxAnswer = 32 << 20        // bytes
)

// A Process is the status of one process.
type Process struct {
	V         int       `json:"v"`
	PID       int       `json:"pid"`
	Error     string    `json:"error,omitempty"` // why there is nothing but the pid; never sent
	Version   string    `json:"version,omitempty"`
	Command   string    `json:"command,omitempty"` // "weir run", "weir wrap" or "weir serve"
	Started   time.Time `json:"started,omitzero"`
	Config    string    `json:"config,omitempty"` // absolute path of the configuration; empty for weir wrap
	Serves    string    `json:"serves,omitempty"` // "stdio", or the URL of the endpoint; empty before it listens
	Policy    string    `json:"policy,omitempty"` // path, or "built-in"; empty for weir serve, which decides by that of each event
	Digest    string    `json:"digest,omitempty"` // of the policy, SHA-256 in hexadecimal digits
	Mode      string    `json:"mode,omitempty"`
	Hosts     int       `json:"hosts"`     // that are connected
	Calls     int64     `json:"calls"`     // requests to servers since the start
	InFlight  int64     `json:"inFlight"`  // of these
	Questions int       `json:"questions"` // to people, that are open
	Servers   []Server  `json:"servers"`   // in the order of the configuration
	Reload    *Reload   `json:"reload,omitempty"`
	Store     *Store    `json:"store,omitempty"` // nil if state is kept in memory
	Log       string    `json:"log,omitempty"`   // why no event can be recorded: it is damaged, or cannot be signed

	Session *Session `json:"session,omitempty"` // of the last request on stdio whose host does not name it; nil if there is none

	Budget []budget.Usage `json:"budget,omitempty"` // the use of each resource

	Approvals     *Approvals     `json:"approvals,omitempty"`     // nil if no log is kept
	Notifications []Notification `json:"notifications,omitempty"` // since the start
}

// A Session is an agent session in which a host on stdio goes on until a person begins another.
type Session struct {
	Key    string    `json:"key"`
	Host   string    `json:"host,omitempty"` // as it calls itself
	Folder string    `json:"folder,omitempty"`
	Began  time.Time `json:"began"`
	New    string    `json:"new"` // the command that begins another
}

// A Store is how the store of a process does: "ok"; "moved", its file is not as it was opened; "stalled", it does not
// answer in time; "damaged", its log does not extend its anchor; or "failing". As long as it is not "ok", calls are
// refused.
type Store struct {
	State   string    `json:"state"`
	Since   time.Time `json:"since"`
	Error   string    `json:"error,omitempty"` // may name files, hosts and users
	Hint    string    `json:"hint,omitempty"`
	Refused *Refused  `json:"refused,omitempty"`
}

// Refused are the rows of the state that a process has refused since it started, because the log does not prove them.
type Refused struct {
	Rows  int       `json:"rows"`
	Last  time.Time `json:"last"`
	Error string    `json:"error"` // of the last; may name agent sessions and resources
	Hint  string    `json:"hint"`
}

// Approvals are how much people were asked, over all processes on the store and as far back as its log goes.
type Approvals struct {
	Asked    int     `json:"asked"`
	Accepted int     `json:"accepted"`
	Denied   int     `json:"denied"`  // dismissed questions among them
	Expired  int     `json:"expired"` // without an answer
	Open     int     `json:"open"`
	Answered int     `json:"answered"`      // in all, of which the seconds tell
	Median   float64 `json:"medianSeconds"` // to an answer
	P90      float64 `json:"p90Seconds"`    // nine of ten answers took no longer
	Spent    float64 `json:"spentSeconds"`  // of all answers
}

// A Notification counts an outcome of the notifications over a channel.
type Notification struct {
	Channel string `json:"channel"` // "webhook" or "desktop"
	Result  string `json:"result"`  // "delivered", "failed", … see package notify
	Count   int64  `json:"count"`
}

// A Server is how a process stands with one server, over all connections to it.
type Server struct {
	Name        string    `json:"name"`
	Transport   string    `json:"transport"`         // "stdio", "http" or "sse"
	Trust       string    `json:"trust"`             // that counts
	Lowered     bool      `json:"lowered,omitempty"` // the configuration trusts it, and it has broken its contract
	State       string    `json:"state"`             // "idle", "ended", "failed", "connecting" or "connected"
	Connections int       `json:"connections"`
	Protocols   []string  `json:"protocols,omitempty"`
	PIDs        []int     `json:"pids,omitempty"`
	Calls       int64     `json:"calls"`
	InFlight    int64     `json:"inFlight"`
	Retry       time.Time `json:"retry,omitzero"`       // before when no further attempt is made
	Error       string    `json:"error,omitempty"`      // the last one
	ErrorAt     time.Time `json:"errorAt,omitzero"`     // when that was
	Disabled    bool      `json:"disabled,omitempty"`   // left out by the configuration
	Unreviewed  int       `json:"unreviewed,omitempty"` // definitions that nobody vouches for
}

// A Reload is the last attempt to take over a changed configuration.
type Reload struct {
	At       time.Time `json:"at"`
	Taken    bool      `json:"taken"`              // if not, the configuration before goes on
	Problems []Problem `json:"problems,omitempty"` // why not; else settings that take effect at the next start only
}

// A Problem is a mistake in a configuration.
type Problem struct {
	Place   string `json:"place,omitempty"` // "file:line:column"
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// A Listener serves the status of a process. Close ends it.
type Listener struct {
	http *http.Server
	path string
	done chan struct{}
}

// Serve answers requests in dir with the results of tell and details, until the listener is closed. It creates a
// missing dir for the user alone. Both functions are called concurrently. Without details, only the status is served.
func Serve(dir string, pid int, tell func() Process, details func() any) (*Listener, error) {
	if err := socket.Private(dir); err != nil {
		return nil, fmt.Errorf("serving the status: %w", err)
	}
	l := &Listener{path: filepath.Join(dir, socketOf(pid)), done: make(chan struct{})}
	listener, err := socket.Listen(dir, socketOf(pid))
	if err != nil {
		return nil, fmt.Errorf("serving the status: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
		p := tell()
		p.V, p.PID = Version, pid
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(p) // who hung up need not be told
	})
	if details != nil {
		mux.HandleFunc("GET "+more, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			out := json.NewEncoder(w)
			out.SetEscapeHTML(false) // raw JSON of others stays as it is
			_ = out.Encode(details())
		})
	}
	l.http = &http.Server{
		Handler: mux, ReadTimeout: patience, WriteTimeout: 5 * patience, IdleTimeout: patience, MaxHeaderBytes: 4096,
	}
	go func() {
		defer close(l.done)
		_ = l.http.Serve(listener) // ends with Close
	}()
	return l, nil
}

// Close ends the serving, waits for it and removes the socket.
func (l *Listener) Close() error {
	err := errors.Join(os.Remove(l.path), l.http.Close())
	<-l.done
	return err
}

// socketOf returns the name of the socket of a process.
func socketOf(pid int) string { return strconv.Itoa(pid) + suffix }

// List requests the status of every process that serves one in dir, concurrently, and returns them ordered by pid. It
// removes sockets that killed processes left. A process that does not answer has an Error. The dir may be missing.
func List(ctx context.Context, dir string) ([]Process, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("looking for processes: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	answers := make(chan *Process)
	asked := 0
	for _, e := range entries {
		pid, err := strconv.Atoi(strings.TrimSuffix(e.Name(), suffix))
		if err != nil || !strings.HasSuffix(e.Name(), suffix) {
			continue
		}
		asked++
		go func() { answers <- ask(ctx, dir, pid) }()
	}
	var all []Process
	for range asked {
		if p := <-answers; p != nil {
			all = append(all, *p)
		}
	}
	slices.SortFunc(all, func(a, b Process) int { return a.PID - b.PID })
	return all, nil
}

// ask asks one process. It returns nil if that is no more.
func ask(ctx context.Context, dir string, pid int) *Process {
	p := &Process{}
	err := get(ctx, dir, pid, path, p)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		_ = os.Remove(filepath.Join(dir, socketOf(pid))) // the next one tries again
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return &Process{V: Version, PID: pid, Error: err.Error()}
	}
	p.PID = pid
	return p
}

// Details requests the details of the process with a pid, which serves its status in dir, and decodes them into the
// value that v points to.
func Details(ctx context.Context, dir string, pid int, v any) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := get(ctx, dir, pid, more, v); err != nil {
		return fmt.Errorf("asking process %d: %w", pid, err)
	}
	return nil
}

// get decodes an answer of a process into the value that v points to.
func get(ctx context.Context, dir string, pid int, path string, v any) error {
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return socket.Dial(ctx, dir, socketOf(pid))
		},
	}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://weir"+path, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("it answers %s", resp.Status)
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(v); err != nil {
		return fmt.Errorf("reading its answer: %w", err)
	}
	return nil
}
