package upstream

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"strings"
)

// An Authorizer gets the access tokens of a server that wants some (revision 2025-11-25, Authorization). A connection
// adds the token to every request, none of which leaves the origin of the endpoint, and keeps none itself. Methods may
// be called concurrently, by several connections.
type Authorizer interface {
	// Token returns the token to send; "" sends none. It may wait for one to be renewed. An error that wraps ErrLogin
	// says that only a person can get one.
	Token(ctx context.Context) (string, error)

	// Refused is told that the server answered 401 or 403 to a request with that token, "" if there was none. It
	// reports whether Token has another one now, so that the request is worth sending again. It leaves the body of resp
	// alone.
	Refused(ctx context.Context, token string, resp *http.Response) (again bool, err error)
}

// ErrLogin says that the server lets nobody in before a person has logged in. Errors that wrap it say how.
var ErrLogin = errors.New("login needed")

// Same reports whether two specs reach a server in the same way, with the very same Authorizer.
func (s Spec) Same(other Spec) bool {
	a, b := s.Auth, other.Auth
	s.Auth, other.Auth, s.Ahead, other.Ahead, s.Start, other.Start = nil, nil, nil, nil, nil, nil
	return a == b && reflect.DeepEqual(s, other)
}

// authorized sends a request with a token, and once more if the server wants another one than it had.
func (o *origin) authorized(req *http.Request) (*http.Response, error) {
	if o.auth == nil {
		return o.base.RoundTrip(req)
	}
	req = req.Clone(req.Context())
	for again := true; ; {
		token, err := o.auth.Token(req.Context())
		if err != nil {
			discard(req)
			return nil, &authError{err}
		}
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := o.base.RoundTrip(req)
		if err != nil || resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden {
			return resp, err
		}
		fresh, err := o.auth.Refused(req.Context(), token, resp)
		if err != nil {
			_ = resp.Body.Close()
			return nil, &authError{err}
		}
		next := repeat(req)
		if !fresh || !again || next == nil {
			return resp, nil
		}
		_ = resp.Body.Close()
		req, again = next, false
	}
}

// repeat returns a request to be sent again; nil if its body is gone.
func repeat(req *http.Request) *http.Request {
	next := req.Clone(req.Context())
	next.Header.Del("Authorization")
	if req.Body == nil || req.Body == http.NoBody {
		return next
	}
	if req.GetBody == nil {
		return nil
	}
	body, err := req.GetBody()
	if err != nil {
		return nil
	}
	next.Body = body
	return next
}

// withoutToken takes the token that was sent out of a text that the server wrote.
func withoutToken(text string, sent *http.Request) string {
	if sent == nil {
		return text
	}
	if _, token, ok := strings.Cut(sent.Header.Get("Authorization"), " "); ok && token != "" {
		return strings.ReplaceAll(text, token, "[token]")
	}
	return text
}

// discard does with a request that is not sent what a [http.RoundTripper] has to.
func discard(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close()
	}
}

// An authError is an error of an Authorizer. It is unwrapped before a person reads it.
type authError struct{ error }

func (e *authError) Unwrap() error { return e.error }

// authFailure returns the error of an Authorizer, without the request; nil if err is of another kind.
func authFailure(err error) error {
	var e *authError
	if errors.As(err, &e) {
		return e.error
	}
	return nil
}
