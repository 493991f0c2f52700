//go:build linux

package attach

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"sync"
	"time"

	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
)

const (
	replayTime = 60 * time.Second // for another owner to start the server and to shake hands with it
	maxHeld    = 1 << 20          // bytes of lines that are held, so that the host is noticed to leave behind them
)

// errLeft says that the host has left.
var errLeft = errors.New("the host has left")

// A relay carries lines between the host and one owner after the other. The host gets whole lines only, and each line
// of the host goes to one owner.
type relay struct {
	in      io.ReadCloser
	out     io.Writer
	log     *slog.Logger
	most    int           // bytes of a line of the host
	leaving chan struct{} // closed when the host has left

	saying sync.Mutex // held to write to out
	deaf   bool       // whether the host takes nothing any more

	mu      sync.Mutex
	turn    *sync.Cond
	book    *book
	to      *os.File // the input of the owner; nil while no owner takes lines
	held    [][]byte // lines of the host for the next owner
	holding int      // bytes of these
	left    bool     // the host has
	closed  bool     // nothing goes on
	failure error    // why an owner could not take the place of the one before
	retold  map[string]*retold
}

// A retold is a request of the host that an owner was told again and has not answered, under an id of ours.
type retold struct {
	method, part string            // the part of the session that it sets; empty once the host has set it anew
	answer       chan *rpc.Message // for whoever waits for it; nil: nobody does
}

func newRelay(in io.ReadCloser, out io.Writer, log *slog.Logger) *relay {
	r := &relay{
		in: in, out: out, log: log, most: rpc.DefaultMaxMessage, leaving: make(chan struct{}),
		book: newBook(), retold: map[string]*retold{},
	}
	r.turn = sync.NewCond(&r.mu)
	return r
}

// fromHost hands on the host's lines until it leaves. In the place of one that is too long, an owner gets a line that
// it refuses with the same answer to the host, and writes down: blanks, and the id.
func (r *relay) fromHost() {
	defer r.leave()
	for lines := rpc.NewLines(r.in, r.most); ; {
		text, _, err := lines.Next()
		blanks := 0
		var bad *rpc.BadMessage
		switch {
		case errors.As(err, &bad):
			text, blanks = fmt.Appendf(nil, `{"id":%s,"method":null}`, cmp.Or(string(bad.Err.ID), "null")), r.most
		case err != nil:
			return
		}
		if to, text := r.pass(text, blanks); to != nil {
			writeBlanks(to, blanks)
			_, _ = to.Write(text) // an owner that has ended has no answers
		}
	}
}

// writeBlanks writes the beginning of a line, without holding all of it in memory.
func writeBlanks(to io.Writer, n int) {
	some := bytes.Repeat([]byte{' '}, min(n, 64<<10))
	for err := error(nil); n > 0 && err == nil; n -= len(some) {
		_, err = to.Write(some[:min(n, len(some))])
	}
}

// pass notes a line behind blanks for an owner, and returns it as that gets it. The owner is nil if the line is held
// for the next one, or nothing goes on.
func (r *relay) pass(text []byte, blanks int) (to *os.File, line []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.to == nil && r.holding+blanks+len(text) <= maxHeld {
		r.held, r.holding = append(r.held, text), r.holding+len(text)
		return nil, nil
	}
	for r.to == nil && !r.closed {
		r.turn.Wait()
	}
	if r.closed {
		return nil, nil
	}
	return r.to, r.noted(text)
}

// noted notes a line of the host, and returns it with its end. The end of each request of ours that sets the same part
// of the session goes before it.
func (r *relay) noted(text []byte) (line []byte) {
	part := r.book.host(text)
	for id, again := range r.retold {
		if part != "" && again.part == part {
			again.part = ""
			params, _ := rawjson.Set([]byte(`{}`), json.RawMessage(id), "requestId")
			line = append(rpc.NewNotification("notifications/cancelled", params).Append(line), '\n')
		}
	}
	if line == nil {
		return append(text, '\n')
	}
	return append(append(line, text...), '\n')
}

// leave notes that the host has left, and tells the owner.
func (r *relay) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left = true
	close(r.leaving)
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
	id, method, _ := rpc.Head(text)
	r.mu.Lock()
	again := r.retold[string(id)]
	if method != "" || again == nil {
		r.book.owner(text)
		r.mu.Unlock()
		return true
	}
	delete(r.retold, string(id))
	r.mu.Unlock()
	m, err := rpc.Parse(text)
	if err != nil {
		m = rpc.ReplyError(id, rpc.Errorf(rpc.InternalError, "the answer is no message: %v", err))
	}
	r.settle(again, m)
	return false
}

// settle takes the answer to a request of ours.
func (r *relay) settle(again *retold, m *rpc.Message) {
	if again.answer != nil {
		again.answer <- m
		return
	}
	refused := m.Failure()
	if refused == nil {
		return
	}
	r.mu.Lock()
	counts := again.part != ""
	delete(r.book.standing, again.part)
	r.mu.Unlock()
	if counts {
		r.log.Warn("a request of the host does not count at the server that was started again", "method", again.method, "error", refused)
	}
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

// attach has an owner take lines, once it has been told all that the one before knew of the host: first those that were
// held for it.
func (r *relay) attach(l *life) {
	stale := r.stale()
	err := r.replay(l)
	for err == nil {
		line := r.release(l)
		if line == nil {
			for _, m := range stale {
				r.say(m.Append(nil))
			}
			return
		}
		if _, failed := l.in.Write(line); failed != nil {
			err = errOwner
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !errors.Is(err, errOwner) {
		r.failure = err
	}
	_ = l.conn.Close()
}

// stale returns the notifications by which the host reads anew the lists that it has from an owner before: the server
// was started again, and may offer others. Only lists that may change by the handshake are told of.
func (r *relay) stale() (all []*rpc.Message) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.book.welcome == nil || !r.book.initialized {
		return nil
	}
	for _, kind := range [...]string{"tools", "prompts", "resources"} {
		raw, _ := rawjson.Get([]byte(r.book.welcome.capabilities), kind, "listChanged")
		if changes, _ := rawjson.Bool(raw); changes {
			all = append(all, rpc.NewNotification("notifications/"+kind+"/list_changed", nil))
		}
	}
	return all
}

// release returns the next line that was held for an owner. If there is none, the owner takes lines from now on.
func (r *relay) release(l *life) (line []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.held) > 0 {
		text := r.held[0]
		r.held, r.holding = r.held[1:], r.holding-len(text)
		return r.noted(text)
	}
	r.held = nil // the memory
	if r.to = l.in; r.left {
		_ = r.to.Close()
	}
	r.turn.Broadcast()
	return nil
}

// detach has no owner take lines.
func (r *relay) detach() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.to = nil
}

// lost tells the host that an owner has ended, and reports whether another one can take its place, or why not. A host
// that has left with all answers needs none.
func (r *relay) lost() (goesOn bool, why error) {
	r.mu.Lock()
	lines := r.book.lost()
	goesOn, why = !r.left && !r.book.overfull && r.failure == nil, r.failure
	if r.left && why == nil && len(lines) == 0 {
		why = errLeft
	}
	clear(r.retold)
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
// remembers. No line of the host goes to anybody meanwhile. So only the answer to the handshake is waited for: before
// that an owner asks the host nothing, and for any other it may have to.
func (r *relay) replay(l *life) error {
	r.mu.Lock()
	hello, said, initialized := r.book.hello, r.book.welcome, r.book.initialized
	r.mu.Unlock()
	switch {
	case hello == nil:
		return nil
	case said == nil: // the host still waits for the answer
		return write(l.in, hello)
	}
	answer, err := r.greet(l, hello)
	if err != nil {
		return err
	}
	if *newWelcome(answer.Result) != *said {
		return errors.New("the server offers something else than before")
	}
	if initialized {
		err = write(l.in, rpc.NewNotification("notifications/initialized", nil))
	}
	for _, m := range r.standing() {
		if err == nil {
			err = write(l.in, m)
		}
	}
	return err
}

// greet makes the handshake again, and returns its answer, which the host does not get.
func (r *relay) greet(l *life, hello *rpc.Message) (*rpc.Message, error) {
	answer := make(chan *rpc.Message, 1)
	r.mu.Lock()
	m := r.again(hello, &retold{answer: answer})
	r.mu.Unlock()
	if err := write(l.in, m); err != nil {
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
	case <-r.leaving:
		return nil, errLeft
	case <-time.After(replayTime):
		return nil, fmt.Errorf("%s: no answer in time", m.Method)
	}
}

// standing returns the requests that a session remembers, as an owner is told them again.
func (r *relay) standing() (all []*rpc.Message) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for part, m := range r.book.standing {
		all = append(all, r.again(m, &retold{method: m.Method, part: part}))
	}
	return all
}

// again returns a request of the host under an id of ours, whose answer the host does not get.
func (r *relay) again(m *rpc.Message, again *retold) *rpc.Message {
	id := rawjson.Quote(ours + rand.Text())
	r.retold[string(id)] = again
	return rpc.NewRequest(id, m.Method, m.Params)
}

// ours is the beginning of our ids. The rest is random: the host has requests on their way at the same time.
const ours = "weir-again-"

func write(to io.Writer, m *rpc.Message) error {
	if _, err := to.Write(append(m.Append(nil), '\n')); err != nil {
		return errOwner
	}
	return nil
}
