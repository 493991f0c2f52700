package upstream

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"runtime/metrics"
	"sync/atomic"
)

const (
	firstRoom = 4 << 10  // bytes that are made room for where nothing says how many come
	believed  = 1 << 20  // bytes that a server may announce and have room for before it sends them
	spare     = 4 << 10  // room behind a large body, for additions to its message
	largeRoom = 64 << 10 // from where on it has that
)

// A tooLong is the error for a body or an event of more bytes than may be read.
type tooLong struct{ limit int }

func (e *tooLong) Error() string { return fmt.Sprintf("message is longer than %d bytes", e.limit) }

// A memory makes room for a body. It has garbage collected before long messages double the memory in use: by itself the
// collector waits until as much is garbage as is live, and a long message is garbage as soon as it was handed on. The
// zero memory is ready to use.
type memory struct{ made atomic.Int64 } // bytes for long messages since garbage was collected

// body reads a response to its end and closes it. The memory that it returns, up to its capacity, is nobody else's. The
// error is a [*tooLong] or that of reading, with the bytes that have been read by then.
func (m *memory) body(resp *http.Response, limit int) (data []byte, err error) {
	defer resp.Body.Close()
	announced := int(max(0, min(resp.ContentLength, int64(limit)+1)))
	if announced > limit {
		return nil, &tooLong{limit}
	}
	for {
		if len(data) == cap(data) {
			data = m.room(data, 1, announced, limit)
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

// room makes room for n more bytes, as roomFor has it.
func (m *memory) room(data []byte, n, expected, limit int) []byte {
	if cap(data)-len(data) >= n {
		return data
	}
	size := roomFor(len(data)+n, cap(data), expected, limit)
	if size > believed {
		m.tidy(int64(size))
	}
	grown := make([]byte, len(data), size)
	copy(grown, data)
	return grown
}

// tidy has garbage collected if much was made since the last time. Its cost grows with the live memory, and so does the
// amount that counts as much.
func (m *memory) tidy(size int64) {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	if live[0].Value.Kind() != metrics.KindUint64 {
		return
	}
	if made := m.made.Add(size); uint64(made) >= live[0].Value.Uint64()/4 && m.made.CompareAndSwap(made, 0) {
		runtime.GC()
	}
}

// roomFor returns the size of room for need bytes that is to take the place of some, where expected will come in all if
// that is not 0: all get room at once if they are few, or when many have come. Else it doubles, so that data is copied
// about once. There is room for one byte more than the limit.
func roomFor(need, some, expected, limit int) int {
	size := 2 * some
	switch {
	case expected == 0:
		size = max(size, firstRoom)
	case size == 0:
		size = min(expected, believed)
	case size > believed:
		size = max(size, expected)
	}
	size = max(min(size, limit), need) + 1
	if size > largeRoom {
		size += spare
	}
	return size
}
