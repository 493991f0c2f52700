package gateway_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/capture"
	"github.com/weir-mcp/weir/internal/gateway"
	"github.com/weir-mcp/weir/internal/gateway/agentsession"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/internal/upstream"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/session"
	"github.com/weir-mcp/weir/store/sqlstore"
	"github.com/weir-mcp/weir/vault"
)

var hiderKills = flag.Int("hide.kills", 6, "how often TestHiddenValuesSurviveKills kills a gateway")

// A hoard is the store of a gateway with hidden values.
type hoard struct {
	db     *sqlstore.DB
	anchor *audit.Anchor
	vault  *vault.Vault
}

func openHoard(ctx context.Context, dir string) (h hoard, err error) {
	if h.anchor, err = audit.OpenAnchor(filepath.Join(dir, "anchor"), "example.com/weir", nil); err != nil {
		return h, err
	}
	if h.db, err = sqlstore.Open(ctx, filepath.Join(dir, "state.db"), &sqlstore.Options{Anchor: h.anchor}); err != nil {
		return h, errors.Join(err, h.anchor.Close())
	}
	h.vault, err = vault.Open(ctx, h.db, capture.NewSealer(filepath.Join(dir, "key")), vault.Limits{})
	return h, err
}

func (h *hoard) Close() error { return errors.Join(h.db.Close(), h.anchor.Close()) }

// hider serves a gateway that hides results on standard input and output.
func hider(dir, file string) error {
	h, err := openHoard(context.Background(), dir)
	if err != nil {
		return err
	}
	p, err := policy.Load("hide.yaml", []byte(hideAll))
	if err != nil {
		return err
	}
	g, err := gateway.New(gateway.Options{
		State:  guard.NewState(session.New(session.Options{Store: h.db}), record.Discard()),
		Taints: session.NewTaints(session.TaintOptions{Store: h.db}), Policy: p, Hiding: gateway.Hiding{Vault: h.vault},
		Servers: []gateway.Server{{Name: "s", Trust: contract.Known, Spec: upstream.Spec{Name: "s", Command: []string{os.Args[0], "leaky", file}}}},
		BaseEnv: os.Environ(), Version: "test", Stderr: io.Discard,
	})
	if err != nil {
		return err
	}
	return errors.Join(g.ServeStdio(context.Background(), rpc.NewStream(os.Stdin, os.Stdout, nil)), g.Close(), h.Close())
}

// hidings are the answers that hosts got before gateways were killed.
type hidings struct {
	mu     sync.Mutex
	values map[[2]string]int // the number in a value, by session and name
	bits   map[string]int    // by session
	heard  int
}

var answeredLook = regexp.MustCompile(`"isError":true|\{\\"answer\\":`)

// hear notes an answer. The id of a request is its session, its kind, and a number.
func (o *hidings) hear(line []byte) {
	raw, _ := rawjson.Get(line, "id")
	id, _ := rawjson.String(raw)
	var session, kind string
	var number int
	if _, err := fmt.Sscan(id, &session, &kind, &number); err != nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.heard++
	name := valueName.FindSubmatch(line)
	switch {
	case kind == "inbox" && name != nil:
		o.values[[2]string{session, string(name[1])}] = number
	case kind == "look" && answeredLook.Match(line) && !spentBits.Match(line) && !strings.Contains(string(line), "no such value"):
		o.bits[session] += 2
	}
}

// some returns the name of a value that a session has, if any.
func (o *hidings) some(session string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	for of := range o.values {
		if of[0] == session {
			return of[1]
		}
	}
	return "w00000"
}

// A gateway that is killed at any moment has kept each value whose name a host was told, with its bytes and its label,
// and the bits of each look that was answered.
func TestHiddenValuesSurviveKills(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "leak.json")
	raw, _ := json.Marshal(leak{nil, `"result":{"content":[{"type":"text","text":"{\"n\":NUMBER,\"on\":true}"}]}`})
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	o := &hidings{values: map[[2]string]int{}, bits: map[string]int{}}
	for kill := range *hiderKills {
		o.kill(t, dir, file, fmt.Sprint("s", kill/2)) // every other one goes on with a session
		h, err := openHoard(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		o.check(t, &h)
		if report, err := audit.Verify(t.Context(), h.db.Log(), audit.VerifyOptions{Anchor: h.anchor}); err != nil || report.Result() != audit.OK {
			t.Errorf("%+v, %v", report, err)
		}
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if len(o.values) == 0 || len(o.bits) == 0 {
		t.Error("nothing happened")
	}
	t.Logf("%d answers, %d values, bits %v", o.heard, len(o.values), o.bits)
}

// kill starts a gateway, has it work, and kills it at some moment.
func (o *hidings) kill(t *testing.T, dir, file, session string) {
	t.Helper()
	c := exec.Command(os.Args[0], "hider", dir, file)
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	enough, ended, room := 20+rand.IntN(100), make(chan struct{}), make(chan struct{}, 12)
	go func() { // until the pipe is closed
		defer close(ended)
		for lines := bufio.NewReader(out); ; enough-- {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return
			}
			select {
			case <-room:
			default: // of the handshake
			}
			if o.hear(line); enough == 0 {
				go func() {
					time.Sleep(time.Duration(rand.IntN(3000)) * time.Microsecond)
					_ = c.Process.Kill()
				}()
			}
		}
	}()
	_, _ = fmt.Fprintf(in, "%s\n%s\n", hello, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	for i := 0; err == nil; i++ {
		select {
		case room <- struct{}{}:
		case <-ended:
		}
		kind, call := "inbox", fmt.Sprintf(`"name":"inbox","arguments":{"n":%d}`, i)
		if i%3 == 2 {
			kind, call = "look", fmt.Sprintf(`"name":"weir_look","arguments":{"value":%q,"path":"/on","as":"boolean"}`, o.some(session))
		}
		_, err = fmt.Fprintf(in, `{"jsonrpc":"2.0","id":"%s %s %d","method":"tools/call","params":{"_meta":{"dev.weir/agent-session":%q},%s}}`+"\n",
			session, kind, i, session, call)
	}
	_ = in.Close()
	<-ended
	_ = c.Wait() // it was killed
}

// check compares what hosts were told with what is kept.
func (o *hidings) check(t *testing.T, h *hoard) {
	t.Helper()
	spaces := map[string]vault.Space{}
	for s, err := range h.db.List(t.Context(), agentsession.LocalPrincipal) {
		if err != nil {
			t.Fatal(err)
		}
		spaces[s.Key[strings.LastIndexAny(s.Key, ":/")+1:]] = vault.Space{Owner: s.Principal, Key: s.Key}
	}
	gone := 0
	for of, number := range o.values {
		v, err := h.vault.Get(t.Context(), of[1], spaces[of[0]])
		want := fmt.Sprintf(`{"n":%d,"on":true}`, number)
		switch {
		case errors.Is(err, vault.ErrUnknown): // later ones have pushed it out
			gone++
		case err != nil || v.Text() != want || !v.Label.Untrusted:
			t.Errorf("%s of %s is %q with %v, want %s, %v", of[1], of[0], v.Text(), v.Label, want, err)
		}
	}
	if gone > max(0, len(o.values)-900) {
		t.Errorf("of %d values %d are gone", len(o.values), gone)
	}
	for session, bits := range o.bits {
		if sum, err := h.vault.Looked(t.Context(), spaces[session]); err != nil || sum < bits {
			t.Errorf("looks of %s told %d bits, and %d are counted, %v", session, bits, sum, err)
		}
	}
}
