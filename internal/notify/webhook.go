package notify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
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
// Any status of 2xx means that it was taken. If Answers is set, the response to a question may hold the answer, see [readReply].
// Status 202 then means that somebody is being asked: the same request comes again, after what Retry-After says or five
// seconds, until the question is answered or expires.
//
// Network errors, 408, 429 and 5xx are tried again, six times in all, with growing pauses. Redirects are not followed; they and
// every other status are final. No proxy is used.
type Webhook struct {
	URL     string
	Secret  Secret
	Answers bool          // whether its response may answer a question
	Timeout time.Duration // of one request; zero: DefaultTimeout
}

const (
	askedPrefix  = "asked_"
	answerPrefix = "answer_"

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
	now    func() time.Time
}

func newHook(w Webhook, now func() time.Time) *hook {
	if w.Timeout <= 0 {
		w.Timeout = DefaultTimeout
	}
	return &hook{w, &http.Client{
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
	}, now}
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

// deliver sends a message until it was taken, cannot be, or need not be.
func (n *Notifier) deliver(ctx context.Context, m message, e *errand) {
	ctx, cancel := context.WithDeadline(ctx, e.until(time.Now()))
	defer cancel()
	told, failures := false, 0
	for !n.settled(ctx, e, told) {
		got, err := n.post(ctx, m)
		pending := false
		if err == nil && e != nil && n.hook.Answers {
			pending, err = n.heed(ctx, e, got)
		}
		pause := got.after(pollPause)
		switch {
		case err == nil && !pending:
			n.counts.add(webhookChannel, Delivered)
			return
		case err == nil:
			told, failures = true, 0
		default:
			if failures++; final(err) || failures == maxAttempts {
				n.counts.add(webhookChannel, Failed)
				n.opts.Logger.Warn("telling the webhook", "id", m.id, "attempts", failures, "error", err)
				return
			}
			n.counts.add(webhookChannel, Retried)
			pause = got.after(backoff(failures))
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// settled reports whether there is nothing left to do for a message, and counts it then.
func (n *Notifier) settled(ctx context.Context, e *errand, told bool) bool {
	over := ctx.Err() != nil
	if !over && e != nil {
		open, err := e.book.Waits(ctx, e.asked.ID)
		over = err == nil && !open
	}
	switch {
	case !over:
		return false
	case told:
		n.counts.add(webhookChannel, Delivered)
	default:
		n.counts.add(webhookChannel, Moot)
	}
	return true
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

// backoff returns the pause after so many failures, a little at random.
func backoff(failures int) time.Duration {
	pause := firstPause << (failures - 1)
	return pause + rand.N(pause/4)
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
func (n *Notifier) post(ctx context.Context, m message) (*response, error) {
	select {
	case n.slots <- struct{}{}:
		defer func() { <-n.slots }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	h := n.hook
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
