package streamable

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

const (
	// writeTimeout is how long a client may take to accept one chunk of a response, and closeTimeout how long
	// it may take for all that is left when the handler closes.
	writeTimeout = 30 * time.Second
	closeTimeout = 2 * time.Second
	chunkSize    = 256 << 10
)

// An answer is one HTTP response: a single JSON message or a stream of events, as the first message decides. It
// belongs to the goroutine of its HTTP request.
type answer struct {
	w         http.ResponseWriter
	rc        *http.ResponseController
	keepAlive time.Duration
	closing   context.Context // done when the handler closes
	sessionID string          // sent along, unless the only message is an error
	eager     bool            // the client would rather have a stream than one JSON message
	streaming bool            // the header for a stream is out

	mu    sync.Mutex
	final bool // the write deadline stays as it is
}

// run sends the messages in box until a response was sent, and returns that response. It returns an error if the
// client is gone (ctx is that of the HTTP request) or the box was sealed.
func (a *answer) run(ctx context.Context, box *outbox) (last part, err error) {
	stop := context.AfterFunc(a.closing, func() { a.lastDeadline(closeTimeout) })
	defer stop()
	defer a.lastDeadline(writeTimeout) // nothing may touch the response after its request
	silence := time.NewTicker(a.keepAlive)
	defer silence.Stop()
	for {
		if ctx.Err() != nil {
			return part{}, ctx.Err()
		}
		p, ok, over := box.next()
		switch {
		case ok && p.kind == response:
			return p, a.finish(p)
		case ok:
			if err := a.event(p); err != nil {
				return part{}, err
			}
			silence.Reset(a.keepAlive)
			continue
		case over:
			return part{}, errors.Join(errEnded, a.flush())
		}
		if err := a.flush(); err != nil {
			return part{}, err
		}
		select {
		case <-box.wake:
		case <-ctx.Done():
		case <-silence.C:
			if err := a.comment("keep-alive"); err != nil {
				return part{}, err
			}
		}
	}
}

// finish sends the last message.
func (a *answer) finish(p part) error {
	if a.streaming || a.eager && !p.failed {
		return a.event(p)
	}
	a.begin("application/json", p.failed)
	a.w.Header().Set("Cache-Control", "no-store")
	a.w.Header().Set("Content-Length", strconv.FormatInt(p.size, 10))
	a.w.WriteHeader(p.status)
	return a.send(p.data...)
}

// event sends a message as one event of a stream.
func (a *answer) event(p part) error {
	if err := a.stream(); err != nil {
		return err
	}
	if err := a.send([]byte("data: ")); err != nil {
		return err
	}
	if err := a.send(p.data...); err != nil {
		return err
	}
	return a.send([]byte("\n\n"))
}

// comment sends a line that means nothing, so that something is sent, and flushes.
func (a *answer) comment(text string) error {
	if err := a.stream(); err != nil {
		return err
	}
	if err := a.send([]byte(": " + text + "\n\n")); err != nil {
		return err
	}
	return a.flush()
}

// stream makes the response a stream, if it is not one yet.
func (a *answer) stream() error {
	if a.streaming {
		return nil
	}
	a.streaming = true
	a.begin("text/event-stream", false)
	a.w.Header().Set("Cache-Control", "no-cache, no-transform")
	a.w.Header().Set("X-Accel-Buffering", "no") // reverse proxies hold streams back otherwise
	a.w.WriteHeader(http.StatusOK)
	return nil
}

// begin sets the header fields that all responses have.
func (a *answer) begin(contentType string, failed bool) {
	a.w.Header().Set("Content-Type", contentType)
	if a.sessionID != "" && !failed {
		a.w.Header().Set(sessionHeader, a.sessionID)
	}
}

// send writes pieces in chunks, each with its own deadline.
func (a *answer) send(pieces ...[]byte) error {
	for _, piece := range pieces {
		for chunk := range slices.Chunk(piece, chunkSize) {
			a.deadline(writeTimeout)
			if _, err := a.w.Write(chunk); err != nil {
				return err
			}
		}
	}
	return nil
}

// deadline gives the client time to accept the next write. Writers that know no deadlines are those of
// tests.
func (a *answer) deadline(d time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.final {
		a.rc.SetWriteDeadline(time.Now().Add(d))
	}
}

// lastDeadline sets a deadline that stays.
func (a *answer) lastDeadline(d time.Duration) {
	a.deadline(d)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.final = true
}

// flush passes written bytes to the network.
func (a *answer) flush() error {
	if !a.streaming {
		return nil
	}
	if err := a.rc.Flush(); !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}
