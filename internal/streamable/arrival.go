package streamable

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/weir-mcp/weir/internal/budget"
)

const (
	bodyTimeout = 2 * time.Minute // for a request to arrive after its header
	firstRoom   = 4 << 10         // bytes of a body that there is room for before any has come
)

// limitBody gives the body of r time to arrive. What is not read of it the server reads before it answers, so
// the deadline is for refused requests too; readBody takes it back. A server's ReadTimeout would also end long
// answers.
func limitBody(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		// Writers that know no deadlines are those of tests.
		http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout))
	}
}

// LimitBody returns a handler that gives the bodies of requests time to arrive, for handlers in front of a [Handler]
// that may refuse them.
func LimitBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		limitBody(w, r)
		next.ServeHTTP(w, r)
	})
}

// readBody reads the body of r into memory that counts in the budget until the lease is released, which the caller must
// do.
func readBody(w http.ResponseWriter, r *http.Request, limit int64, pool *budget.Pool) ([]byte, *budget.Lease, *refusal) {
	tooLarge := &refusal{
		status: http.StatusRequestEntityTooLarge,
		text:   fmt.Sprintf("body exceeds %d bytes", limit),
	}
	lease, _ := pool.Acquire(0)
	if r.ContentLength > limit {
		return nil, lease, tooLarge
	}
	a := &arrival{lease: lease, rc: http.NewResponseController(w)}
	c := clientOf(r)
	c.owes(a)
	data, err := take(a, c, http.MaxBytesReader(w, r.Body, limit), r.ContentLength)
	c.isOwed()
	switch _, large := errors.AsType[*http.MaxBytesError](err); {
	case large:
		return nil, lease, tooLarge
	case a.shed.Load() || errors.Is(err, errNoRoom):
		pool.Refused()
		return nil, lease, unavailable("too many bytes are on their way")
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, lease, &refusal{status: http.StatusRequestTimeout, text: "body took too long"}
	case err != nil:
		return nil, lease, &refusal{status: http.StatusBadRequest, text: "body could not be read"}
	}
	a.rc.SetReadDeadline(time.Time{})
	return data, lease, nil
}

// errNoRoom says that the budget has no bytes left.
var errNoRoom = errors.New("no room")

// take reads a body of an announced length, -1 if that is not known, to its end.
func take(a *arrival, c *client, from io.Reader, announced int64) (data []byte, err error) {
	for {
		if len(data) == cap(data) {
			size := max(2*cap(data), firstRoom)
			if announced >= 0 {
				size = max(min(size, int(announced)+1), len(data)+1) // one byte more tells the end
			}
			if !room(a, c, int64(size-cap(data))) {
				return nil, errNoRoom
			}
			data = append(make([]byte, 0, size), data...)
		}
		n, err := from.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		switch {
		case err == io.EOF:
			return data, nil
		case err != nil:
			return nil, err
		}
	}
}

// room takes n bytes of the budget for an arrival. If there are none, those give way that began to arrive the longest
// ago, so that bodies which never end keep nobody out; the arrival itself, if that is the one.
func room(a *arrival, c *client, n int64) bool {
	for !a.lease.Grow(n) {
		if c == nil || a.shed.Load() {
			return false
		}
		old := c.of.longest(func(c *client) bool { return c.arrival != nil && !c.arrival.shed.Load() })
		if old == nil || old == c || !old.shed() {
			return false
		}
	}
	return true
}
