package kit

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/weir-mcp/weir/internal/rawjson"
)

// A wire carries raw messages to and from an implementation under test. It parses none.
type wire interface {
	send(ctx context.Context, message []byte) error
	next(ctx context.Context) ([]byte, error)
	close()
}

// send writes a line. A program that does not read is waited for until ctx ends; the line is lost then, and so is the
// program.
func (r *running) send(ctx context.Context, line []byte) error {
	sent := make(chan error, 1)
	go func() {
		_, err := r.stdin.Write(append(bytes.Clone(line), '\n'))
		sent <- err
	}()
	select {
	case err := <-sent:
		return err
	case <-ctx.Done():
		r.close()
		return ctx.Err()
	}
}

// An endpoint is the client's side of streamable HTTP (2025-11-25, Transports), without a standing stream.
type endpoint struct {
	url     string
	client  *http.Client
	done    chan struct{} // closed by close
	lines   chan []byte
	started sync.WaitGroup

	once    sync.Once
	mu      sync.Mutex
	session string
}

func newEndpoint(url string) *endpoint {
	return &endpoint{url: url, client: &http.Client{Transport: &http.Transport{}}, done: make(chan struct{}), lines: make(chan []byte, 64)}
}

// reachable waits until something answers at the URL.
func (e *endpoint) reachable(ctx context.Context) error {
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.url, nil)
		if err != nil {
			return err
		}
		req.Header.Set("Accept", "text/event-stream")
		resp, err := e.client.Do(req)
		if err == nil {
			return resp.Body.Close()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("nothing answers at %s: %w", e.url, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// send posts a message; the answer comes by next. A refusal without a message becomes an error, so that callers
// need not wait for one.
func (e *endpoint) send(_ context.Context, message []byte) error {
	e.started.Go(func() {
		if err := e.post(message); err != nil {
			if id, ok := rawjson.Get(message, "id"); ok {
				e.push(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":%s}}`, id, rawjson.Quote(err.Error())))
			}
		}
	})
	return nil
}

func (e *endpoint) post(message []byte) error {
	ctx, cancel := context.WithCancel(context.Background()) // of its own: the answer comes after send has returned
	defer cancel()
	e.started.Go(func() {
		select {
		case <-e.done:
			cancel()
		case <-ctx.Done():
		}
	})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(message))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	e.address(req.Header, message)
	resp, err := e.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
		e.mu.Lock()
		e.session = id
		e.mu.Unlock()
	}
	body := io.LimitReader(resp.Body, maxLine)
	switch {
	case strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream"):
		return e.events(body)
	case resp.StatusCode == http.StatusAccepted:
		return nil
	}
	text, err := io.ReadAll(body)
	if err == nil && (len(text) == 0 || text[0] != '{') {
		err = errors.New(resp.Status)
	}
	if err == nil {
		e.push(text)
	}
	return err
}

// address sets the headers that repeat parts of a message.
func (e *endpoint) address(to http.Header, message []byte) {
	text := func(path ...string) string {
		raw, _ := rawjson.Get(message, path...)
		s, _ := rawjson.String(raw)
		return s
	}
	method := text("method")
	if own := text("params", "_meta", metaRevision); own != "" { // 2026-07-28, Streamable HTTP, Standard Headers
		to.Set("Mcp-Protocol-Version", own)
		to.Set("Mcp-Method", method)
		switch method {
		case "tools/call", "prompts/get":
			to.Set("Mcp-Name", text("params", "name"))
		case "resources/read":
			to.Set("Mcp-Name", text("params", "uri"))
		}
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.session != "" {
		to.Set("Mcp-Session-Id", e.session)
	}
	if method != "initialize" {
		to.Set("Mcp-Protocol-Version", revision)
	}
}

// events hands on the data of server-sent events.
func (e *endpoint) events(body io.Reader) error {
	all := bufio.NewScanner(body)
	all.Buffer(nil, maxLine)
	var data []byte
	for all.Scan() {
		line := all.Bytes()
		if part, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			data = append(data, bytes.TrimPrefix(part, []byte(" "))...)
		}
		if len(line) == 0 && len(data) > 0 {
			e.push(data)
			data = nil
		}
	}
	return all.Err()
}

func (e *endpoint) push(message []byte) {
	select {
	case e.lines <- message:
	case <-e.done:
	}
}

func (e *endpoint) next(ctx context.Context) ([]byte, error) {
	select {
	case line := <-e.lines:
		return line, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (e *endpoint) close() {
	e.once.Do(func() { close(e.done) })
	e.started.Wait()
	e.client.CloseIdleConnections()
}

// A pair is an endpoint, and the program that serves it, if the kit has started that.
type pair struct {
	*endpoint
	program *running
}

func (p pair) close() {
	p.endpoint.close()
	if p.program != nil {
		p.program.close()
	}
}
