//go:build linux

// Package attach has one process decide for the weir wraps of one host, so that they share the memory of agent
// sessions.
//
// A wrap carries the lines of the host to that process, the owner of package owner, and back, and keeps the server: it
// alone starts and ends it, as its own child, and takes the signals. The owner runs the gateway on those lines and on
// the streams of the server. So nothing that the owner is told to do starts a program, and the server runs with the
// variables, in the folder and within the confinement of the wrap, as it would without an owner.
//
//	status, err := attach.Run(ctx, client, head, attach.Wrap{Host: host, Start: start, …}) // in weir wrap
//
//	guest, err := attach.Accept(conn)                                                      // in the owner
//	status := guest.Serve(ctx, serve)
//
// After the head, messages are JSON in frames of package owner's form; some bring descriptors:
//
//	wrap:  {"op":"streams"} with a pipe from the host, one to it, and standard error     owner: {"op":"ready"}
//	wrap:  {"op":"go"}, from which moment on the host is read
//	owner: {"op":"start","child":1}     wrap: {"op":"started","child":1,"pid":4711} with the ends of its input and
//	                                          output, or {"op":"failed","child":1,"error":"…"}
//	owner: {"op":"terminate","child":1} or {"op":"kill","child":1}
//	wrap:  {"op":"ended","child":1,"status":2} or {"op":"ended","child":1,"signal":9}
//	owner: {"op":"heard","heard":{…}}, before the host is shown text outside of answers; the next owner gets the last
//	                                   one with "streams"
//	wrap:  {"op":"stop"}                owner: {"op":"done","status":0}
//
// Promises:
//
//   - Until "go" nothing is read or written, so that a wrap whose owner fails before goes on alone ([ErrAlone]).
//   - A wrap that ends, in whatever way, ends its gateway in the owner. An owner that ends takes the server with it.
//   - When the owner ends before it is done, another one takes its place, with a new process of the server. It is told
//     the label of text that the host was shown, the handshake and the requests that a session remembers, and nothing
//     else that the host has sent before: no call is made twice. Each request of the host gets one answer, an error for
//     those that were open. Requests of the old owner to the host are cancelled, and their ids are not used again, so
//     that no late answer counts. The host is told that lists have changed, where the handshake says that they may.
//   - A wrap ends with its owner where no other can take its place: after the fourth end in 10 s, where the host has
//     left, or where the server offers something else than before.
//   - Owner and wrap are the same program, of the same user, in the same namespaces and under the same confinement;
//     the parent of the wrap is the one that the owner is for, and so are the variables that programs inherit: see
//     [Key].
package attach

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// ErrAlone says that nothing was read or written: the wrap can decide by itself.
var ErrAlone = errors.New("no process can be shared")

// MaxHeard is how long the label that a wrap keeps may be, in bytes.
const MaxHeard = 32 << 10

// Operations of messages.
const (
	opStreams   = "streams"
	opReady     = "ready"
	opGo        = "go"
	opStart     = "start"
	opStarted   = "started"
	opFailed    = "failed"
	opTerminate = "terminate"
	opKill      = "kill"
	opEnded     = "ended"
	opHeard     = "heard"
	opStop      = "stop"
	opDone      = "done"
)

const (
	maxMessage = 64 << 10
	maxFiles   = 3
	maxHeard   = MaxHeard
	sendTime   = 5 * time.Second // for the other side to take a message
)

// A message is one of the protocol, with the descriptors that it brings.
type message struct {
	Op     string `json:"op"`
	Child  int    `json:"child,omitempty"`
	PID    int    `json:"pid,omitempty"`
	Status int    `json:"status,omitempty"`
	Signal int    `json:"signal,omitempty"`
	Error  string `json:"error,omitempty"`
	Errno  int    `json:"errno,omitempty"` // of the system, behind the error

	Heard json.RawMessage `json:"heard,omitempty"` // the label of text that the host was shown

	files []*os.File
}

// close closes the descriptors that nobody took.
func (m *message) close() {
	for _, f := range m.files {
		_ = f.Close()
	}
	m.files = nil
}

// A line carries messages. Both directions are safe for use by several goroutines, but only one may receive.
type line struct {
	conn    *net.UnixConn
	sending sync.Mutex
}

// send sends a message. Its files stay open here. After an error nothing goes on: a part of the message may have gone.
func (l *line) send(m *message) (err error) {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	var rights []byte
	for _, f := range m.files {
		raw, err := f.SyscallConn() // not Fd, which has a descriptor block from then on
		if err != nil {
			return err
		}
		if err := raw.Control(func(fd uintptr) { rights = append(rights, syscall.UnixRights(int(fd))...) }); err != nil {
			return err
		}
	}
	l.sending.Lock()
	defer l.sending.Unlock()
	if err := l.conn.SetWriteDeadline(time.Now().Add(sendTime)); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = l.conn.Close()
		}
	}()
	frame := append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...)
	n, _, err := l.conn.WriteMsgUnix(frame, rights, nil)
	if err == nil && n < len(frame) {
		_, err = l.conn.Write(frame[n:])
	}
	return err
}

// receive returns the next message.
func (l *line) receive() (m *message, err error) {
	m = new(message)
	defer func() {
		if err != nil {
			m.close()
		}
	}()
	var size [4]byte
	space := make([]byte, syscall.CmsgSpace(4)*maxFiles)
	n, rights, flags, _, err := l.conn.ReadMsgUnix(size[:], space)
	if err != nil {
		return m, err
	}
	if m.files, err = filesOf(space[:rights]); err != nil || flags&syscall.MSG_CTRUNC != 0 {
		return m, errors.Join(err, errors.New("the other side sent too many descriptors"))
	}
	if n == 0 {
		return m, io.EOF
	}
	if _, err := io.ReadFull(l.conn, size[n:]); err != nil {
		return m, err
	}
	length := binary.BigEndian.Uint32(size[:])
	if length > maxMessage {
		return m, errors.New("the other side sent a message that is too long")
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(l.conn, text); err != nil {
		return m, err
	}
	return m, json.Unmarshal(text, m)
}

// filesOf returns the files of the descriptors that came with a message.
func filesOf(control []byte) (files []*os.File, err error) {
	if len(control) == 0 {
		return nil, nil
	}
	parts, err := syscall.ParseSocketControlMessage(control)
	if err != nil {
		return nil, err
	}
	for i := range parts {
		fds, err := syscall.ParseUnixRights(&parts[i])
		if err != nil {
			continue // of another kind
		}
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), fmt.Sprint("stream ", len(files))))
		}
	}
	return files, nil
}
