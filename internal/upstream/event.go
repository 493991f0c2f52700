package upstream

import (
	"bufio"
	"bytes"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

const (
	eventBuffer = 8 << 10 // an idle session with a server holds one or two
	longestID   = 1 << 10 // bytes of an event's id, which is sent back
)

// An event is a server-sent event (HTML Living Standard, 9.2).
type event struct {
	name string // "" is message
	data []byte // its data lines, joined with newlines; nobody else's, up to its capacity
}

// isMessage reports whether the event carries a message. One without data only numbers the next ones (SEP-1699).
func (e *event) isMessage() bool { return (e.name == "" || e.name == "message") && len(e.data) > 0 }

// streams reads the event streams of one server.
type streams struct {
	limit   int          // bytes of an event
	long    atomic.Int64 // length of the last line that did not fit a buffer
	buffers sync.Pool    // of readers that were released
	memory  memory
}

// An eventReader reads server-sent events of bounded size.
type eventReader struct {
	of    *streams
	in    *bufio.Reader
	id    string        // of the event that is being read, or an earlier one
	last  string        // of the last event that came whole
	retry time.Duration // 0 until the stream sets it
}

// reader returns a reader that has to be released.
func (s *streams) reader(r io.Reader) *eventReader {
	in, ok := s.buffers.Get().(*bufio.Reader)
	if !ok {
		in = bufio.NewReaderSize(r, eventBuffer)
	}
	in.Reset(r)
	return &eventReader{of: s, in: in}
}

// release gives the buffer to others. The reader must not be used any more.
func (r *eventReader) release() {
	r.in.Reset(nil)
	r.of.buffers.Put(r.in)
	r.in = nil
}

// next returns the next event that has data. An event that the end of the stream cuts off is dropped, as the standard
// has it. The error is that of the reader, io.EOF at its end, or a [*tooLong]; it is final.
func (r *eventReader) next() (event, error) {
	var e event
	size := 0
	hasData := false
	for {
		line, owned, err := r.line(r.of.limit - size)
		if err != nil {
			return event{}, err
		}
		if len(line) > 0 && line[0] == ':' {
			continue // a comment, which keeps the connection alive
		}
		size += len(line)
		if len(line) == 0 {
			r.last = r.id
			if hasData {
				return e, nil
			}
			e, size = event{}, 0
			continue
		}
		name, value, _ := bytes.Cut(line, []byte{':'})
		value = bytes.TrimPrefix(value, []byte{' '})
		switch {
		case string(name) != "data":
			r.field(&e, name, value)
		case hasData:
			e.data = append(append(e.data, '\n'), value...)
		case owned:
			e.data, hasData = value, true
		default:
			e.data, hasData = bytes.Clone(value), true
		}
	}
}

// field takes a field that is not data.
func (r *eventReader) field(e *event, name, value []byte) {
	switch string(name) {
	case "event":
		e.name = string(value)
	case "id":
		if bytes.IndexByte(value, 0) < 0 && len(value) <= longestID {
			r.id = string(value)
		}
	case "retry":
		if n, err := strconv.ParseUint(string(value), 10, 31); err == nil {
			r.retry = time.Duration(n) * time.Millisecond
		}
	}
}

// line returns the next line without its end, LF or CRLF. It is valid until the next call, or if it is owned, nobody
// else's up to its capacity. A line that the end of the stream cuts off is none. The standard's third end, a lone CR,
// is not known; nobody writes it.
func (r *eventReader) line(most int) (_ []byte, owned bool, err error) {
	var long []byte
	for {
		part, err := r.in.ReadSlice('\n')
		switch {
		case len(long)+len(part) > most+2:
			return nil, false, &tooLong{r.of.limit}
		case err == bufio.ErrBufferFull:
			long = append(r.of.memory.room(long, len(part), int(r.of.long.Load()), r.of.limit), part...)
			continue
		case err != nil:
			return nil, false, err
		case long == nil:
			return trimEnd(part), false, nil
		}
		long = append(r.of.memory.room(long, len(part), int(r.of.long.Load()), r.of.limit), part...)
		r.of.long.Store(int64(len(long)))
		return trimEnd(long), true, nil
	}
}

// trimEnd cuts the end of a line off.
func trimEnd(line []byte) []byte { return bytes.TrimSuffix(line[:len(line)-1], []byte{'\r'}) }
