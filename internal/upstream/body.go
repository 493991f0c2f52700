package upstream

import (
	"fmt"
	"io"
	"net/http"
)

const (
	firstRoom = 4 << 10  // bytes that are made room for where nothing says how many come
	believed  = 1 << 20  // bytes that a server may announce and have room for before it sends them
	spare     = 4 << 10  // room behind what is large, for what is added to its message
	largeRoom = 64 << 10 // from where on it has that
)

// A tooLong is the error for a body or an event of more bytes than may be read.
type tooLong struct{ limit int }

func (e *tooLong) Error() string { return fmt.Sprintf("message is longer than %d bytes", e.limit) }

// readBody reads a response to its end and closes it. The memory that it returns, up to its capacity, is nobody else's. The
// error is a [*tooLong] or that of reading, with what has been read by then.
func readBody(resp *http.Response, limit int) (data []byte, err error) {
	defer resp.Body.Close()
	announced := int(max(0, min(resp.ContentLength, int64(limit)+1)))
	if announced > limit {
		return nil, &tooLong{limit}
	}
	for {
		if len(data) == cap(data) {
			data = makeRoom(data, 1, announced, limit)
		}
		// One byte more than allowed is read to tell a body that fits from one that does not.
		n, err := resp.Body.Read(data[len(data):min(cap(data), limit+1)])
		data = data[:len(data)+n]
		switch {
		case len(data) > limit:
			return data, &tooLong{limit}
		case err == io.EOF:
			return data, nil
		case err != nil:
			return data, err
		}
	}
}

// makeRoom makes room for n more bytes, of which expected will come in all if that is not 0: all get room at once if they are
// few, or when many have come. Else it doubles, so that data is copied about once. There is room for one byte more than
// the limit.
func makeRoom(data []byte, n, expected, limit int) []byte {
	if cap(data)-len(data) >= n {
		return data
	}
	size := 2 * cap(data)
	switch {
	case expected == 0:
		size = max(size, firstRoom)
	case size == 0:
		size = min(expected, believed)
	case size > believed:
		size = max(size, expected)
	}
	size = max(min(size, limit), len(data)+n) + 1
	if size > largeRoom {
		size += spare
	}
	grown := make([]byte, len(data), size)
	copy(grown, data)
	return grown
}
