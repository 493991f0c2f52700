package upstream

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/weir-mcp/weir/internal/rpc"
)

// A ledger counts what a receiver gets.
type ledger struct {
	mu      sync.Mutex
	answers []string // ids of answers, and of requests that will get none
	defects int
}

func (l *ledger) dispatch(m *rpc.Message) {
	if m.IsResponse() {
		l.fail(m.ID, nil)
	}
}

func (l *ledger) refuse(bad *rpc.BadMessage) {
	if bad.Answers != nil {
		l.fail(bad.Answers, nil)
	}
}

func (l *ledger) fail(id json.RawMessage, _ error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answers = append(l.answers, string(id))
}

func (l *ledger) defect(string, string, ...any) { l.defects++ }

// FuzzResponse reads any response to a request: there is one answer and no other, or an error that says why not.
func FuzzResponse(f *testing.F) {
	const answer = `{"jsonrpc":"2.0","id":7,"result":{}}`
	for _, seed := range []struct {
		kind   string
		status int
		body   string
	}{
		{"application/json", 200, answer},
		{"application/json", 404, answer},
		{"application/json", 400, `{"jsonrpc":"2.0","error":{"code":1,"message":"m"},"id":null}`},
		{"application/json", 200, `{"jsonrpc":"2.0","id":8,"result":{}}`},
		{"application/json", 200, `{"jsonrpc":"2.0","method":"m"}`},
		{"text/event-stream", 200, "data: " + answer + "\n\ndata: " + answer + "\n\n"},
		{"Text/Event-Stream; charset=utf-8", 200, "id: 1\r\nevent: message\r\ndata: {\"jsonrpc\":\"2.0\",\ndata: \"id\":7,\"error\":{}}\n\n"},
		{"text/event-stream", 200, "data: {\"jsonrpc\":\"2.0\",\"id\":8,\"result\":{}}\n\ndata: {\"id\":7,\"result\":\n\n"},
		{"text/html", 200, "<html>"},
	} {
		f.Add(seed.kind, seed.status, seed.body, true)
	}
	f.Fuzz(func(t *testing.T, kind string, status int, body string, announced bool) {
		to := new(ledger)
		s := newStreamable(new(origin), Options{MaxMessage: 100}, to)
		modern := newest // whose streams are not resumed
		s.protocol.Store(&modern)
		x := s.exchange(t.Context(), rpc.NewRequest(json.RawMessage("7"), "m", nil))
		resp := &http.Response{
			StatusCode: status, Status: fmt.Sprint(status), ContentLength: -1, Header: http.Header{"Content-Type": {kind}},
			Body: io.NopCloser(iotest.HalfReader(strings.NewReader(body))), Request: new(http.Request),
		}
		if announced {
			resp.ContentLength = int64(len(body))
		}
		going, err := x.take(resp)
		s.tasks.wait()
		if going && err != nil {
			t.Fatalf("goes on with error %v", err)
		}
		if n := len(to.answers); n > 1 || n == 1 && to.answers[0] != "7" || (n == 0) != (err != nil) {
			t.Fatalf("answers to %q, error %v", to.answers, err)
		}
	})
}
