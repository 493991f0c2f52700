package notify

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The headers of Standard Webhooks 1.0.0, in requests and in signed responses.
const (
	headerID        = "Webhook-Id"
	headerTimestamp = "Webhook-Timestamp"
	headerSignature = "Webhook-Signature"
)

// tolerance is how far the clocks of both sides may be apart, and how old a signature may be.
const tolerance = 5 * time.Minute

// A Secret signs notifications and answers: the bytes behind whsec_ of Standard Webhooks, 24 to 64.
type Secret []byte

// minSecret is the length of the shortest secret that verifies anything, in bytes.
const minSecret = 24

// sign returns the signature of a body under an id, at a time: HMAC-SHA256 over "id.timestamp.body".
func (s Secret) sign(id string, at time.Time, body []byte) string {
	return "v1," + base64.StdEncoding.EncodeToString(s.sum(id, at.Unix(), body))
}

func (s Secret) sum(id string, at int64, body []byte) []byte {
	mac := hmac.New(sha256.New, s)
	fmt.Fprintf(mac, "%s.%d.", id, at)
	mac.Write(body)
	return mac.Sum(nil)
}

// Errors of signatures.
var (
	errUnsigned  = errors.New("it is not signed")
	errOtherID   = errors.New("it is signed for something else")
	errStale     = errors.New("its timestamp is too far from now")
	errSignature = errors.New("its signature is wrong")
)

// verify returns nil if a body is signed under exactly this id, about now.
func (s Secret) verify(h http.Header, id string, now time.Time, body []byte) error {
	for _, name := range []string{headerID, headerTimestamp, headerSignature} {
		if len(h.Values(name)) != 1 {
			return errUnsigned
		}
	}
	if h.Get(headerID) != id {
		return errOtherID
	}
	at, err := strconv.ParseInt(h.Get(headerTimestamp), 10, 64)
	if err != nil || now.Sub(time.Unix(at, 0)).Abs() > tolerance {
		return errStale
	}
	if len(s) < minSecret {
		return errSignature // or anybody could sign
	}
	want := s.sum(id, at, body)
	for part := range strings.FieldsSeq(h.Get(headerSignature)) {
		text, ok := strings.CutPrefix(part, "v1,")
		got, err := base64.StdEncoding.DecodeString(text)
		if ok && err == nil && hmac.Equal(got, want) {
			return nil
		}
	}
	return errSignature
}
