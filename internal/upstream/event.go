package upstream

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"time"
)

// errEventTooLong says that an event is larger than it may be.
var errEventTooLong = errors.New("event is too long")

// An event is a server-sent event (HTML Living Standard, 9.2).
type event struct {
	name  string // "" is message
	data  []byte // its data lines, joined with newlines; nobody else's
	id    string // the last event id, of this event or an earlier one
	retry time.Duration
}

// An eventReader reads server-sent events of bounded size.
type eventReader struct {
	in    *bufio.Reader
	limit int
	id    string
	retry time.Duration // 0 until the stream sets it
}

func newEventReader(r io.Reader, limit int) *eventReader {
	return &eventReader{in: bufio.NewReaderSize(r, 64<<10), limit: limit}
}

// next returns the next event that has data. An event that the end of the stream cuts off is dropped, as the standard
// has it. The error is that of the reader, io.EOF at its end, or errEventTooLong; it is final.
func (r *eventReader) next() (event, error) {
	var e event
	size := 0
	hasData := false
	for {
		line, err := r.line(r.limit - size)
		if err != nil {
			return event{}, err
		}
		if len(line) > 0 && line[0] == ':' {
			continue // a comment, which keeps the connection alive
		}
		size += len(line)
		if len(line) == 0 {
			if hasData {
				e.id, e.retry = r.id, r.retry
				return e, nil
			}
			e, size = event{}, 0
			continue
		}
		name, value, _ := bytes.Cut(line, []byte{':'})
		value = bytes.TrimPrefix(value, []byte{' '})
		switch string(name) {
		case "data":
			if hasData {
				e.data = append(e.data, '\n')
			}
			e.data, hasData = append(e.data, value...), true
		case "event":
			e.name = string(value)
		case "id":
			if bytes.IndexByte(value, 0) < 0 && len(value) <= 1024 {
				r.id = string(value)
			}
		case "retry":
			if n, err := strconv.ParseUint(string(value), 10, 31); err == nil {
				r.retry = time.Duration(n) * time.Millisecond
			}
		}
	}
}

// line returns the next line without its end, LF or CRLF. It is valid until the next call. A line that the end of the
// stream cuts off is none. The standard's third end, a lone CR, is not known; nobody writes it.
func (r *eventReader) line(most int) ([]byte, error) {
	var long []byte
	for {
		part, err := r.in.ReadSlice('\n')
		switch {
		case len(long)+len(part) > most+2:
			return nil, errEventTooLong
		case err == bufio.ErrBufferFull:
			if free := cap(long) - len(long); free < len(part) {
				long = append(make([]byte, 0, 2*cap(long)+2*len(part)), long...)
			}
			long = append(long, part...)
			continue
		case err != nil:
			return nil, err
		case long != nil:
			part = append(long, part...)
		}
		return bytes.TrimSuffix(part[:len(part)-1], []byte{'\r'}), nil
	}
}
