package gateway_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/gateway"
	"github.com/weir-mcp/weir/internal/gateway/approve"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/session"
	"github.com/weir-mcp/weir/store"
)

// A family is a host with agent sessions of several names.
type family struct {
	*leakyHost
	plain string
}

func newFamily(t *testing.T, change func(*gateway.Options)) *family {
	h := newLeakyHost(t, true, func(o *gateway.Options) {
		headless(o)
		o.Plans.Isolates = []string{"h"}
		if change != nil {
			change(o)
		}
	})
	return &family{h, h.meta}
}

// as has the next requests come from an agent session with a parent; an isolated one if its name begins with "i".
func (f *family) as(name, parent string) {
	f.meta = f.plain + fmt.Sprintf(`"dev.weir/agent-session":%q,`, name)
	if parent != "" {
		f.meta += fmt.Sprintf(`"dev.weir/parent-agent-session":%q,"dev.weir/isolated":%t,`, parent, strings.HasPrefix(name, "i"))
	}
}

// reads has the session read untrusted content, and returns the name of the value.
func (f *family) reads(text string) string {
	f.t.Helper()
	f.saysText(text)
	name := f.value(f.call("inbox", "{}"))
	if answer := string(f.call("weir_reveal", fmt.Sprintf(`{"value":%q}`, name))); !strings.Contains(answer, "dev.weir") && !strings.Contains(answer, "annotations") {
		f.t.Fatalf("nothing is revealed: %s", answer)
	}
	return name
}

func (f *family) sends() bool { f.t.Helper(); return f.goes("post", `{"text":"hello"}`) }

// An isolated session reads what it likes: the one above stays clean, and gets nothing but the values that it
// returns.
func TestIsolated(t *testing.T) {
	f := newFamily(t, nil)
	f.as("p", "")
	if !f.sends() {
		t.Fatal("the parent does not send before")
	}
	f.as("i", "p")
	inner := f.reads(`{"from":"CANARY","n":7}`)
	if f.sends() {
		t.Error("the isolated session sends after reading")
	}
	number := string(f.call("weir_return", `{"value":4217,"as":"integer"}`))
	if !strings.Contains(number, `\"answer\":4217`) {
		t.Error(number)
	}
	handle := string(f.call("weir_return", `{"value":{"who":"[[`+inner+`#/from]]","mine":"CANARY 2"}}`))
	_, name, ok := strings.Cut(handle, `\"value\":\"`)
	if !ok {
		t.Fatal(handle)
	}
	name = name[:6]
	f.heard = nil
	f.as("p", "")
	if !f.sends() {
		t.Error("the parent does not send after")
	}
	for _, attempt := range []string{`{"text":"[[` + inner + `]]"}`, `{"text":"[[` + inner + `#/from]]"}`} {
		if answer := string(f.call("save", attempt)); !strings.Contains(answer, "a handle stands for no value") {
			t.Errorf("the parent uses a value of the isolated session: %s", answer)
		}
	}
	for _, tool := range []string{"weir_reveal", "weir_look"} {
		if answer := string(f.call(tool, fmt.Sprintf(`{"value":%q,"as":"boolean"}`, inner))); !strings.Contains(answer, "isError") && !strings.Contains(answer, "no such") {
			t.Errorf("%s: %s", tool, answer)
		}
	}
	if f.goes("post", `{"text":"4217"}`) {
		t.Error("a number that was returned is a destination")
	}
	f.saysText("done")
	f.call("post", `{"text":"[[`+name+`#/mine]]"}`)
	if strings.Contains(f.got(), "CANARY") {
		t.Error("a returned value goes where the parent wants")
	}
	f.silent("in the parent")
	f.call("save", `{"text":"[[`+name+`#/who]] [[`+name+`#/mine]]"}`)
	if f.got() != `{"text":"CANARY CANARY 2"}` {
		t.Errorf("the server got %s", f.got())
	}
	f.call("weir_reveal", fmt.Sprintf(`{"value":%q}`, name))
	if f.sends() {
		t.Error("the parent sends after it saw a returned value")
	}
}

// The label, the hidden values and the numbers of a parent count in an isolated session, and in those below that.
func TestIsolatedInherits(t *testing.T) {
	f := newFamily(t, nil)
	f.as("p", "")
	f.saysText(`{"who":"CANARY","n":112233445566}`)
	name := f.value(f.call("inbox", "{}"))
	f.call("weir_look", fmt.Sprintf(`{"value":%q,"path":"/n","as":"integer","min":0,"max":999999999999}`, name))
	for _, s := range [][2]string{{"i", "p"}, {"i2", "p"}, {"d", "i2"}} {
		f.as(s[0], s[1])
		if !f.sends() {
			t.Errorf("%v: does not send", s)
		}
		if f.goes("post", `{"account":112233445566}`) {
			t.Errorf("%v: a number that its parent was told is a destination", s)
		}
		f.saysText("done")
		if f.call("save", `{"text":"[[`+name+`#/who]]"}`); !strings.Contains(f.got(), "CANARY") {
			t.Errorf("%v: does not use a value of its parent", s)
		}
	}
	f.as("p", "")
	f.reads("from now on")
	for _, s := range [][2]string{{"i", "p"}, {"i2", "p"}, {"i3", "p"}, {"d", "i2"}} {
		if f.as(s[0], s[1]); s[0] == "d" {
			continue // takes over the label of its parent when it begins
		}
		if f.sends() {
			t.Errorf("%v: sends after its parent has read", s)
		}
	}
}

// A session is isolated only where the operator names the host, and only with both names; then it returns values.
func TestIsolatedIsAsked(t *testing.T) {
	f := newFamily(t, nil)
	for meta, want := range map[string]string{
		`"dev.weir/agent-session":"i","dev.weir/isolated":true,`:                                      "needs dev.weir/parent-agent-session",
		`"dev.weir/parent-agent-session":"p","dev.weir/isolated":true,`:                               "needs dev.weir/agent-session",
		`"dev.weir/agent-session":"i","dev.weir/parent-agent-session":"p","dev.weir/isolated":"yes",`: "neither true nor false",
		`"dev.weir/agent-session":"i","dev.weir/parent-agent-session":"i","dev.weir/isolated":true,`:  "or from itself",
		`"dev.weir/agent-session":"i","dev.weir/parent-agent-session":"p","dev.weir/isolated":false,`: "only an isolated agent session",
		`"dev.weir/agent-session":"p",`: "only an isolated agent session",
	} {
		f.meta = f.plain + meta
		if answer := string(f.call("weir_return", `{"value":1}`)); !strings.Contains(answer, want) {
			t.Errorf("%s: %s", meta, answer)
		}
	}
	f.as("i", "p")
	for arguments, want := range map[string]string{
		`{}`: "value is missing", `{"value":1,"as":"text"}`: "as is one of [boolean", `{"value":"x","as":"one_of"}`: "as is one of [boolean", `{"value":1,"to":"p"}`: "not those of the tool's schema",
		`{"value":"x","as":"integer"}`: "there is no such answer", `{"value":1,"as":"integer","min":1,"max":1}`: "not those of the tool's schema", `{"value":"[[w00000]]"}`: "stands for no value", `{"value":1,"as":"[[w00000]]"}`: "as is one of [boolean",
	} {
		if answer := string(f.call("weir_return", arguments)); !strings.Contains(answer, want) {
			t.Errorf("%s: %s", arguments, answer)
		}
	}
	other := newFamily(t, func(o *gateway.Options) { o.Plans.Isolates = []string{"another"} })
	other.as("i", "p")
	for _, answer := range []string{string(other.call("inbox", `{}`)), string(other.call("weir_return", `{"value":1}`)), string(other.request("x/unknown", ""))} {
		if !strings.Contains(answer, "may not isolate") {
			t.Errorf("a host that is not named: %s", answer)
		}
	}
	off := newFamily(t, func(o *gateway.Options) { o.Plans.Isolates = nil })
	if list := string(off.request("tools/list", "")); strings.Contains(list, "weir_return") || !strings.Contains(string(f.request("tools/list", "")), "weir_return") {
		t.Error("weir_return is listed where nothing is isolated, or not where something is")
	}
}

// Isolated sessions do not nest. After a restart, what descends from a session of which nothing is known sends nothing.
func TestIsolatedDoesNotNest(t *testing.T) {
	db := store.NewMemory(nil)
	open := func() *family {
		return newFamily(t, func(o *gateway.Options) {
			o.State = guard.NewState(session.New(session.Options{Store: db}), record.Discard())
		})
	}
	f := open()
	f.as("p", "")
	f.sends()
	f.as("i", "p")
	f.sends()
	f.as("d", "i")
	if !f.sends() {
		t.Error("a session below an isolated one does not send")
	}
	for _, parent := range []string{"i", "d"} {
		f.as("i2", parent)
		if answer := string(f.call("inbox", "{}")); !strings.Contains(answer, "do not nest") {
			t.Errorf("below %s: %s", parent, answer)
		}
	}
	f.as("p", "")
	f.reads("strangers' text")
	f = open()
	for _, s := range [][2]string{{"i2", "i"}, {"d", "i"}, {"i", "p"}} {
		if f.as(s[0], s[1]); f.sends() {
			t.Errorf("%v sends after a restart", s)
		}
	}
}

// Returned answers are counted in the session above, of all isolated sessions together.
func TestIsolatedBits(t *testing.T) {
	f := newFamily(t, nil)
	told := 0
	f.as("p", "")
	f.sends()
	for i := range 50 {
		f.as(fmt.Sprintf("i%d", i), "p")
		if answer := string(f.call("weir_return", `{"value":true,"as":"boolean"}`)); strings.Contains(answer, `\"answer\":true`) {
			told++
		}
	}
	if told != 32 { // of 2 bits each, and 64 in all
		t.Errorf("%d answers were told", told)
	}
	f.as("i", "q")
	if answer := string(f.call("weir_return", `{"value":1,"as":"integer"}`)); !strings.Contains(answer, `\"answer\":1`) { // 54 bits
		t.Error(answer)
	}
	for range 10 {
		if answer := string(f.call("weir_return", `{"value":"a hidden value is one more"}`)); !strings.Contains(answer, "has this as value") {
			t.Error(answer)
		}
	}
	for _, arguments := range []string{`{"value":1,"as":"boolean"}`, `{"value":"one more"}`} {
		if answer := string(f.call("weir_return", arguments)); !strings.Contains(answer, "would be more") {
			t.Error(answer)
		}
	}
}

// A returned value leaves the session above as private as all that the isolated one has read.
func TestIsolatedKeepsPrivacy(t *testing.T) {
	for _, value := range []string{`{"value":"x"}`, `{"value":true,"as":"boolean"}`} {
		f := newFamily(t, nil)
		f.as("i", "p")
		f.saysText("x")
		f.call("mine", `{}`)
		f.as("p", "")
		if !f.sends() {
			t.Error("the parent does not send before")
		}
		f.as("i", "p")
		f.call("weir_return", value)
		if f.as("p", ""); f.sends() {
			t.Errorf("the parent sends after %s", value)
		}
	}
}

// A request of the same session that is not isolated joins it into its parent, and nothing parts them again.
func TestIsolatedOnce(t *testing.T) {
	f := newFamily(t, nil)
	f.as("p", "")
	f.sends()
	f.as("i", "p")
	f.reads("CANARY")
	f.meta = strings.ReplaceAll(f.meta, `"dev.weir/isolated":true,`, "")
	f.request("prompts/get", `"name":"p"`)
	f.as("p", "")
	if f.sends() {
		t.Error("the parent sends, though its child is not isolated")
	}
}

// Whatever isolated sessions do, those above them send as if they were not there.
func TestIsolatedTellsNothing(t *testing.T) {
	f := newFamily(t, nil)
	round := 0
	rapid.Check(t, func(t *rapid.T) {
		round++
		name := func(s string) string { return fmt.Sprintf("%s%d", s, round) }
		p, i, j := name("p"), name("i"), name("i2-")
		f.as(p, "")
		f.sends()
		parents := map[string]string{i: p, j: p}
		for range rapid.IntRange(1, 6).Draw(t, "calls") {
			s := rapid.SampledFrom([]string{i, j}).Draw(t, "session")
			f.as(s, parents[s])
			switch rapid.IntRange(1, 5).Draw(t, "call") {
			case 1:
				f.saysText("CANARY")
				if found := valueName.FindSubmatch(f.call("inbox", "{}")); found != nil {
					f.call("weir_reveal", fmt.Sprintf(`{"value":%q}`, found[1]))
				}
			case 2:
				f.request("resources/read", `"uri":"x://a"`)
			case 3:
				f.call("weir_return", `{"value":"CANARY"}`)
			case 4:
				f.call("weir_return", `{"value":true,"as":"boolean"}`)
			case 5:
				f.says(leak{[]string{leakyMessages[1]}, leakyWays[rapid.IntRange(0, len(leakyWays)-1).Draw(t, "way")]})
				f.call("inbox", `{}`)
			}
		}
		f.as(p, "")
		f.heard = nil
		f.saysText("done")
		if f.call("post", `{"text":"hello"}`); f.got() != `{"text":"hello"}` {
			t.Fatal("the session above does not send")
		}
		f.silent("above")
	})
}

// A person who ends an agent session ends the isolated ones that work for it.
func TestIsolatedEnds(t *testing.T) {
	st := store.NewMemory(nil)
	f := newFamily(t, func(o *gateway.Options) { o.Approvals = st })
	f.as("p", "")
	f.sends()
	f.as("i", "p")
	f.as("i2", "p")
	if f.as("i", "p"); !f.sends() {
		t.Fatal("the isolated session does not send before")
	}
	if f.as("i2", "p"); !f.sends() {
		t.Fatal("the one below it does not send before")
	}
	book := approve.NewBook(approve.Options{Record: record.Discard(), Store: st})
	if err := book.End(t.Context(), approve.Ending{Session: session.Ref{Key: "local/agent:p", Principal: "local"}, Why: "enough"}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second) // for which the book believes that it has not ended
	for _, s := range [][2]string{{"i", "p"}, {"i2", "p"}} {
		if f.as(s[0], s[1]); f.sends() {
			t.Errorf("%v sends after the end", s)
		}
		if answer := string(f.call("weir_return", `{"value":1}`)); !strings.Contains(answer, "a person has ended") {
			t.Errorf("%v returns after the end: %s", s, answer)
		}
	}
}
