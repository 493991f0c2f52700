package rpc

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"runtime"
	"slices"
)

// readBuffer is the size of a line reader's buffer, that of a pipe on Linux.
const readBuffer = 64 << 10

// A line is the output of a line reader: a line, or an error.
type line struct {
	data []byte // without its end; nobody else's
	err  error  // a *BadMessage, or the reader's error, io.EOF included
	end  bool   // nothing follows
	late bool   // err is a timeout of a reader with deadlines
}

// A lineReader splits its input into lines of bounded length.
type lineReader struct {
	in    *bufio.Reader
	from  source // of in
	limit int
	last  int     // length of the last line that did not fit the buffer
	long  []byte  // the beginning of a line that does not fit the buffer, as far as it has been read
	over  *excess // likewise, of one that is too long; nil if it is not
	err   error   // that ended the input

	outgrown bool // whether a long line was copied to a larger buffer since tidy
}

// An excess is the kept part of a line that is too long.
type excess struct {
	saw    *glance
	prefix []byte
}

// A source is a reader with what was read of it too early.
type source struct {
	io.Reader
	early []byte
}

func (s *source) Read(p []byte) (n int, err error) {
	if len(s.early) == 0 {
		return s.Reader.Read(p)
	}
	n = copy(p, s.early)
	if s.early = s.early[n:]; len(s.early) == 0 {
		s.early = nil // the memory
	}
	return n, nil
}

func newLineReader(r io.Reader, limit int) *lineReader {
	l := &lineReader{from: source{Reader: r}, limit: limit}
	l.in = bufio.NewReaderSize(&l.from, readBuffer)
	return l
}

// ready reports whether a line can be returned without reading.
func (l *lineReader) ready() bool {
	buffered, _ := l.in.Peek(l.in.Buffered())
	return bytes.IndexByte(buffered, '\n') >= 0
}

// next returns the next line that is not blank, or the timeout of a reader with deadlines: then it goes on where it
// was.
func (l *lineReader) next() line {
	for l.err == nil {
		part, err := l.in.ReadSlice('\n')
		if err == bufio.ErrBufferFull {
			l.add(part)
			part, err = nil, l.goOn()
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err != nil && isTimeout(err):
			l.add(part)
			return line{err: err, late: true}
		}
		l.err = err
		if found := l.end(trimEnd(part)); found.err != nil || len(bytes.Trim(found.data, " \t\r")) > 0 {
			return found
		}
	}
	return line{err: l.err, end: true}
}

// add takes a part of a line that is not its end.
func (l *lineReader) add(part []byte) {
	switch {
	case len(part) == 0:
	case l.over != nil:
		l.over.saw.look(part)
	case len(l.long)+len(part) <= l.limit+1: // for a CR, until it is known what follows
		l.long = append(l.grow(l.long, len(part)), part...)
	default:
		l.exceed(part)
	}
}

// goOn reads a line that does not fit the buffer on into its own memory, as far as there is room. It returns
// [bufio.ErrBufferFull] where the line does not end there.
func (l *lineReader) goOn() error {
	for l.over == nil {
		size, most := len(l.long), min(cap(l.long)-spare, l.limit, len(l.long)+longLine)
		if most-size < readBuffer { // less would go by way of the buffer
			break
		}
		n, err := l.in.Read(l.long[size:most])
		l.long = l.long[:size+n]
		if end := bytes.IndexByte(l.long[size:], '\n') + 1; end > 0 {
			l.from.early = slices.Concat(l.long[size+end:], l.from.early)
			l.long = l.long[:size+end]
			return nil
		}
		if err != nil {
			return err
		}
	}
	return bufio.ErrBufferFull
}

// end takes the last part of a line.
func (l *lineReader) end(part []byte) line {
	if l.long == nil && l.over == nil && len(part) <= l.limit {
		return line{data: bytes.Clone(part)}
	}
	if l.add(part); l.over == nil && len(trimEnd(l.long)) > l.limit {
		l.exceed(nil)
	}
	data, over := trimEnd(l.long), l.over
	l.long, l.over = nil, nil
	if over != nil {
		return line{err: over.saw.bad(Errorf(InvalidRequest, "message is longer than %d bytes", l.limit), over.prefix)}
	}
	l.last = len(data)
	return line{data: data}
}

// exceed releases a line that has become too long but for the members that tell its request.
func (l *lineReader) exceed(part []byte) {
	l.over = &excess{glanceAt(l.long), bytes.Clone(l.long[:min(len(l.long), rawPrefix)])}
	l.over.prefix = append(l.over.prefix, part[:min(len(part), rawPrefix)]...)
	l.over.saw.look(part)
	l.long = nil
}

// spare is how much room is left behind a long line, for additions to its message.
const spare = 4 << 10

// longLine is the length from which on a line is expected to become as long as the last that was.
const longLine = 1 << 20

// grow makes room for n more bytes, but not much beyond the limit. It doubles, so that a long line is copied about
// once. A line that has become long gets the room that the last long one needed: they tend to come in series.
func (l *lineReader) grow(data []byte, n int) []byte {
	if cap(data)-len(data) >= n {
		return data
	}
	size := 2 * max(cap(data), readBuffer)
	if size > longLine && l.last > size {
		size = l.last
		l.tidy()
	}
	if cap(data) > longLine {
		l.outgrown = true
	}
	grown := make([]byte, len(data), max(len(data)+n, min(size, l.limit))+spare)
	copy(grown, data)
	return grown
}

// tidy collects the memory of earlier long lines. By itself the collector would come late: the memory in use while they
// grew, twice as much as was needed, tells it how much may come into use.
func (l *lineReader) tidy() {
	if l.outgrown {
		l.outgrown = false
		runtime.GC()
	}
}

// trimEnd cuts the end of a line off, LF or CRLF.
func trimEnd(line []byte) []byte {
	line = bytes.TrimSuffix(line, []byte{'\n'})
	return bytes.TrimSuffix(line, []byte{'\r'})
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}
