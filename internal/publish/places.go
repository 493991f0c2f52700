package publish

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
)

// A file is a place on a disk, best one that the machine of the log can only write to.
type file struct {
	path    string
	extends func(ctx context.Context, checkpoint []byte) error
}

// File returns the place of a file with the newest checkpoint. The function tells whether the log extends the
// checkpoint that is there; while it does not, that stays.
func File(path string, extends func(ctx context.Context, checkpoint []byte) error) Place {
	return file{path, extends}
}

func (f file) String() string { return f.path }

// Publish implements [Place]. A crash leaves the old checkpoint or the new one.
func (f file) Publish(ctx context.Context, checkpoint []byte) error {
	old, err := os.ReadFile(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	default:
		if err := f.extends(ctx, old); err != nil {
			return fmt.Errorf("the log does not extend what was published there: %w", err)
		}
		if newer(old, checkpoint) {
			return nil // another replica was faster
		}
	}
	tmp, err := os.CreateTemp(filepath.Dir(f.path), ".checkpoint-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(checkpoint)
	if err == nil {
		err = tmp.Chmod(0o644) // it is there to be read
	}
	if err := errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), f.path)
}

// newer reports whether a checkpoint is over more entries than another.
func newer(a, b []byte) bool {
	sizeA, errA := sizeOf(a)
	sizeB, errB := sizeOf(b)
	return errA == nil && errB == nil && sizeA > sizeB
}

// A web is a place that takes checkpoints by PUT.
type web struct {
	url     string
	headers map[string]string
	client  *http.Client
}

// URL returns the place at a URL that takes checkpoints by PUT. Redirects are not followed.
func URL(target string, headers map[string]string) Place {
	return web{target, headers, newClient()}
}

func newClient() *http.Client {
	return &http.Client{Timeout: patience, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// String leaves out parts that may be a secret.
func (w web) String() string { return hostOf(w.url) }

func hostOf(target string) string {
	u, err := url.Parse(target)
	if err != nil {
		return "a URL"
	}
	return u.Scheme + "://" + u.Host + u.Path
}

// Publish implements [Place].
func (w web) Publish(ctx context.Context, checkpoint []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, w.url, bytes.NewReader(checkpoint))
	if err != nil {
		return errors.New("not a URL")
	}
	req.Header.Set("Content-Type", "text/plain; charset=utf-8")
	for name, value := range w.headers {
		req.Header.Set(name, value)
	}
	resp, err := w.client.Do(req)
	if err != nil {
		return withoutURL(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("it answers %s", resp.Status)
	}
	return nil
}

// withoutURL takes the URL, which may hold a secret, out of an error of a client.
func withoutURL(err error) error {
	var e *url.Error
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}
