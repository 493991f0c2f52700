//go:build unix

package gateway_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// crowd sends so many calls that a server never answers, and returns when it has been told of those that are refused.
func crowd(t *testing.T, w *wire, server string, calls, refused int) {
	t.Helper()
	go func() {
		for i := range calls {
			fmt.Fprintln(w.in, tool(fmt.Sprint(server, " ", i), server, `{"do":"never answer"}`))
		}
		fmt.Fprintln(w.in, `{"jsonrpc":"2.0","id":"sent","method":"ping"}`)
	}()
	for sent := false; !sent || refused > 0; {
		switch line := w.recv(); {
		case strings.Contains(line, "in flight already"):
			refused--
		case strings.Contains(line, `"id":"sent"`):
			sent = true
		default:
			t.Fatalf("got %s", line)
		}
	}
	if refused < 0 {
		t.Fatalf("%d calls of %s too many were refused", -refused, server)
	}
}

func giveUp(w *wire, server string, n int) {
	w.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"%s %d"}}`, server, n))
}

// A server that answers nothing can take up no more than its share of what one host may have in flight.
func TestServerThatAnswersNothingLeavesRoom(t *testing.T) {
	r := faultyRig(t, nil, "a", "b")
	w := r.wire(t)
	w.ask(hello)
	w.ask(listTools)
	crowd(t, w, "a", 4100, 4)
	w.send(tool("good", "b", `{}`))
	if got := w.until("good")["good"]; !strings.Contains(got, `"result"`) {
		t.Errorf("another server: %s", got)
	}
	for i := range 4100 { // which of them were refused is not known
		giveUp(w, "a", i)
	}
	for tries := 0; ; tries++ { // a call that was given up leaves in its own time
		id := fmt.Sprint("again ", tries)
		w.send(tool(id, "a", `{}`))
		if got := w.until(id)[id]; strings.Contains(got, `"result"`) {
			break
		} else if !strings.Contains(got, "in flight already") {
			t.Fatal(got)
		}
	}
}

// A host that has too much in flight is told so; requests that it cancels make room.
func TestHostHasTooMuchInFlight(t *testing.T) {
	r := faultyRig(t, nil, "a", "b", "c")
	w := r.wire(t)
	w.ask(hello)
	w.ask(listTools)
	crowd(t, w, "a", 4096, 0)
	crowd(t, w, "b", 4095, 0)
	time.Sleep(100 * time.Millisecond) // the last of the pings leaves when its answer is out
	w.send(tool("last 0", "c", `{"do":"never answer"}`))
	if got := w.ask(`{"jsonrpc":"2.0","id":1,"method":"ping"}`); !strings.Contains(got, "of this connection are in flight already") {
		t.Fatalf("one too many: %s", got)
	}
	giveUp(w, "a", 0)
	for {
		got := w.ask(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		if strings.Contains(got, `"result"`) {
			break
		}
		if !strings.Contains(got, "in flight already") {
			t.Fatal(got)
		}
	}
	giveUp(w, "last", 0)
	for i := range 4096 {
		giveUp(w, "a", i)
		giveUp(w, "b", i)
	}
}
