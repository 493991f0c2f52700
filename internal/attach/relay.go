//go:build linux

package attach

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/weir-mcp/weir/internal/rpc"
)

// replayTime is how long another owner may take to start the server and to shake hands with it.
const replayTime = 60 * time.Second

// A relay carries lines between the host and one owner after the other. The host gets whole lines only, and each line
// of the host goes to one owner.
type relay struct {
	in  io.ReadCloser
	out io.Writer

	saying sync.Mutex // held to write to out
	deaf   bool       // whether the host takes nothing any more

	mu       sync.Mutex
	turn     *sync.Cond
	book     *book
	to       *os.File // the input of the owner; nil while no owner takes lines
	left     bool     // the host has
	closed   bool     // nothing goes on
	failure  error    // why an owner could not take the place of the one before
	awaiting string   // the id of the request of ours that the owner has not answered
	answer   chan *rpc.Message
}

func newRelay(in io.ReadCloser, out io.Writer) *relay {
	r := &relay{in: in, out: out, book: newBook()}
	r.turn = sync.NewCond(&r.mu)
	return r
}

// fromHost hands on the host's lines until it leaves.
func (r *relay) fromHost() {
	defer r.leave()
	for lines := rpc.NewLines(r.in, rpc.DefaultMaxMessage); ; {
		text, _, err := lines.Next()
		var bad *rpc.BadMessage
		switch {
		case errors.As(err, &bad):
			r.say(rpc.ReplyError(bad.Err.ID, bad.Err).Append(nil))
		case err != nil:
			return
		default:
			if to := r.pass(text); to != nil {
				_, _ = to.Write(append(text, '\n')) // an owner that has ended has no answers
			}
		}
	}
}

// pass waits for an owner and notes a line for it. It returns nil if nothing goes on.
func (r *relay) pass(text []byte) *os.File {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.to == nil && !r.closed {
		r.turn.Wait()
	}
	if r.closed {
		return nil
	}
	r.book.host(text)
	return r.to
}

// leave notes that the host has left, and tells the owner.
func (r *relay) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left = true
	if r.to != nil {
		_ = r.to.Close()
	}
}

// fromOwner hands on the lines of an owner until it ends. The beginning of a line is none.
func (r *relay) fromOwner(out *os.File) {
	for lines := rpc.NewLines(out, math.MaxInt32); ; {
		text, whole, err := lines.Next()
		if err != nil || !whole {
			return
		}
		if r.note(text) && !r.say(text) {
			_ = out.Close() // the owner finds out by its next message
			return
		}
	}
}

// note notes a line of the owner, and reports whether the host gets it.
func (r *relay) note(text []byte) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.awaiting != "" {
		if id, method, _ := rpc.Head(text); method == "" && string(id) == r.awaiting {
			m, err := rpc.Parse(text)
			if err == nil {
				r.answer <- m
			}
			r.awaiting = ""
			return false
		}
	}
	r.book.owner(text)
	return true
}

// say writes a line to the host, and reports whether it took it.
func (r *relay) say(text []byte) bool {
	r.saying.Lock()
	defer r.saying.Unlock()
	if !r.deaf {
		_, err := r.out.Write(append(text, '\n'))
		r.deaf = err != nil
	}
	return !r.deaf
}

// attach has an owner take lines, once it has been told all that the one before knew of the host.
func (r *relay) attach(l *life) {
	err := r.replay(l)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		if !errors.Is(err, errOwner) {
			r.failure = err
		}
		_ = l.conn.Close()
		return
	}
	if r.to = l.in; r.left {
		_ = r.to.Close()
	}
	r.turn.Broadcast()
}

// detach has no owner take lines.
func (r *relay) detach() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.to = nil
}

// lost tells the host that an owner has ended, and reports whether another one can take its place, or why not.
func (r *relay) lost() (goesOn bool, why error) {
	r.mu.Lock()
	lines := r.book.lost()
	goesOn, why, r.awaiting = !r.left && !r.book.overfull && r.failure == nil, r.failure, ""
	r.mu.Unlock()
	for _, text := range lines {
		goesOn = r.say(text) && goesOn
	}
	return goesOn, why
}

// close ends everything.
func (r *relay) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.turn.Broadcast()
	_ = r.in.Close()
}

// replay tells an owner all that the one before knew of the host: the handshake, and the requests that a session
// remembers. No line of the host goes to anybody meanwhile.
func (r *relay) replay(l *life) error {
	r.mu.Lock()
	hello, said, initialized, standing := r.book.hello, r.book.welcome, r.book.initialized, slices.Collect(maps.Values(r.book.standing))
	r.mu.Unlock()
	switch {
	case hello == nil:
		return nil
	case said == nil: // the host still waits for the answer
		return write(l.in, hello)
	}
	answer, err := r.ask(l, hello)
	if err != nil {
		return err
	}
	if *newWelcome(answer.Result) != *said {
		return errors.New("the server offers something else than before")
	}
	if initialized {
		err = write(l.in, rpc.NewNotification("notifications/initialized", nil))
	}
	for _, m := range standing {
		if err == nil {
			_, err = r.ask(l, m)
		}
	}
	return err
}

// ask makes a request of the host again, under an id of ours, whose answer the host does not get.
func (r *relay) ask(l *life, m *rpc.Message) (*rpc.Message, error) {
	const id = `"weir-again"` // no line of the host is on its way
	answer := make(chan *rpc.Message, 1)
	r.mu.Lock()
	r.awaiting, r.answer = id, answer
	r.mu.Unlock()
	if err := write(l.in, rpc.NewRequest(json.RawMessage(id), m.Method, m.Params)); err != nil {
		return nil, err
	}
	select {
	case a := <-answer:
		if e := a.Failure(); e != nil {
			return nil, fmt.Errorf("%s: %w", m.Method, e)
		}
		return a, nil
	case <-l.gone:
		return nil, errOwner
	case <-time.After(replayTime):
		return nil, fmt.Errorf("%s: no answer in time", m.Method)
	}
}

func write(to io.Writer, m *rpc.Message) error {
	if _, err := to.Write(append(m.Append(nil), '\n')); err != nil {
		return errOwner
	}
	return nil
}
