package upstream

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"sync/atomic"

	"github.com/weir-mcp/weir/internal/rpc"
)

// An sse carries messages over the HTTP+SSE transport (revision 2024-11-05, Transports): the server's messages come as
// one stream of events, the first of which names the URL to post messages to.
type sse struct {
	origin *origin
	to     receiver
	post   *url.URL

	protocol atomic.Pointer[string] // the agreed revision; nil before

	life    context.Context // of the stream and all requests
	end     context.CancelFunc
	resp    *http.Response
	streams streams
	events  *eventReader
}

// connectSSE opens the stream and waits for its first event.
func connectSSE(ctx context.Context, o *origin, opts Options, to receiver) (*sse, error) {
	s := &sse{origin: o, to: to, streams: streams{limit: opts.MaxMessage}}
	s.life, s.end = context.WithCancel(context.Background())
	detach := context.AfterFunc(ctx, s.end) // the stream lives as long as its context
	err := s.open()
	if !detach() {
		err = ctx.Err()
	}
	if err != nil {
		s.release()
		return nil, err
	}
	return s, nil
}

func (s *sse) open() error {
	resp, err := s.origin.do(s.life, http.MethodGet, s.origin.endpoint, http.Header{"Accept": {eventStream}}, nil)
	if err != nil {
		if said := authFailure(err); said != nil {
			return said
		}
		return err
	}
	s.resp = resp
	s.events = s.streams.reader(resp.Body)
	if kind := mediaType(resp); resp.StatusCode != http.StatusOK || kind != eventStream {
		return fmt.Errorf("opening stream: %w", newStatusError(resp, fmt.Sprintf("content type %.64q", kind)))
	}
	first, err := s.events.next()
	if err != nil {
		return fmt.Errorf("waiting for the endpoint: %w", err)
	}
	if first.name != "endpoint" {
		return fmt.Errorf("first event is %.64q, not endpoint", first.name)
	}
	if s.post, err = s.origin.endpoint.Parse(string(first.data)); err != nil {
		return fmt.Errorf("endpoint: %w", err)
	}
	if !sameOrigin(s.post, s.origin.endpoint) {
		return errElsewhere(s.post)
	}
	return nil
}

// release ends the stream. Nobody may read it any more.
func (s *sse) release() {
	s.end()
	if s.resp != nil {
		_ = s.resp.Body.Close()
		s.events.release()
	}
}

func (s *sse) settle(protocol string) { s.protocol.Store(&protocol) }

// run hands on the messages of the stream.
func (s *sse) run() error {
	defer s.release()
	for {
		e, err := s.events.next()
		if err != nil {
			return err
		}
		if !e.isMessage() {
			continue
		}
		if m, bad := parse(e.data); bad != nil {
			s.to.refuse(bad)
		} else {
			s.to.dispatch(m)
		}
	}
}

// Write posts a message. An error concerns this message only.
func (s *sse) Write(ctx context.Context, m *rpc.Message) error {
	bound, cancel := context.WithCancel(s.life)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	err := s.send(bound, m)
	return posted(ctx, s.life, err)
}

func (s *sse) send(ctx context.Context, m *rpc.Message) error {
	header := http.Header{"Content-Type": {"application/json"}}
	if protocol := s.protocol.Load(); protocol != nil {
		header[headerProtocol] = []string{*protocol}
	}
	resp, err := s.origin.do(ctx, http.MethodPost, s.post, header, m.Parts())
	if err != nil {
		return err
	}
	if resp.StatusCode < 300 {
		return resp.Body.Close()
	}
	answer, err := refusal(resp, m, true)
	if answer != nil {
		s.to.dispatch(answer)
		return nil
	}
	return err
}

// Close ends the stream and all requests.
func (s *sse) Close() error {
	s.end()
	s.origin.close()
	return nil
}
