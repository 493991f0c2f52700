//go:build linux

package attach

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
)

// A scripted owner ends before it has answered all.
type scripted struct {
	every     int  // it answers no request whose number this divides
	most      int  // requests without an answer at which it ends, up to the host's window
	asks      bool // whether it makes a request of its own for each that it answers
	half      bool // whether it ends inside a line
	retelling bool // whether it ends once it is told something again
}

// Owners are a sequence of them, and one at the end that answers all.
type owners struct {
	script []scripted
	modern bool // whether the host does without a handshake

	mu     sync.Mutex
	lives  int
	got    map[string]int // how often a request of the host came to one, by id
	asked  int
	errors []string

	welcome  bool            // whether the handshake was answered
	standing map[string]bool // the requests with an answer that a session remembers
	told     map[string]bool // those of them that this owner was told again; nil once it has heard from the host itself
}

const window = 3 // requests that the host has open at a time

// ended reports whether the last one serves.
func (o *owners) ended() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.lives > len(o.script)
}

// serve is the life of one.
func (o *owners) serve(ctx context.Context, conn *net.UnixConn) {
	g, err := Accept(conn)
	if err != nil {
		return
	}
	defer g.Close()
	_ = g.Serve(ctx, func(context.Context) int {
		o.mu.Lock()
		life := o.lives
		o.lives++
		if o.told = nil; o.welcome {
			o.told = map[string]bool{}
		}
		o.mu.Unlock()
		in := bufio.NewScanner(g.Stdin)
		for n, left := 0, 0; in.Scan(); n++ {
			switch m, answered := o.take(g, life, n, in.Bytes()); {
			case life >= len(o.script):
				continue
			case m.IsRequest() && !answered:
				left++
			}
			if s := o.script[life]; left == s.most || left > 0 && s.retelling {
				if s.half {
					fmt.Fprint(g.Stdout, `{"jsonrpc":"2.0","id":1,"result":{"text":"`)
				}
				_ = g.line.conn.Close()
				return 0
			}
		}
		return 0
	})
}

// take deals with one line, and reports whether it was answered.
func (o *owners) take(g *Guest, life, n int, text []byte) (m *rpc.Message, answered bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	m, err := rpc.Parse(text)
	if err != nil {
		o.errors = append(o.errors, err.Error())
		return &rpc.Message{}, false
	}
	again := isOurs(string(m.ID))
	switch {
	case n == 0 && m.Method != "initialize" && !o.modern:
		o.errors = append(o.errors, "an owner hears first of "+m.Method)
	case again && life == 0:
		o.errors = append(o.errors, "the first owner is told something again")
	case !m.IsRequest():
		return m, false
	}
	o.remember(m, again)
	o.got[string(m.ID)]++
	result := `{}`
	if m.Method == "initialize" {
		result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}`
	}
	if life < len(o.script) {
		s := o.script[life]
		if again && s.retelling || !again && (n+1)%s.every == 0 {
			return m, false
		}
		if s.asks {
			o.asked++
			fmt.Fprintf(g.Stdout, `{"jsonrpc":"2.0","id":"weir-%d","method":"elicitation/create"}`+"\n", o.asked)
		}
	}
	fmt.Fprintf(g.Stdout, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
	if !again {
		o.answered(m)
	}
	return m, true
}

// isOurs reports whether an id is one of a relay.
func isOurs(id string) bool { return strings.HasPrefix(id, `"`+ours) }

// remember notes a request that an owner is told again, and holds that it was told all of them when the host speaks.
func (o *owners) remember(m *rpc.Message, again bool) {
	if again && m.Method != "initialize" {
		o.told[m.Method] = true
	}
	if !again && o.told != nil {
		if !maps.Equal(o.told, o.standing) {
			o.errors = append(o.errors, fmt.Sprintf("an owner is told %v again, and not %v", o.told, o.standing))
		}
		o.told = nil
	}
}

// answered notes a request of the host with an answer.
func (o *owners) answered(m *rpc.Message) {
	switch m.Method {
	case "initialize":
		o.welcome = true
	case "logging/setLevel", "resources/subscribe":
		o.standing[m.Method] = true
	case "resources/unsubscribe":
		delete(o.standing, "resources/subscribe")
	}
}

// TestEachRequestIsAnsweredOnce has owners end at any moment, in the middle of a line too, while a host makes requests:
// each is answered once, comes to one owner at most unless it is the handshake, and requests of owners that have ended are
// cancelled.
func TestEachRequestIsAnsweredOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		o := &owners{got: map[string]int{}, standing: map[string]bool{}, modern: rapid.Bool().Draw(rt, "modern"), script: rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) scripted {
			return scripted{
				every: rapid.IntRange(1, 4).Draw(rt, "every"), most: rapid.IntRange(1, window).Draw(rt, "most"),
				asks: rapid.Bool().Draw(rt, "asks"), half: rapid.Bool().Draw(rt, "half"), retelling: rapid.Bool().Draw(rt, "retelling"),
			}
		}), 0, maxDeaths).Draw(rt, "owners")}
		kinds := rapid.SliceOfN(rapid.SampledFrom([]string{
			`"tools/call","params":{"name":"x"}`, `"logging/setLevel","params":{"level":"info"}`, `"resources/subscribe","params":{"uri":"a:b"}`,
			`"resources/unsubscribe","params":{"uri":"a:b"}`,
		}), 1, 12).Draw(rt, "requests")
		client, end := serving(t, o.serve)
		defer end()
		w, h, shut := wrapOf(t, cat)
		defer shut()
		done := make(chan error, 1)
		go func() {
			_, err := Run(t.Context(), client, json.RawMessage(`{}`), w)
			done <- err
		}()
		p := player{host: h, kinds: kinds, answered: map[string]int{}, asked: map[string]bool{}}
		p.play(rt, o)
		if err := h.in.Close(); err != nil {
			rt.Error(err)
		}
		if err := <-done; err != nil {
			rt.Error(err)
		}
		p.check(rt, o)
	})
}

// A player is a host that makes requests.
type player struct {
	host
	kinds    []string
	sent     int
	answered map[string]int  // how often, by id
	asked    map[string]bool // requests of owners that nobody has cancelled
}

// play makes requests until the last owner serves and all are answered.
func (p *player) play(rt *rapid.T, o *owners) {
	for {
		last := o.ended() && p.sent > len(p.kinds)
		for ; !last && p.sent-len(p.answered) < window; p.sent++ {
			p.send(rt, o.modern)
		}
		if p.sent == len(p.answered) {
			return
		}
		line, err := p.out.ReadBytes('\n')
		m, bad := rpc.Parse(line)
		if err != nil || bad != nil {
			rt.Fatalf("the host reads %q, %v, %v", line, err, bad)
		}
		switch {
		case m.IsResponse():
			p.answered[string(m.ID)]++
		case m.IsRequest():
			p.asked[string(m.ID)] = true
		case m.Method == "notifications/cancelled":
			id, _ := rawjson.Get(m.Params, "requestId")
			delete(p.asked, string(id))
		}
	}
}

// send makes the next request, whose id is its number.
func (p *player) send(rt *rapid.T, modern bool) {
	kind := p.kinds[p.sent%len(p.kinds)]
	if p.sent == 0 && !modern {
		kind = `"initialize","params":{"protocolVersion":"2025-11-25"}`
	}
	text := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%s}`+"\n", p.sent, kind)
	if p.sent == 0 && !modern {
		text += `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"
	}
	if _, err := io.WriteString(p.in, text); err != nil {
		rt.Error(err)
	}
}

// check checks the outcome.
func (p *player) check(rt *rapid.T, o *owners) {
	for id, n := range p.answered {
		if n != 1 {
			rt.Errorf("request %s has %d answers", id, n)
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for id, n := range o.got {
		if n != 1 && id != "0" && !isOurs(id) {
			rt.Errorf("request %s came to %d owners", id, n)
		}
	}
	if len(o.errors) > 0 {
		rt.Error(o.errors)
	}
	if len(p.asked) > 0 {
		rt.Errorf("requests of owners that have ended are open: %v", p.asked)
	}
}

// TestOtherServer has a server offer something else to the second owner than to the first: the wrap ends.
func TestOtherServer(t *testing.T) {
	var lives atomic.Int32
	client := owned(t, func(ctx context.Context, conn *net.UnixConn) {
		g, err := Accept(conn)
		if err != nil {
			t.Error(err)
			return
		}
		defer g.Close()
		life := lives.Add(1)
		_ = g.Serve(ctx, func(context.Context) int {
			in := bufio.NewScanner(g.Stdin)
			in.Scan()
			m, err := rpc.Parse(in.Bytes())
			if err != nil {
				t.Error(err)
				return 1
			}
			fmt.Fprintf(g.Stdout, `{"jsonrpc":"2.0","id":%s,"result":{"capabilities":{"n":%d}}}`+"\n", m.ID, life)
			if in.Scan() && life == 1 { // after the host has got the answer
				_ = conn.Close()
			}
			return 0
		})
	})
	w, h, shut := wrapOf(t, cat)
	defer shut()
	if _, err := io.WriteString(h.in, `{"jsonrpc":"2.0","id":1,"method":"initialize"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	go func() {
		if line, err := h.out.ReadString('\n'); err != nil {
			t.Error(line, err)
		}
		_, _ = io.WriteString(h.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	}()
	if status, err := Run(t.Context(), client, json.RawMessage(`{}`), w); status != 0 || err == nil || !strings.Contains(err.Error(), "something else") {
		t.Errorf("status %d, %v", status, err)
	}
}
