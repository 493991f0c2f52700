package streamable

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"
)

const (
	// writeTimeout is how long a client may take to accept one chunk of a response.
	writeTimeout = 30 * time.Second
	chunkSize    = 256 << 10
)

// errEnded says that an outbox was sealed before a response came.
var errEnded = errors.New("stream ended")

// An answer is one HTTP response: a single JSON message or a stream of events, as the first message decides. It belongs
// to the goroutine of its HTTP request.
type answer struct {
	w         http.ResponseWriter
	rc        *http.ResponseController
	sessionID string // sent along, unless the only message is an error
	streaming bool   // the header for a stream is out
}

func newAnswer(w http.ResponseWriter) *answer {
	return &answer{w: w, rc: http.NewResponseController(w)}
}

// run sends what comes into box until a response was sent, and returns that response. It returns an error if the
// client is gone (ctx is that of the HTTP request) or the box was sealed.
func (a *answer) run(ctx context.Context, box *outbox, keepAlive time.Duration) (last part, err error) {
	silence := time.NewTicker(keepAlive)
	defer silence.Stop()
	for {
		p, ok, over := box.next()
		switch {
		case ctx.Err() != nil:
			return part{}, ctx.Err()
		case ok && p.kind == response:
			return p, a.finish(p)
		case ok:
			if err := a.event(p.data); err != nil {
				return part{}, err
			}
			silence.Reset(keepAlive)
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
	if a.streaming {
		return a.event(p.data)
	}
	a.begin("application/json", p.failed)
	a.w.Header().Set("Cache-Control", "no-store")
	a.w.Header().Set("Content-Length", strconv.Itoa(len(p.data)))
	a.w.WriteHeader(p.status)
	return a.send(p.data)
}

// event sends data, which has no line breaks, as one event of a stream.
func (a *answer) event(data []byte) error {
	if err := a.stream(); err != nil {
		return err
	}
	for _, piece := range [][]byte{[]byte("data: "), data, []byte("\n\n")} {
		if err := a.send(piece); err != nil {
			return err
		}
	}
	return nil
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

// begin sets what all responses have in their header.
func (a *answer) begin(contentType string, failed bool) {
	a.w.Header().Set("Content-Type", contentType)
	if a.sessionID != "" && !failed {
		a.w.Header().Set(sessionHeader, a.sessionID)
	}
}

// send writes data in chunks, each with its own deadline.
func (a *answer) send(data []byte) error {
	for len(data) > 0 {
		n := min(len(data), chunkSize)
		a.rc.SetWriteDeadline(time.Now().Add(writeTimeout)) // not supported by the writers of tests
		if _, err := a.w.Write(data[:n]); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

// flush hands what was written to the network.
func (a *answer) flush() error {
	if !a.streaming {
		return nil
	}
	if err := a.rc.Flush(); !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}
