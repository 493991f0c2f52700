//go:build unix

package gateway_test

import (
	"strings"
	"syscall"
	"testing"
)

// A server that is killed is reached again for those who have subscribed to its resources, without anybody calling it. They
// are told that the resources were updated, since they may have been.
func TestSubscriptionsOutliveTheirServer(t *testing.T) {
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	for name, c := range map[string]struct{ begin, subscribe, call, marked string }{
		"older host": {hello, `{"jsonrpc":"2.0","id":"s","method":"resources/subscribe","params":{"uri":"test://a"}}`,
			tool("pid", "a", `{}`), `"uri":"test://a"`},
		"newer host": {"", `{"jsonrpc":"2.0","id":"s","method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["test://a"]},` + meta + `}}`,
			strings.Replace(tool("pid", "a", `{}`), `"params":{`, `"params":{`+meta+`,`, 1), `"io.modelcontextprotocol/subscriptionId":"s"`},
	} {
		t.Run(name, func(t *testing.T) {
			r := faultyRig(t, nil, "a", "b")
			w := r.wire(t)
			if c.begin != "" {
				w.ask(c.begin)
			}
			if got := w.ask(c.subscribe); strings.Contains(got, `"error"`) {
				t.Fatal(got)
			}
			for range 2 { // it has to hold for the second connection as well
				w.send(c.call)
				if err := syscall.Kill(pid(t, w.until("pid")["pid"]), syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
				line := w.recv()
				for !strings.Contains(line, "notifications/resources/updated") {
					line = w.recv()
				}
				if !strings.Contains(line, c.marked) {
					t.Errorf("announced %s", line)
				}
			}
		})
	}
}
