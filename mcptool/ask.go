package mcptool

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/internal/rawjson"
)

const (
	question  = "weir-admit" // the id of the one input request
	nonceSize = 16
	stampSize = 8
	mostUsed  = 100_000 // answers that are remembered so that none counts twice
)

// asks puts questions to users and takes each answer once. The state that the client brings back with an answer is
// expiry, nonce, and a MAC of both with all that the answer is bound to: tool, arguments, question, session and
// principal.
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

// ask returns the question, or a refusal as the error, or neither if the user has accepted exactly this.
func (a *asks) ask(req *mcp.CallToolRequest, text string) (*mcp.CallToolResult, error) {
	answer, ok := req.Params.InputResponses[question].(*mcp.ElicitResult)
	if !ok || !a.fits(req, text) {
		return a.put(req, text)
	}
	if answer.Action != "accept" {
		return nil, refused("the user did not accept")
	}
	if !a.use(req.Params.RequestState) {
		return nil, refused("this answer was used before")
	}
	return nil, nil
}

// put returns the question as an input request; the SDK turns it into an elicitation for clients of older revisions.
func (a *asks) put(req *mcp.CallToolRequest, text string) (*mcp.CallToolResult, error) {
	if !canAsk(req) {
		return nil, refused("the user has to be asked, and this client has no elicitation: " + text)
	}
	return &mcp.CallToolResult{
		InputRequests: mcp.InputRequestMap{question: &mcp.ElicitParams{
			Mode: "form", Message: text, RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{}},
		}},
		RequestState: a.seal(req, text),
	}, nil
}

// seal returns the state for a question about a call.
func (a *asks) seal(req *mcp.CallToolRequest, text string) string {
	head := make([]byte, stampSize+nonceSize)
	binary.BigEndian.PutUint64(head, uint64(a.now().Add(a.patience).UnixNano()))
	_, _ = rand.Read(head[stampSize:]) // never fails
	return base64.RawURLEncoding.EncodeToString(append(head, a.mac(head, req, text)...))
}

func canAsk(req *mcp.CallToolRequest) bool {
	hello := req.Session.InitializeParams()
	return hello != nil && hello.Capabilities != nil && hello.Capabilities.Elicitation != nil
}

// fits reports whether the state is of this question about this call, and not too old.
func (a *asks) fits(req *mcp.CallToolRequest, text string) bool {
	state, err := base64.RawURLEncoding.DecodeString(req.Params.RequestState)
	if err != nil || len(state) != stampSize+nonceSize+sha256.Size {
		return false
	}
	head, mac := state[:stampSize+nonceSize], state[stampSize+nonceSize:]
	return hmac.Equal(mac, a.mac(head, req, text)) && a.now().Before(expiry(head))
}

func expiry(head []byte) time.Time { return time.Unix(0, int64(binary.BigEndian.Uint64(head))) }

func (a *asks) mac(head []byte, req *mcp.CallToolRequest, text string) []byte {
	principal := ""
	if req.Extra != nil && req.Extra.TokenInfo != nil {
		principal = req.Extra.TokenInfo.UserID
	}
	h := hmac.New(sha256.New, a.key)
	h.Write(head)
	for _, part := range []string{req.Params.Name, string(rawjson.Canonical(req.Params.Arguments)), text, principal} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return h.Sum(nil)
}

// use reports whether a state that fits was not used before, and remembers it until it expires.
func (a *asks) use(encoded string) bool {
	state, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil {
		return false
	}
	nonce := [nonceSize]byte(state[stampSize : stampSize+nonceSize])
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
	a.used[nonce] = expiry(state)
	return true
}

// forget drops expired answers, which cannot be used anyway.
func (a *asks) forget() {
	now := a.now()
	for nonce, end := range a.used {
		if !now.Before(end) {
			delete(a.used, nonce)
		}
	}
}
