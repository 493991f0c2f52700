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
		data = append(grow(data, len(part), l.limit), part...)
		if err != bufio.ErrBufferFull {
			return trimEnd(data), nil
		}
	}
}

// grow makes room for n more bytes. It doubles, so that a long line is copied about once, but never beyond the limit.
func grow(data []byte, n, limit int) []byte {
	if cap(data)-len(data) >= n {
		return data
	}
	grown := make([]byte, len(data), max(len(data)+n, min(2*cap(data), limit)))
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
