package rpc

import (
	"bufio"
	"bytes"
	"io"
)

// readBuffer is the size of a line reader's buffer, that of a pipe on Linux.
const readBuffer = 64 << 10

// A line is what a line reader found: a line, or an error.
type line struct {
	data []byte // without its end; nobody else's
	err  error  // a *BadMessage, or the reader's error, io.EOF included
	end  bool   // nothing follows
}

// A lineReader splits its input into lines of bounded length.
type lineReader struct {
	in    *bufio.Reader
	limit int
	last  int   // length of the last line that did not fit the buffer
	err   error // that ended the input
}

func newLineReader(r io.Reader, limit int) *lineReader {
	return &lineReader{in: bufio.NewReaderSize(r, readBuffer), limit: limit}
}

// next returns the next line that is not blank.
func (l *lineReader) next() line {
	for l.err == nil {
		data, bad := l.line()
		switch {
		case bad != nil:
			return line{err: bad}
		case len(bytes.Trim(data, " \t\r")) > 0:
			return line{data: data}
		}
	}
	return line{err: l.err, end: true}
}

// line reads to the end of the line, or of the input.
func (l *lineReader) line() ([]byte, *BadMessage) {
	var data []byte
	for {
		part, err := l.in.ReadSlice('\n')
		if err != bufio.ErrBufferFull {
			l.err = err
			part = trimEnd(part)
		}
		if len(data)+len(part) > l.limit {
			return nil, l.skip(data, part, err == bufio.ErrBufferFull)
		}
		if err != bufio.ErrBufferFull && data == nil {
			return bytes.Clone(part), nil
		}
		data = append(l.grow(data, len(part)), part...)
		if err != bufio.ErrBufferFull {
			l.last = len(data)
			return trimEnd(data), nil
		}
	}
}

// longLine is the length from which on a line is expected to become as long as the last that was.
const longLine = 1 << 20

// grow makes room for n more bytes, but never beyond the limit. It doubles, so that a long line is copied about once. A
// line that has become long gets the room that the last long one needed: they tend to come in series, and memory that
// is outgrown stays in use until the next collection.
func (l *lineReader) grow(data []byte, n int) []byte {
	if cap(data)-len(data) >= n {
		return data
	}
	size := 2 * max(cap(data), readBuffer)
	if size > longLine {
		size = max(size, l.last)
	}
	grown := make([]byte, len(data), max(len(data)+n, min(size, l.limit)))
	copy(grown, data)
	return grown
}

// skip reads on to the end of a line that is too long, of which it is given the beginning, and what came after that.
func (l *lineReader) skip(data, part []byte, more bool) *BadMessage {
	prefix := append(bytes.Clone(data[:min(len(data), rawPrefix)]), part[:min(len(part), rawPrefix)]...)
	saw := glanceAt(data)
	saw.look(part)
	data = nil
	for more {
		part, err := l.in.ReadSlice('\n')
		saw.look(part)
		if more = err == bufio.ErrBufferFull; !more {
			l.err = err
		}
	}
	return saw.bad(Errorf(InvalidRequest, "message is longer than %d bytes", l.limit), prefix)
}

// trimEnd cuts the end of a line off, LF or CRLF.
func trimEnd(line []byte) []byte {
	line = bytes.TrimSuffix(line, []byte{'\n'})
	return bytes.TrimSuffix(line, []byte{'\r'})
}
