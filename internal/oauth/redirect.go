package oauth

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"
)

// redirectPath is the path that the browser comes back to.
const redirectPath = "/callback"

// A redirect waits on a loopback address for the browser to come back with a code (RFC 8252, 7.3).
type redirect struct {
	listener net.Listener
	state    string // that the answer must carry
	once     sync.Once
	answer   chan url.Values // gets one
}

// listenRedirect listens on a port of 127.0.0.1, 0 being any.
func listenRedirect(ctx context.Context, port int) (*redirect, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("waiting for the browser to come back: %w", err)
	}
	return &redirect{listener: l, answer: make(chan url.Values, 1)}, nil
}

// url is where the browser is to be sent back to.
func (r *redirect) url() string { return "http://" + r.listener.Addr().String() + redirectPath }

// receive has the browser opened and returns what it comes back with: the parameters of the first request that carries
// the state. Nothing is listening any more when it returns.
func (r *redirect) receive(ctx context.Context, state string, open func() error) (url.Values, error) {
	r.state = state
	server := &http.Server{
		Handler: r, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second, MaxHeaderBytes: 64 << 10,
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(r.listener) })
	defer serving.Wait()
	defer func() {
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		if server.Shutdown(within) != nil { // the browser may not have read its answer yet
			_ = server.Close()
		}
	}()
	if err := open(); err != nil {
		return nil, err
	}
	select {
	case answer := <-r.answer:
		return answer, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("nobody came back from the browser: %w", ctx.Err())
	}
}

// ServeHTTP takes the answer, once. Whoever does not know the state learns nothing and changes nothing.
func (r *redirect) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	h.Set("Connection", "close")
	if req.Method != http.MethodGet || req.URL.Path != redirectPath || req.Host != r.listener.Addr().String() {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	q, err := url.ParseQuery(req.URL.RawQuery)
	if err != nil || len(q["state"]) != 1 || subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(r.state)) != 1 {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, "This is not the answer to a login that weir waits for.\n")
		return
	}
	used := true
	r.once.Do(func() { used = false; r.answer <- q })
	if used {
		w.WriteHeader(http.StatusGone)
		return
	}
	_, _ = io.WriteString(w, "weir has the answer. This page can be closed; the terminal says how it went.\n")
}

// code returns the code of an answer. Its iss must be that of the authorization server that was asked (RFC 9207, 2.4):
// one that says that it sends it must, and one that does not say so must not, as the SDK has it too.
func code(answer url.Values, a *authority) (string, error) {
	for name, values := range answer {
		if len(values) != 1 {
			return "", fmt.Errorf("the browser came back with %.20q more than once", name)
		}
	}
	iss := answer.Get("iss")
	switch {
	case a.AuthorizationResponseIssParameterSupported && iss != a.Issuer, iss != "" && iss != a.Issuer:
		return "", errors.New("the answer is not from the authorization server that was asked")
	case !a.AuthorizationResponseIssParameterSupported && iss != "":
		return "", errors.New("the authorization server names itself in the answer without having said that it does")
	case answer.Get("error") != "":
		return "", &refusal{code: answer.Get("error"), description: answer.Get("error_description")}
	case answer.Get("code") == "":
		return "", errors.New("the browser came back without a code")
	}
	return answer.Get("code"), nil
}
