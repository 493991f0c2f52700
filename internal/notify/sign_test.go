package notify

import (
	"encoding/base64"
	"net/http"
	"strconv"
	"testing"
	"time"
)

// TestTheStandardsExample is the example of the libraries of Standard Webhooks.
func TestTheStandardsExample(t *testing.T) {
	key, err := base64.StdEncoding.DecodeString("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}
	const id, want = "msg_p5jXN8AQM9LWM0D4loKWxJek", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	at, body := time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`)
	if got := Secret(key).sign(id, at, body); got != want {
		t.Errorf("signed %s, want %s", got, want)
	}
	h := http.Header{}
	h.Set(headerID, id)
	h.Set(headerTimestamp, "1614265330")
	h.Set(headerSignature, "v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc= v2,AAAA "+want)
	if err := Secret(key).verify(h, id, at.Add(time.Minute), body); err != nil {
		t.Errorf("one of several signatures: %v", err)
	}
	if err := Secret(nil).verify(h, id, at, body); err == nil {
		t.Error("no secret verifies")
	}
}

// FuzzReply feeds responses that are signed, since nothing else gets that far: only the two words answer, and only for this question.
func FuzzReply(f *testing.F) {
	f.Add(`{"question":"Q","decision":"accept","by":"ann"}`)
	f.Add(`{"question":"Q","decision":"deny","by":"ann"}`)
	f.Add(`{"question":"Q","decision":"pending"}`)
	f.Add(`{"question":"Q","decision":"accept","decision":"deny","by":"ann"}`)
	h := newHook(Webhook{Secret: make(Secret, minSecret)}, Options{Now: time.Now}, nil)
	f.Fuzz(func(t *testing.T, body string) {
		r := &response{status: http.StatusOK, header: http.Header{}, body: []byte(body)}
		now := time.Now()
		r.header.Set(headerID, answerPrefix+"Q")
		r.header.Set(headerTimestamp, strconv.FormatInt(now.Unix(), 10))
		r.header.Set(headerSignature, h.Secret.sign(answerPrefix+"Q", now, r.body))
		said, by, err := h.readReply("Q", r)
		if said.Yes() && (err != nil || by == "" || len(by) > maxBy) {
			t.Errorf("%q: %s by %q, %v", body, said, by, err)
		}
		if other, _, err := h.readReply("P", r); err == nil || other != "" {
			t.Errorf("%q answers another question", body)
		}
	})
}
