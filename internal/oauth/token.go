package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// The bounds of an authorization server's answers, in bytes.
const (
	maxAnswer = 1 << 20
	maxToken  = 64 << 10
)

// A tokenClient is a client at a token endpoint (RFC 6749, 3.2).
type tokenClient struct {
	http     *http.Client
	endpoint string
	id       string
	secret   string // "" for a public client
	method   string // by which it shows the secret: client_secret_basic, client_secret_post or none
}

// A tokenAnswer is the answer of a token endpoint (RFC 6749, 5.1).
type tokenAnswer struct {
	access, refresh string
	scopes          []string  // none: as asked for
	expires         time.Time // zero: not said
}

// A refusal is the error of a token endpoint (RFC 6749, 5.2).
type refusal struct {
	status, code, description string
}

func (r *refusal) Error() string {
	switch {
	case r.code == "":
		return "authorization server answers " + r.status
	case r.description == "":
		return fmt.Sprintf("authorization server answers %.64q", r.code)
	}
	return fmt.Sprintf("authorization server answers %.64q: %.200q", r.code, r.description)
}

// The error codes of RFC 6749 that say that the grant, or the client, is not taken any more.
const (
	invalidGrant  = "invalid_grant"
	invalidClient = "invalid_client"
)

// isOver reports whether an error says that a refresh token will never work again.
func isOver(err error) bool {
	var r *refusal
	return errors.As(err, &r) && (r.code == invalidGrant || r.code == invalidClient || r.code == "unauthorized_client")
}

// token asks for a token. No text of its errors holds members of the form.
func (c *tokenClient) token(ctx context.Context, form url.Values) (*tokenAnswer, error) {
	secrets := []string{c.secret, form.Get("code"), form.Get("code_verifier"), form.Get("refresh_token")}
	resp, err := c.post(ctx, c.endpoint, form)
	if err != nil {
		return nil, withoutSecrets(err, secrets...)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("reading the token: %w", err)
	}
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusCreated {
		r := parseRefusal(data)
		r.status, r.code, r.description = resp.Status, clean(r.code, secrets...), clean(r.description, secrets...)
		return nil, r
	}
	return parseToken(data, time.Now())
}

// post sends a form as the client.
func (c *tokenClient) post(ctx context.Context, endpoint string, form url.Values) (*http.Response, error) {
	if err := safeEndpoint(endpoint); err != nil {
		return nil, err
	}
	basic := c.secret != "" && c.method == methodBasic
	if !basic {
		form.Set("client_id", c.id)
		if c.secret != "" {
			form.Set("client_secret", c.secret)
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	if basic {
		req.SetBasicAuth(url.QueryEscape(c.id), url.QueryEscape(c.secret)) // RFC 6749, 2.3.1
	}
	return c.http.Do(req)
}

// parseToken decodes the answer of a token endpoint. Its errors quote nothing of it.
func parseToken(data []byte, now time.Time) (*tokenAnswer, error) {
	var raw struct {
		Access  string          `json:"access_token"`
		Type    string          `json:"token_type"`
		Refresh string          `json:"refresh_token"`
		Scope   string          `json:"scope"`
		Expires json.RawMessage `json:"expires_in"`
	}
	switch {
	case json.Unmarshal(data, &raw) != nil:
		return nil, errors.New("the token is not one in JSON")
	case !isBearer(raw.Access):
		return nil, errors.New("the answer has no access token that a header can hold")
	case len(raw.Access) > maxToken || len(raw.Refresh) > maxToken:
		return nil, fmt.Errorf("a token is longer than %d bytes", maxToken)
	case !strings.EqualFold(raw.Type, "Bearer"):
		return nil, fmt.Errorf("token type %.20q is not supported", raw.Type)
	}
	a := &tokenAnswer{access: raw.Access, refresh: raw.Refresh}
	a.scopes = scopesOf(raw.Scope)
	// Some servers write the number as a string.
	n, err := strconv.ParseFloat(strings.Trim(string(raw.Expires), `"`), 64)
	if err == nil && n > 0 && n < math.MaxInt32 {
		a.expires = now.Add(time.Duration(n) * time.Second)
	}
	return a, nil
}

// isBearer reports whether s can stand in an Authorization header: the token68 of RFC 6750, and all other visible
// characters.
func isBearer(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

func parseRefusal(data []byte) *refusal {
	var raw struct {
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}
	if json.Unmarshal(data, &raw) != nil {
		return &refusal{}
	}
	return &refusal{code: raw.Error, description: raw.Description}
}
