package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

// An operation is one call of a counted server, as its host saw it.
type operation struct {
	countedCall
	tool    string
	session string // as the host names it
	parent  string // "" if it has none
	by      int    // which weir it was sent to

	// Moments of the history; zero is never. An operation answered at a moment was acknowledged before any that is sent
	// later.
	sent, answered int
	refused        bool
}

// request is the line that a host sends, with an id of the protocol's.
func (o *operation) request(id string) string {
	meta := object{"dev.weir/agent-session": o.session}
	if o.parent != "" {
		meta["dev.weir/parent-agent-session"] = o.parent
	}
	data, err := json.Marshal(object{"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": object{
		"name": o.tool, "arguments": o.countedCall, "_meta": meta,
	}})
	if err != nil {
		panic(err) // nothing in it can fail
	}
	return string(data) + "\n"
}

// A history holds the requests of hosts and their answers, in one order. It may be used concurrently.
type history struct {
	mu   sync.Mutex
	now  int
	all  []*operation
	byID map[string]*operation
}

func newHistory() *history { return &history{byID: map[string]*operation{}} }

// send adds an operation that is sent after this returns.
func (h *history) send(o *operation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now++
	o.sent = h.now
	h.all = append(h.all, o)
	h.byID[o.ID] = o
}

// answer adds an answer that has arrived.
func (h *history) answer(t *testing.T, id string, m message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	o := h.byID[id]
	if o == nil || o.answered != 0 {
		t.Errorf("an answer to %q, which waits for none", id)
		return
	}
	h.now++
	o.answered, o.refused = h.now, m.refused()
	if !o.refused && !o.Unseen && !slices.Contains(attribution(m), urnSeen+id) {
		t.Errorf("%s was handed on without its label: %v", id, m.Result)
	}
}

// refused counts the operations that were.
func (h *history) refused() (n int) {
	for _, o := range h.all {
		if o.refused {
			n++
		}
	}
	return n
}

// attribution returns that of a result's annotations.
func attribution(m message) []string {
	meta, _ := m.Result["_meta"].(object)
	annotations, _ := meta["annotations"].(object)
	list, _ := annotations["attribution"].([]any)
	var all []string
	for _, v := range list {
		s, _ := v.(string)
		all = append(all, s)
	}
	return all
}

// A seen is the label of an event or a session, as far as it matters here.
type seen struct {
	Attribution, Sensitivity []string
}

// Evidence is the records of Weir and of the server.
type evidence struct {
	effects  map[string]int             // how often, by the id of the call
	decided  map[string]int             // decisions on calls that let them go, by the id of the call
	labels   map[string][]seen          // of decisions on calls, by the id of the call
	events   map[string]map[string]bool // events of labels, by agent session and URI
	sessions map[string]seen            // by agent session
	accepted map[string]int             // by binding
	used     map[string]int             // by binding
}

// evidence reads it. No weir may be running that anything is still sent to.
func (c *counted) evidence(t *testing.T) *evidence {
	t.Helper()
	e := &evidence{
		effects: map[string]int{}, decided: map[string]int{}, labels: map[string][]seen{}, events: map[string]map[string]bool{},
		sessions: map[string]seen{}, accepted: map[string]int{}, used: map[string]int{},
	}
	effects, err := os.ReadFile(c.effects)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(effects)) {
		e.effects[strings.TrimSpace(line)]++
	}
	for line := range bytes.Lines(c.output(t, "audit", "export")) {
		e.event(t, line)
	}
	var list struct {
		Sessions []struct {
			Key   string
			Label seen
		}
	}
	if err := json.Unmarshal(c.output(t, "session", "list", "--json"), &list); err != nil {
		t.Fatal(err)
	}
	for _, s := range list.Sessions {
		e.sessions[agentSession(s.Key)] = s.Label
	}
	return e
}

func (e *evidence) event(t *testing.T, line []byte) {
	t.Helper()
	var ev struct {
		Kind, Phase, Effect, Session, Parent, Binding string
		Label                                         seen
		Content                                       struct{ Fields map[string]string }
	}
	if err := json.Unmarshal(line, &ev); err != nil {
		t.Fatalf("%v in %.300q", err, line)
	}
	id := ev.Content.Fields["/arguments/id"]
	switch {
	case ev.Kind == "approval" && ev.Effect == "accepted":
		e.accepted[ev.Binding]++
	case ev.Kind == "decision" && ev.Phase == "call":
		e.labels[id] = append(e.labels[id], ev.Label)
		if ev.Effect == "allow" {
			e.decided[id]++
			if ev.Binding != "" {
				e.used[ev.Binding]++
			}
		}
	case ev.Kind == "label":
		for _, key := range []string{ev.Session, ev.Parent} { // a label joined into a session joins into its parent
			s := agentSession(key)
			if e.events[s] == nil {
				e.events[s] = map[string]bool{}
			}
			for _, uri := range ev.Label.Attribution {
				e.events[s][uri] = true
			}
		}
	}
}

// agentSession returns how hosts name the session with a key.
func agentSession(key string) string {
	_, name, _ := strings.Cut(key, "/agent:")
	return name
}

// check finds effects without their events, and labels that were acknowledged and are missing.
func (h *history) check(t *testing.T, e *evidence) {
	t.Helper()
	for _, o := range h.all {
		if n, decided := e.effects[o.ID], e.decided[o.ID]; n > min(1, decided) {
			t.Errorf("%s %s had %d effects, and %d events let it go", o.tool, o.ID, n, decided)
		}
		if o.answered == 0 || o.refused {
			continue
		}
		if o.tool != "look" && e.effects[o.ID] == 0 {
			t.Errorf("%s %s was answered and had no effect", o.tool, o.ID)
		}
	}
	h.checkLabels(t, e)
	for s, label := range e.sessions {
		for _, uri := range label.Attribution {
			if !e.events[s][uri] {
				t.Errorf("session %s has the label %s, and no event tells of it", s, uri)
			}
		}
	}
}

// checkLabels finds labels that were acknowledged and are missing.
func (h *history) checkLabels(t *testing.T, e *evidence) {
	t.Helper()
	for _, o := range h.all {
		if o.answered == 0 || o.refused || o.Unseen {
			continue
		}
		uri := urnSeen + o.ID
		if !e.events[o.session][uri] {
			t.Errorf("the label of %s has no event", o.ID)
		}
		for _, s := range []string{o.session, o.parent} {
			if s != "" && !slices.Contains(e.sessions[s].Attribution, uri) {
				t.Errorf("session %s lacks the label of %s, which was acknowledged", s, o.ID)
			}
			if s != "" && o.Secret && !slices.Contains(e.sessions[s].Sensitivity, "credentials") {
				t.Errorf("session %s holds the credentials of %s and does not know", s, o.ID)
			}
		}
	}
}

// checkDecisions finds decisions on calls that did not know of a label which was acknowledged before the call was sent. It
// returns how many pairs of a label and a later decision by another weir there were.
func (h *history) checkDecisions(t *testing.T, e *evidence) (pairs int) {
	t.Helper()
	known := map[string][]*operation{} // the operations that raised a session, by session
	for _, o := range h.all {
		if o.answered == 0 || o.refused || o.Unseen {
			continue
		}
		known[o.session] = append(known[o.session], o)
		if o.parent != "" {
			known[o.parent] = append(known[o.parent], o)
		}
	}
	for _, o := range h.all {
		for _, k := range known[o.session] {
			if k.answered > o.sent {
				continue
			}
			for _, l := range e.labels[o.ID] {
				if k.by != o.by {
					pairs++
				}
				if !slices.Contains(l.Attribution, urnSeen+k.ID) {
					t.Errorf("%s was decided without the label of %s, acknowledged before", o.ID, k.ID)
				}
			}
			if k.Secret && o.tool == "append" && (e.effects[o.ID] > 0 || o.answered > 0 && !o.refused) {
				t.Errorf("%s went out, though its session held the credentials of %s before", o.ID, k.ID)
			}
		}
	}
	return pairs
}

// checkApprovals finds acceptances that were used more than once. It returns how many were used.
func (e *evidence) checkApprovals(t *testing.T) (used int) {
	t.Helper()
	for binding, n := range e.used {
		used += n
		if n > e.accepted[binding] {
			t.Errorf("%d calls went by %d acceptances of %s", n, e.accepted[binding], binding)
		}
	}
	return used
}

// verify has the log verified.
func (c *counted) verify(t *testing.T) {
	t.Helper()
	if out, err := c.command("audit", "verify").CombinedOutput(); err != nil {
		t.Fatalf("weir audit verify: %v\n%s", err, out)
	}
}

// name makes ids.
func name(parts ...any) string {
	return strings.ReplaceAll(strings.TrimSpace(fmt.Sprintln(parts...)), " ", "-")
}
