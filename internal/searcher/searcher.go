// Package searcher searches text with the help of programs that are reached over HTTP: Presidio for names and
// addresses of persons, and classifiers of text for instructions to the model.
//
// Such a program is sent the text, and may be slow, wrong or down. Each search has a deadline; after a few failures
// in a row the program is left alone for a while; and a search that failed says so in its report, and has found
// nothing.
package searcher

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/weir-mcp/weir/detect"
)

// Bounds of searches.
const (
	DefaultTimeout = 2 * time.Second
	maxText        = 128 << 10 // bytes that are sent
	maxAnswer      = 1 << 20   // bytes that are read
	mostFailures   = 3         // in a row, before the program is left alone
	mostLate       = 3         // in a row, before searches wait less
	lateShare      = 10        // of the deadline, that they wait then
	pause          = 30 * time.Second
)

// A Kind is a form of requests and answers.
type Kind string

// The kinds.
const (
	Presidio   Kind = "presidio"   // POST /analyze of Presidio
	Classifier Kind = "classifier" // POST /predict of text-embeddings-inference
	Moderation Kind = "moderation" // POST /v1/moderations
)

// Kinds returns the kinds.
func Kinds() []string { return []string{string(Presidio), string(Classifier), string(Moderation)} }

// Options configure a Searcher.
type Options struct {
	Name      string // in kinds of findings and in reports
	Kind      Kind
	URL       string
	Token     string        // sent as a bearer token; "" sends none
	Timeout   time.Duration // of a search; 0 is DefaultTimeout
	Threshold float64       // of scores; 0 is the default of the kind
	Language  string        // of the text, for Presidio; "" is "en"
	Labels    []string      // of a classifier, or categories of a moderation, that stand for instructions to the model
}

// A Searcher is a detector in another program. It may be used concurrently.
type Searcher struct {
	opts   Options
	form   form
	client *http.Client
	now    func() time.Time

	mu       sync.Mutex
	failures int       // in a row
	until    time.Time // when the program is asked again
	late     int       // searches without an answer in time, in a row
	patient  time.Time // when a search waits for the whole deadline again
}

// A form is how a kind is asked and how it answers.
type form struct {
	threshold float64
	request   func(o *Options, text string) any
	findings  func(o *Options, answer, text []byte) ([]detect.Finding, error)
}

// New returns a searcher.
func New(o Options) *Searcher {
	f := map[Kind]form{
		Presidio:   {0.5, presidioRequest, presidioFindings},
		Classifier: {0.9, classifierRequest, classifierFindings},
		Moderation: {0.5, moderationRequest, moderationFindings},
	}[o.Kind]
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Threshold == 0 {
		o.Threshold = f.threshold
	}
	refuse := func(*http.Request, []*http.Request) error { return errors.New("it redirects, which is not followed") }
	return &Searcher{opts: o, form: f, client: &http.Client{CheckRedirect: refuse}, now: time.Now}
}

// Scan searches a text, of JSON without the escapes of its strings. Of a long text the beginning is searched.
func (s *Searcher) Scan(text []byte, form detect.Form, salt []byte) (report detect.Report) {
	if !s.begin() {
		return detect.Report{Failed: s.opts.Name + " is down"}
	}
	plain, at := text, func(start, end int) (int, int) { return start, end }
	if form == detect.JSON {
		plain, at = detect.Unescaped(text)
	}
	part := beginning(plain)
	found, err := s.search(part)
	s.end(err)
	if err != nil {
		return detect.Report{Failed: s.opts.Name + " failed"}
	}
	for i, f := range found {
		start, end := at(f.Offset, f.Offset+f.Size)
		found[i].Offset, found[i].Size = start, end-start
	}
	if len(part) < len(plain) {
		report.Failed = fmt.Sprintf("%s was sent the first %d bytes", s.opts.Name, len(part))
	}
	report.Findings = detect.Placed(text, form, salt, found)
	return report
}

// begin reports whether the program may be asked. One search finds out whether a program is up again.
func (s *Searcher) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failures < mostFailures {
		return true
	}
	if s.now().Before(s.until) {
		return false
	}
	s.until = s.now().Add(pause)
	return true
}

// errDown says that no connection was made or kept, or that the program failed by its own word.
var errDown = errors.New("the program is down")

// end counts the failures of the program. Texts, which servers choose, may be refused or take too long: that counts
// for nothing.
func (s *Searcher) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case errors.Is(err, errDown):
		if s.failures++; s.failures >= mostFailures {
			s.until = s.now().Add(pause)
		}
	case errors.Is(err, context.DeadlineExceeded):
		s.late++
	default: // it has answered
		s.failures, s.late = 0, 0
	}
}

// deadline returns how long a search waits. After a few late answers in a row searches wait for a part of the
// deadline, and one in a while for all of it, so that a program that hangs delays few calls. A text that takes long
// keeps no other text from being searched.
func (s *Searcher) deadline() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.late < mostLate {
		return s.opts.Timeout
	}
	if now := s.now(); !now.Before(s.patient) {
		s.patient = now.Add(pause)
		return s.opts.Timeout
	}
	return s.opts.Timeout / lateShare
}

// broken returns the error of a connection.
func broken(ctx context.Context, err error) error {
	var dial *net.OpError
	if ctx.Err() != nil && !(errors.As(err, &dial) && dial.Op == "dial") {
		return context.DeadlineExceeded
	}
	return fmt.Errorf("%w: %w", errDown, err)
}

func (s *Searcher) search(text []byte) ([]detect.Finding, error) {
	ctx, cancel := context.WithTimeout(context.Background(), s.deadline())
	defer cancel()
	body, err := json.Marshal(s.form.request(&s.opts, string(text)))
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.opts.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	if s.opts.Token != "" {
		r.Header.Set("Authorization", "Bearer "+s.opts.Token)
	}
	answer, err := s.client.Do(r)
	if err != nil {
		return nil, broken(ctx, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode >= http.StatusInternalServerError {
		return nil, fmt.Errorf("%w: status %d", errDown, answer.StatusCode)
	}
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %d", answer.StatusCode)
	}
	told, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	if err != nil {
		return nil, broken(ctx, err)
	}
	if len(told) > maxAnswer {
		return nil, errors.New("the answer is too long")
	}
	return s.form.findings(&s.opts, told, text)
}

// beginning returns as much of a text as is sent.
func beginning(text []byte) []byte {
	if len(text) <= maxText {
		return text
	}
	end := maxText
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}
