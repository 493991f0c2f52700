package exchange

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/weir-mcp/weir/internal/hosterror"
	"github.com/weir-mcp/weir/internal/rawjson"
)

// sealPrefix begins every requestState by which a host comes back to a server's question. The rest is sealed: the
// specification wants state that passes through a client authenticated, bound to the principal, the request and its
// parameters, and short-lived (2026-07-28, Multi Round-Trip Requests, Server Requirements).
const sealPrefix = "weir2."

// stateLife is how long a host may take to come back.
const stateLife = 15 * time.Minute

// The kinds of sealed states.
const (
	stateServer  = "server"  // the requestState of a server, a JSON value, or nothing
	stateHeld    = "held"    // the name of a call that is held open, a JSON string
	stateCarried = "carried" // the members of an earlier retry, an object
)

// A returnState is the content of a sealed state. A state of a server goes back to that server only.
type returnState struct {
	Kind    string          `json:"kind"`
	Server  string          `json:"server"`
	Value   json.RawMessage `json:"value,omitempty"`
	Asked   []string        `json:"asked,omitempty"` // names of the questions that came with it
	Expires int64           `json:"expires"`         // seconds since 1970
}

var errState = hosterror.New("params.requestState is not of this request, or has expired; call again without it")

// A sealer encrypts and authenticates states under a key of its own that lives as long as it does. Nobody but the
// gateway can make or change one, and none can be used by another principal or for another request.
type sealer struct{ aead cipher.AEAD }

func newSealer() (*sealer, error) {
	key := make([]byte, 32)
	rand.Read(key)
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("making the key of request states: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("making the key of request states: %w", err)
	}
	return &sealer{aead}, nil
}

// seal returns a state for the request that is bound to it.
func (s *sealer) seal(binding []byte, state returnState) (string, error) {
	state.Expires = time.Now().Add(stateLife).Unix()
	plain, err := json.Marshal(state)
	if err != nil {
		return "", fmt.Errorf("sealing a request state: %w", err)
	}
	return sealPrefix + base64.RawURLEncoding.EncodeToString(s.aead.Seal(nil, nil, plain, binding)), nil
}

// open returns the state that was sealed, for the same binding and in time.
func (s *sealer) open(binding []byte, sealed string) (returnState, error) {
	text, ok := strings.CutPrefix(sealed, sealPrefix)
	data, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if !ok || err != nil {
		return returnState{}, errState
	}
	plain, err := s.aead.Open(nil, nil, data, binding)
	if err != nil {
		return returnState{}, errState
	}
	var state returnState
	if err := json.Unmarshal(plain, &state); err != nil || time.Now().Unix() >= state.Expires {
		return returnState{}, errState
	}
	return state, nil
}

// stateBinding stands for a principal's request: its method and, but for metadata and the members that a retry adds, its params.
func stateBinding(principal, method string, params json.RawMessage) []byte {
	for _, member := range []string{"_meta", "inputResponses", "requestState"} {
		params = rawjson.Delete(params, member)
	}
	if len(params) == 0 {
		params = json.RawMessage("{}")
	}
	var b []byte
	for _, part := range []string{principal, method, string(rawjson.Canonical(params))} {
		b = append(strconv.AppendInt(b, int64(len(part)), 10), ':')
		b = append(b, part...)
	}
	return b
}
