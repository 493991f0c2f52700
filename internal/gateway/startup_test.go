//go:build unix

package gateway_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weir-mcp/weir/internal/gateway"
	"github.com/weir-mcp/weir/internal/upstream"
)

// logged has faulty servers log to files of their names in a directory.
func logged(dir string) func(*gateway.Options) {
	return func(o *gateway.Options) {
		for i := range o.Servers {
			o.Servers[i].Spec.Command = append(o.Servers[i].Spec.Command, filepath.Join(dir, o.Servers[i].Name))
		}
	}
}

// hold keeps a faulty server from shaking hands until the test removes the file that it returns.
func hold(t *testing.T, dir, server string) (file string) {
	t.Helper()
	file = filepath.Join(dir, server+".held")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

const listTools = `{"jsonrpc":"2.0","id":"list","method":"tools/list"}`

// A server that does not answer its handshake is not waited for longer than the startup, and announced when it comes.
func TestSlowServersAreAnnouncedWhenTheyCome(t *testing.T) {
	dir := t.TempDir()
	held := hold(t, dir, "slow")
	r := faultyRig(t, func(o *gateway.Options) {
		logged(dir)(o)
		o.Startup = 300 * time.Millisecond
	}, "quick", "slow")
	w := r.wire(t)
	if welcome := w.ask(hello); !strings.Contains(welcome, `"prompts"`) {
		t.Errorf("%s: a server that is not there may have prompts, and its host would not ask for them later", welcome)
	}
	w.lists("quick") // it may take longer than the startup too, on a slow machine
	for range 2 {
		if list, _ := w.lists("quick"); strings.Contains(list, `"slow"`) {
			t.Errorf("before: %s", list)
		}
	}
	w.send(tool("quick", "quick", `{}`))
	w.until("quick")
	if err := os.Remove(held); err != nil {
		t.Fatal(err)
	}
	for told := false; !told; {
		_, told = w.lists("slow")
	}
	w.send(tool("slow", "slow", `{}`))
	if answer := w.until("slow")["slow"]; !strings.Contains(answer, `"result"`) {
		t.Errorf("the call: %s", answer)
	}
}

// lists reads the list of tools again and again until it has one, and says whether it was told meanwhile that the list has changed.
func (w *wire) lists(tool string) (list string, told bool) {
	w.t.Helper()
	for {
		w.send(listTools)
		for list = ""; !strings.Contains(list, `"id":"list"`); {
			list = w.recv()
			told = told || strings.Contains(list, "notifications/tools/list_changed")
		}
		if strings.Contains(list, `"`+tool+`"`) {
			return list, told
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// The request that has a server started does not take the attempt with it when it ends.
func TestStartOutlivesWhoWantedIt(t *testing.T) {
	dir := t.TempDir()
	held := hold(t, dir, "slow")
	r := faultyRig(t, func(o *gateway.Options) {
		logged(dir)(o)
		o.Startup = time.Millisecond
	}, "quick", "slow")
	w := r.wire(t)
	w.ask(hello)
	if err := os.Remove(held); err != nil {
		t.Fatal(err)
	}
	for !strings.Contains(w.recv(), "notifications/tools/list_changed") {
	}
	w.lists("slow") // the other one may have come first
	w.send(tool("slow", "slow", `{}`))
	if answer := w.until("slow")["slow"]; !strings.Contains(answer, `"result"`) {
		t.Errorf("the call: %s", answer)
	}
}

// Of many servers few are started at one time.
func TestFewServersAreStartedAtOnce(t *testing.T) {
	dir := t.TempDir()
	var names, held []string
	for i := range 24 {
		names = append(names, fmt.Sprint("s", i))
		held = append(held, hold(t, dir, names[i]))
	}
	r := faultyRig(t, func(o *gateway.Options) {
		logged(dir)(o)
		o.Startup = time.Minute
	}, names...)
	w := r.wire(t)
	w.send(hello)
	started := func() int {
		files, _ := filepath.Glob(filepath.Join(dir, "*.started"))
		return len(files)
	}
	for started() < 16 {
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(200 * time.Millisecond) // for one too many
	if n := started(); n != 16 {
		t.Errorf("%d servers are being started, want 16", n)
	}
	for _, file := range held {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	w.recv()
	if list := w.ask(listTools); strings.Count(list, `"name":`) != len(names) {
		t.Errorf("not all are there: %s", list)
	}
}

// Names that no server has cost the servers next to nothing, however many there are; one that is new is found.
func TestUnknownNamesDoNotReadListsAnew(t *testing.T) {
	dir := t.TempDir()
	r := faultyRig(t, logged(dir), "a")
	w := r.wire(t)
	w.ask(hello)
	began := time.Now()
	var ids []string
	for i := range 500 {
		ids = append(ids, fmt.Sprint(i))
		w.send(tool(ids[i], "nobody has "+ids[i], `{}`))
	}
	for id, answer := range w.until(ids...) {
		if !strings.Contains(answer, "-32602") {
			t.Errorf("%s: %s", id, answer)
		}
	}
	seen, _ := os.ReadFile(filepath.Join(dir, "a"))
	if most := 2 + int(time.Since(began)/(5*time.Second)); len(seen) > most {
		t.Errorf("the list was asked for %d times, want at most %d", len(seen), most)
	}
}

// Processes that start ahead are those that the first host gets, and no others are started for it.
func TestStartAhead(t *testing.T) {
	dir := t.TempDir()
	starts := func() string {
		all, _ := os.ReadFile(filepath.Join(dir, "starts"))
		return string(all)
	}
	var ahead io.Closer
	r := faultyRig(t, func(o *gateway.Options) {
		for i := range o.Servers {
			spec := &o.Servers[i].Spec
			script := fmt.Sprintf(`echo %s >> %s/starts; exec "$0" "$@"`, spec.Name, dir)
			spec.Command = append([]string{"/bin/sh", "-c", script}, spec.Command...)
		}
		o.Servers = append(o.Servers, gateway.Server{Name: "none", Spec: upstream.Spec{Name: "none", Command: []string{"/nowhere/at/all"}}})
		ahead = gateway.StartAhead(o)
	}, "quick")
	for deadline := time.Now().Add(time.Minute); starts() == "" && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
	}
	if starts() != "quick\n" {
		t.Errorf("started before a host is there: %q", starts())
	}
	w := r.wire(t)
	w.ask(hello)
	if list := w.ask(listTools); !strings.Contains(list, `"quick"`) {
		t.Errorf("the list: %s", list)
	}
	if err := ahead.Close(); err != nil {
		t.Error(err)
	}
	w.send(tool("quick", "quick", `{}`))
	if answer := w.until("quick")["quick"]; !strings.Contains(answer, `"result"`) || starts() != "quick\n" {
		t.Errorf("the call: %s; started: %q", answer, starts())
	}
}

// A process that no host came to need ends.
func TestStartAheadOfNobody(t *testing.T) {
	var ahead io.Closer
	faultyRig(t, func(o *gateway.Options) { ahead = gateway.StartAhead(o) }, "a", "b") // which checks that none is left
	if err := ahead.Close(); err != nil {
		t.Error(err)
	}
}
