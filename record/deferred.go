package record

import (
	"bytes"
	"context"
	"sync"
)

// A Deferrer is a Recorder that can promise to write an event soon.
type Deferrer interface {
	Recorder

	// Later takes an event, which is written a little later, after those that were taken before and before those that
	// are recorded next. It is made at once, or when it is written, on another goroutine. An error means that it is not
	// written.
	Later(ctx context.Context, made func() *Event) error
}

// An Encoder writes events as JSON. The zero Encoder is ready. It may be used concurrently.
type Encoder struct {
	mu      sync.Mutex
	encoder encoder
}

// Encode returns the event as one JSON object, without a newline.
func (e *Encoder) Encode(v *Event) ([]byte, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	line, err := e.encoder.encode(v)
	return bytes.Clone(bytes.TrimSuffix(line, []byte{'\n'})), err
}
