// Package evidence gets records of evidence, to which results refer, from the places that the operator trusts.
//
//	records, err := evidence.New("https://evidence.example.com/records/")
//	words.Records = records
//
// A place is a URL that ends in a slash. A record is below it: same scheme, host and port, and a path that begins
// with the place's and goes nowhere else. A reference is the choice of a server, so it gets no more than that: no
// query, no credentials, no redirect. A record is kept by its digest, and a place that does not answer is left alone
// for a while.
package evidence

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/internal/bounded"
)

const (
	maxRecord = 64 << 10 // bytes of one record
	maxKept   = 256      // records
	pause     = 10 * time.Second
)

// Records are the records of some places. They may be used concurrently.
type Records struct {
	places []*url.URL
	client *http.Client
	now    func() time.Time

	mu   sync.Mutex
	kept *bounded.Map[key, []byte]
	down *bounded.Map[string, time.Time] // when a host is asked again
}

// A key is all that makes two records the same.
type key struct{ digest, canonicalization string }

// New returns the records of places.
func New(places ...string) (*Records, error) {
	r := &Records{
		client: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		now:    time.Now,
		kept:   bounded.NewMap[key, []byte](maxKept), down: bounded.NewMap[string, time.Time](max(1, len(places))),
	}
	for _, p := range places {
		u, err := Place(p)
		if err != nil {
			return nil, err
		}
		r.places = append(r.places, u)
	}
	return r, nil
}

// Place reads the URL of a place: https, or http on the loopback address.
func Place(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, errors.New("not a URL of a scheme, a host and a path")
	case !strings.HasSuffix(u.Path, "/") || !plainPath(u):
		return nil, errors.New("the path of a place ends in / and has no other spelling")
	case u.Scheme != "https" && !(u.Scheme == "http" && isLoopback(u.Hostname())):
		return nil, errors.New("a place is at https, or at http on the loopback address")
	}
	return u, nil
}

func isLoopback(host string) bool { return host == "localhost" || net.ParseIP(host).IsLoopback() }

// plainPath reports whether a path has one spelling, so that the server at it sees the path that was compared.
func plainPath(u *url.URL) bool {
	clean := path.Clean(u.Path)
	return u.RawPath == "" && (u.Path == clean || u.Path == clean+"/" || u.Path == "/") && !strings.ContainsAny(u.Path, "\\;%")
}

// at returns the URL of a record below a place; nil if it is below none.
func (r *Records) at(ref string) *url.URL {
	u, err := url.Parse(ref)
	if err != nil || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || !plainPath(u) {
		return nil
	}
	for _, p := range r.places {
		if u.Scheme == p.Scheme && u.Host == p.Host && strings.HasPrefix(u.Path, p.Path) && u.Path != p.Path {
			return u
		}
	}
	return nil
}

// Holds implements [annotation.Records].
func (r *Records) Holds(e annotation.Evidence) bool { return r.at(e.Ref) != nil }

// Record implements [annotation.Records].
func (r *Records) Record(ctx context.Context, e annotation.Evidence) ([]byte, error) {
	u := r.at(e.Ref)
	if u == nil {
		return nil, errors.New("its place is not trusted")
	}
	k := key{e.Digest, e.Canonicalization}
	r.mu.Lock()
	record, ok := r.kept.Get(k)
	until, _ := r.down.Get(u.Host)
	r.mu.Unlock()
	switch {
	case ok:
		return record, nil
	case r.now().Before(until):
		return nil, errors.New("its place did not answer a moment ago")
	}
	record, err := r.get(ctx, u)
	if err != nil {
		return nil, err
	}
	if err := e.Check(record); err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.kept.Set(k, record)
	r.mu.Unlock()
	return record, nil
}

// get reads a record. No error has text that its place or a server chose.
func (r *Records) get(ctx context.Context, u *url.URL) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, errors.New("not a URL")
	}
	resp, err := r.client.Do(req)
	if err != nil {
		if !errors.Is(err, context.Canceled) { // by the caller
			r.mu.Lock()
			r.down.Set(u.Host, r.now().Add(pause))
			r.mu.Unlock()
		}
		return nil, errors.New("its place does not answer")
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("its place answers %d", resp.StatusCode)
	}
	record, err := io.ReadAll(io.LimitReader(resp.Body, maxRecord+1))
	switch {
	case err != nil:
		return nil, errors.New("its place breaks off")
	case len(record) > maxRecord:
		return nil, fmt.Errorf("the record has more than %d bytes", maxRecord)
	}
	return record, nil
}
