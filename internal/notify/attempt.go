package notify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/weir-mcp/weir/internal/gateway/approve"
)

// DefaultTimeout is how long one request to a webhook may take, its answer included.
const DefaultTimeout = 10 * time.Second

// A Webhook is told of questions and findings by POST requests, signed as in Standard Webhooks 1.0.0.
//
//	POST /hook HTTP/1.1
//	Content-Type: application/json
//	Webhook-Id: asked_K7Q2…            the same for each attempt to tell this
//	Webhook-Timestamp: 1763719200      of this attempt
//	Webhook-Signature: v1,BASE64       HMAC-SHA256 over "ID.TIMESTAMP.BODY"
//
//	{"type":"approval.asked","timestamp":"2026-11-21T10:00:00Z","data":{"question":"K7Q2…","text":"…",…}}
//
// Any status of 2xx means that it was taken. If Answers is set, the response to a question may hold the answer, see
// [readReply]. Status 202 then means that somebody is being asked: the same request comes again, after what Retry-After
// says or five seconds, until the question is answered or expires.
//
// Network errors, 408, 429 and 5xx are tried again, six times in all, with growing pauses. Redirects are not followed;
// they and every other status are final. No proxy is used.
type Webhook struct {
	URL     string
	Secret  Secret
	Answers bool          // whether its response may answer a question
	Timeout time.Duration // of one request; zero: DefaultTimeout
}

const (
	askedPrefix  = "asked_"
	answerPrefix = "answer_"

	maxAtOnce   = 16 // requests at one time
	maxAttempts = 6
	firstPause  = time.Second // and twice as long each time
	pollPause   = 5 * time.Second
	maxPause    = time.Minute      // that Retry-After may ask for
	maxResponse = 16 << 10         // bytes of a response that are read
	findingLife = 10 * time.Minute // for the attempts to tell of a finding
)

// A hook is a webhook in use.
type hook struct {
	Webhook
	client *http.Client
	slots  chan struct{} // holds a token for each request
	now    func() time.Time
	logger *slog.Logger
	counts *counts
}

func newHook(w Webhook, opts Options, counts *counts) *hook {
	if w.Timeout <= 0 {
		w.Timeout = DefaultTimeout
	}
	return &hook{Webhook: w, client: &http.Client{
		Transport: &http.Transport{
			DialContext:            (&net.Dialer{Timeout: w.Timeout}).DialContext,
			TLSHandshakeTimeout:    w.Timeout,
			MaxResponseHeaderBytes: 64 << 10,
			MaxIdleConnsPerHost:    2,
			IdleConnTimeout:        time.Minute,
			ForceAttemptHTTP2:      true,
		},
		Timeout:       w.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, slots: make(chan struct{}, maxAtOnce), now: opts.Now, logger: opts.Logger, counts: counts}
}

// An errand brings back the answer to a question; without one nobody is asked.
type errand struct {
	book  Answers
	asked *approve.Pending
}

// until returns when nobody needs to be told any more.
func (e *errand) until(now time.Time) time.Time {
	if e == nil {
		return now.Add(findingLife)
	}
	return e.asked.Expires
}

// A response is the answer of a webhook.
type response struct {
	status int
	header http.Header
	body   []byte
}

// after returns how long to wait: the time that the response asks for within bounds, else otherwise.
func (r *response) after(otherwise time.Duration) time.Duration {
	if r == nil {
		return otherwise
	}
	seconds, err := strconv.ParseUint(r.header.Get("Retry-After"), 10, 16)
	if err != nil {
		return otherwise
	}
	return max(time.Second, min(time.Duration(seconds)*time.Second, maxPause))
}

// A statusError is a status that is no success.
type statusError int

func (e statusError) Error() string { return fmt.Sprintf("it answers with status %d", int(e)) }

// errSize is for a response that is too long to be an answer.
var errSize = fmt.Errorf("its response is longer than %d bytes", maxResponse)

// final reports whether another attempt would come to the same.
func final(err error) bool {
	var status statusError
	if errors.As(err, &status) {
		return status < 500 && status != http.StatusRequestTimeout && status != http.StatusTooManyRequests
	}
	return false
}

// post makes one attempt. With an error there may be a response too.
func (h *hook) post(ctx context.Context, m message) (*response, error) {
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL, bytes.NewReader(m.body))
	if err != nil {
		return nil, errors.New("its URL does not parse")
	}
	now := h.now()
	for name, value := range map[string]string{
		"Content-Type": "application/json", "User-Agent": "weir", headerID: m.id,
		headerTimestamp: strconv.FormatInt(now.Unix(), 10), headerSignature: h.Secret.sign(m.id, now, m.body),
	} {
		req.Header.Set(name, value)
	}
	resp, err := h.client.Do(req)
	if err != nil {
		return nil, plainError(err)
	}
	defer resp.Body.Close()
	got := &response{status: resp.StatusCode, header: resp.Header}
	if got.status < 200 || got.status > 299 {
		return got, statusError(got.status)
	}
	got.body, err = io.ReadAll(io.LimitReader(resp.Body, maxResponse+1))
	switch {
	case err != nil:
		return got, plainError(err)
	case len(got.body) > maxResponse:
		return got, errSize
	}
	return got, nil
}

// plainError leaves out the URL, which may hold a key.
func plainError(err error) error {
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return errors.New("it takes too long")
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return fmt.Errorf("it cannot be reached: %s: %w", op.Op, op.Err)
	}
	return errors.New("it cannot be reached, or does not speak HTTP")
}

// Answers is where the answer to a question goes.
type Answers interface {
	// Answer closes the question, unless another answer has.
	Answer(ctx context.Context, r approve.Reply) error

	// Waits reports whether the question with this id is still open.
	Waits(ctx context.Context, id string) (bool, error)
}
