package mcptool

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/internal/rawjson"
)

const (
	question  = "weir-ask" // the id of the one input request
	nonceSize = 16
	stampSize = 8
	headSize  = stampSize + nonceSize
	mostUsed  = 100_000 // states that are remembered so that none counts twice

	multiRoundTrip = "2026-07-28" // the first revision in which servers send no elicitations of their own
)

// Errors of [Call.Ask] and [AskFor]. A handler that returns one refuses the call with a reason for the model.
var (
	// ErrDeclined says that the user declined, or closed the form.
	ErrDeclined = errors.New("refused: the user did not accept")
	// ErrNoUser says that the client has no elicitation.
	ErrNoUser = errors.New("refused: the user has to be asked, and this client has no elicitation")
	// ErrAsked says that the question is on its way to the user. The handler returns it, and is called again with the
	// answer.
	ErrAsked = errors.New("the user is asked")
	// ErrUsed says that the client repeats an answer that has counted before.
	ErrUsed = errors.New("refused: this answer was used before")
)

// asks seals the state of questions and takes each answer once. The state that the client brings back with an answer is
// expiry, nonce, a MAC, and the questions so far. The MAC is of all of that and of the call that the answers are bound
// to: tool, arguments, principal.
type asks struct {
	key      []byte
	patience time.Duration
	now      func() time.Time

	mu   sync.Mutex
	used map[[nonceSize]byte]time.Time // with their expiry
}

func newAsks(opts Options) (*asks, error) {
	a := &asks{key: opts.Key, patience: opts.Patience, now: opts.Now, used: map[[nonceSize]byte]time.Time{}}
	if a.key == nil {
		a.key = make([]byte, KeySize)
		_, _ = rand.Read(a.key) // never fails
	}
	if len(a.key) != KeySize {
		return nil, fmt.Errorf("the key has %d bytes, not %d", len(a.key), KeySize)
	}
	if a.patience == 0 {
		a.patience = DefaultPatience
	}
	if a.now == nil {
		a.now = time.Now
	}
	return a, nil
}

// An answer is the user's answer to one question.
type answer struct {
	Question string          `json:"question"` // its digest
	Accepted bool            `json:"accepted"`
	Content  json.RawMessage `json:"content,omitempty"`
}

// progress is the part of a state that says how far the questions of a call have come.
type progress struct {
	Answers []answer `json:"answers,omitempty"`
	Pending string   `json:"pending"` // the digest of the question that the client is asked
}

// A dialogue is the questions of one call in the order in which they are asked. A client of 2026-07-28 sends the call
// again with the answer, so the handler asks the same questions again, and those with an answer are not put twice.
type dialogue struct {
	of  *asks
	req *mcp.CallToolRequest

	mu      sync.Mutex
	answers []answer
	asked   int // questions in this run of the handler
	used    bool
	pending *mcp.CallToolResult
}

// dialogue returns the dialogue of a call with the answers that the client brings.
func (a *asks) dialogue(req *mcp.CallToolRequest) *dialogue {
	d := &dialogue{of: a, req: req}
	response, ok := req.Params.InputResponses[question].(*mcp.ElicitResult)
	if !ok {
		return d
	}
	head, so, ok := a.open(req)
	if !ok {
		return d
	}
	if d.used = !a.use(head); d.used {
		return d
	}
	content, err := json.Marshal(response.Content)
	last := answer{so.Pending, response.Action == "accept" && err == nil, content}
	d.answers = append(so.Answers, last)
	return d
}

// ask returns the content of the form that the user filled in.
func (d *dialogue) ask(ctx context.Context, text string, form *form) (json.RawMessage, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	params := &mcp.ElicitParams{Mode: "form", Message: text, RequestedSchema: form.shown}
	switch able := d.req.ClientCapabilities(); {
	case able == nil || able.Elicitation == nil:
		return nil, fmt.Errorf("%w: %s", ErrNoUser, text)
	case d.req.ProtocolVersion() < multiRoundTrip:
		return d.elicit(ctx, params)
	case d.used:
		return nil, ErrUsed
	case d.pending != nil:
		return nil, ErrAsked
	}
	if digest := form.digest(text); d.asked < len(d.answers) && d.answers[d.asked].Question == digest {
		d.asked++
		if got := d.answers[d.asked-1]; got.Accepted {
			return got.Content, nil
		}
		return nil, ErrDeclined
	}
	state, err := d.of.seal(d.req, progress{d.answers[:d.asked], form.digest(text)})
	if err != nil {
		return nil, err
	}
	d.pending = &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{question: params}, RequestState: state}
	return nil, ErrAsked
}

// elicit puts a question to the user of a client whose servers send elicitations.
func (d *dialogue) elicit(ctx context.Context, params *mcp.ElicitParams) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, d.of.patience)
	defer cancel()
	result, err := d.req.Session.Elicit(ctx, params)
	if err != nil {
		return nil, fmt.Errorf("refused: asking the user: %w", err)
	}
	if result.Action != "accept" {
		return nil, ErrDeclined
	}
	return json.Marshal(result.Content)
}

// question returns the question that is on its way to the user, or nil.
func (d *dialogue) question() *mcp.CallToolResult {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.pending
}

// seal returns the state of the questions of a call.
func (a *asks) seal(req *mcp.CallToolRequest, so progress) (string, error) {
	said, err := json.Marshal(so)
	if err != nil {
		return "", fmt.Errorf("encoding the answers: %w", err)
	}
	head := make([]byte, headSize)
	binary.BigEndian.PutUint64(head, uint64(a.now().Add(a.patience).UnixNano()))
	_, _ = rand.Read(head[stampSize:]) // never fails
	head = append(head, a.mac(head, req, said)...)
	return base64.RawURLEncoding.EncodeToString(append(head, said...)), nil
}

// open returns head and contents of the state that a call brings, and false unless it was sealed for this call and is
// not too old.
func (a *asks) open(req *mcp.CallToolRequest) (head []byte, so progress, ok bool) {
	state, err := base64.RawURLEncoding.DecodeString(req.Params.RequestState)
	if err != nil || len(state) < headSize+sha256.Size {
		return nil, progress{}, false
	}
	head, mac, said := state[:headSize], state[headSize:headSize+sha256.Size], state[headSize+sha256.Size:]
	if !hmac.Equal(mac, a.mac(head, req, said)) || !a.now().Before(expiry(head)) || json.Unmarshal(said, &so) != nil {
		return nil, progress{}, false
	}
	return head, so, true
}

func expiry(head []byte) time.Time { return time.Unix(0, int64(binary.BigEndian.Uint64(head))) }

func (a *asks) mac(head []byte, req *mcp.CallToolRequest, said []byte) []byte {
	principal := ""
	if req.Extra != nil && req.Extra.TokenInfo != nil {
		principal = req.Extra.TokenInfo.UserID
	}
	h := hmac.New(sha256.New, a.key)
	h.Write(head)
	for _, part := range []string{req.Params.Name, string(rawjson.Canonical(req.Params.Arguments)), principal, string(said)} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return h.Sum(nil)
}

// use reports whether a state was not used before, and remembers it until it expires.
func (a *asks) use(head []byte) bool {
	nonce := [nonceSize]byte(head[stampSize:])
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, again := a.used[nonce]; again {
		return false
	}
	if len(a.used) >= mostUsed {
		a.forget()
		if len(a.used) >= mostUsed {
			return false
		}
	}
	a.used[nonce] = expiry(head)
	return true
}

// forget drops expired states, which cannot be used anyway.
func (a *asks) forget() {
	now := a.now()
	for nonce, end := range a.used {
		if !now.Before(end) {
			delete(a.used, nonce)
		}
	}
}
