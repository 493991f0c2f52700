package gateway_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/internal/gateway"
	"github.com/weir-mcp/weir/internal/gateway/approve"
	"github.com/weir-mcp/weir/internal/program"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store"
)

// here runs programs in the process of the test.
type here struct{}

func (here) Run(ctx context.Context, p *program.Program, host program.Host) (program.End, error) {
	return program.Interpret(ctx, p, host)
}

const untrustedAsks = "version: 1\nrules:\n- {name: ask, when: call, effect: ask, if: call.egress && session.untrusted, message: an outsider may want it}\n"

func programs(t *testing.T, o *gateway.Options) {
	t.Helper()
	p, err := policy.Load("p.yaml", []byte(untrustedAsks))
	if err != nil {
		t.Fatal(err)
	}
	o.Policy, o.Plans.Programs, o.Interpreter = p, true, here{}
}

func (h *leakyHost) exec(source string) string {
	h.t.Helper()
	return string(h.call("weir_exec", `{"program":`+string(rawjson.Quote(source))+`}`))
}

// A program uses results that the agent does not read: the session stays clean, and calls with untrusted content alone
// are asked about.
func TestAProgram(t *testing.T) {
	eras(t, func(t *testing.T, modern bool) {
		st := store.NewMemory(nil)
		h := newLeakyHost(t, modern, func(o *gateway.Options) {
			programs(t, o)
			o.Approvals = st
		})
		h.says(leak{nil, `"result":{"content":[{"type":"text","text":"{\"from\":\"CANARY\",\"n\":7}"}]}`})
		for source, want := range map[string]string{
			"m = inbox()\nsave(text = 'from ' + m['from'], n = m['n'])\nresult = 'saved'": `\"result\":\"saved\"`,
			"m = inbox()\npost(text = 'hello')\nresult = 1":                               `\"result\":1`,
			"m = inbox()\npost(text = m['from'])":                                         "an outsider may want it",
			"m = inbox()\nif m['n'] > 3: post(text = 'hello')":                            "a person has to accept a call of the program",
			"m = inbox()\nresult = m['from']":                                             `value w`,
			"m = inbox()\nfail(m['from'])":                                                `\"error\":\"an operation failed\"`,
			"m = inbox()\nsave(text = m['CANARY'])":                                       `\"line\":2`,
			"call('weir_reveal', {'value': 'w12345'})":                                    "are not called by programs",
			"call('nothing')": "unknown tool",
			"x = (":           `\"line\":1`,
		} {
			if answer := h.exec(source); !strings.Contains(answer, want) {
				t.Errorf("%s\n  %s, want %s", source, answer, want)
			}
		}
		h.exec("m = inbox()\nsave(text = 'from ' + m['from'], n = m['n'])")
		if got := h.got(); got != `{"text":"from CANARY","n":7}` {
			t.Errorf("the server got %s", got)
		}
		book := approve.NewBook(approve.Options{Record: record.Discard(), Store: st})
		open, err := book.List(t.Context(), "local")
		if err != nil || len(open) != 2 || !strings.Contains(open[0].Prompt.Text()+open[1].Prompt.Text(), "CANARY") {
			t.Errorf("%d requests, %v", len(open), err)
		}
		h.silent("with programs")
		if answer := string(h.call("post", `{"text":"mine"}`)); strings.Contains(answer, "an outsider") {
			t.Errorf("the session is not clean: %s", answer)
		}
	})
}

// A result that a program computed is revealed as any hidden value is: the session is as untrusted as all of its origins.
func TestAProgramsResultIsRevealed(t *testing.T) {
	h := newLeakyHost(t, false, func(o *gateway.Options) { programs(t, o) })
	h.says(leak{nil, `"result":{"content":[{"type":"text","text":"{\"from\":\"CANARY\",\"n\":7}"}]}`})
	answer := h.exec("m = inbox()\nresult = {'a': [m['from'].lower(), 1]}")
	_, name, ok := strings.Cut(answer, `\"value\":\"`)
	if !ok {
		t.Fatal(answer)
	}
	if answer := string(h.call("weir_reveal", fmt.Sprintf(`{"value":%q}`, name[:6]))); !strings.Contains(answer, "canary") {
		t.Fatal(answer)
	}
	if answer := string(h.call("post", `{"text":"mine"}`)); !strings.Contains(answer, "an outsider may want it") {
		t.Errorf("the session is clean: %s", answer)
	}
}

// No way in which a server says a text while a program runs brings it to the host, but a question of its own that comes after the call, which
// makes the session untrusted as any question does.
func TestProgramsTellNothing(t *testing.T) {
	eras(t, func(t *testing.T, modern bool) {
		for _, source := range []string{
			"m = inbox()\nresult = m", "m = inbox()\nfail(str(m))", "m = inbox()\nx = {}[read(m)]", "m = inbox()\nif m['from'] == 'CANARY': fail('yes')", "post(text = str(inbox()))",
			"m = inbox()\ncall(str(m['from']))", "m = inbox()\nsave(**{m['from'].lower(): 1})", "m = inbox()\nint(m['from'])", "save(text = inbox())", "print(inbox())", "m = inbox()\nm['from'].nope",
		} {
			h := newLeakyHost(t, modern, func(o *gateway.Options) { programs(t, o) })
			for _, way := range leakyWays {
				h.says(leak{leakyMessages, way})
				h.exec(source)
				questioned := false
				for _, line := range h.heard {
					if method, _ := rawjson.Get([]byte(line), "method"); strings.Contains(line, "CANARY") && string(method) != `"elicitation/create"` && string(method) != `"sampling/createMessage"` {
						t.Fatalf("%s of %s, the host got %s", source, way, line)
					}
					questioned = questioned || strings.Contains(line, "CANARY")
				}
				if questioned {
					h.says(leak{nil, `"result":{"content":[]}`})
					if answer := string(h.call("post", `{"text":"mine"}`)); !strings.Contains(answer, "an outsider may want it") {
						t.Fatalf("the session is clean after a question: %s", answer)
					}
					break
				}
			}
		}
	})
}

// A program that waits for a person goes on after the answer, and makes no call twice.
func TestAProgramGoesOn(t *testing.T) {
	everyWay(t, func(t *testing.T, connect func(*rig, *mcp.ClientOptions) *mcp.ClientSession) {
		r := newRig(t, func(o *gateway.Options) {
			programs(t, o)
			p, err := policy.Load("p.yaml", []byte("version: 1\nrules:\n- {name: ask, when: call, effect: ask, if: call.egress && !call.plainRead, message: it sends}\n"))
			if err != nil {
				t.Fatal(err)
			}
			o.Policy = p
		})
		var asked []string
		s := connect(r, person("accept", &asked))
		mail := string(rawjson.Quote(mailTo["to"].(string)))
		source := "for day in ['Monday', 'Tuesday', 'Friday']: send_email(to = " + mail + ", subject = day, body = day)\nresult = 'done'"
		got, _ := callTool(t, s, "weir_exec", map[string]any{"program": source})
		if s.InitializeResult().ProtocolVersion < "2025-06-18" {
			return
		}
		if n := r.mails(t); n != 3 || len(asked) != 3 {
			t.Errorf("%d mails, %d requests: %+v", n, len(asked), got)
		}
	})
}

// Programs are offered only where they are run, and only run where results can be hidden.
func TestProgramsAreOff(t *testing.T) {
	for name, change := range map[string]func(o *gateway.Options){
		"no configuration": func(o *gateway.Options) { o.Plans.Programs = false },
		"no interpreter":   func(o *gateway.Options) { o.Interpreter = nil },
	} {
		h := newLeakyHost(t, false, func(o *gateway.Options) {
			programs(t, o)
			change(o)
		})
		if list := string(h.request("tools/list", "")); strings.Contains(list, "weir_exec") {
			t.Errorf("%s: %s", name, list)
		}
		if answer := h.exec("result = 1"); strings.Contains(answer, "result") {
			t.Errorf("%s: %s", name, answer)
		}
	}
	h := newLeakyHost(t, false, func(o *gateway.Options) {
		programs(t, o)
		o.Mode = policy.Audit
	})
	if answer := h.exec("result = 1"); !strings.Contains(answer, "only in mode enforce") {
		t.Error(answer)
	}
}

// The end of a program tells of a value that another session of the family got, so the session is as private.
func TestAProgramsValuesArePrivate(t *testing.T) {
	h := newLeakyHost(t, true, func(o *gateway.Options) { headless(o); o.Plans.Programs, o.Interpreter = true, here{} })
	plain := h.meta
	as := func(child string) {
		h.meta = plain + `"dev.weir/agent-session":"` + child + `","dev.weir/parent-agent-session":"top",`
	}
	as("b")
	if !h.goes("post", `{"text":"hello"}`) {
		t.Error("before: the call does not go")
	}
	as("a")
	h.saysText(`["x"]`)
	name := h.value(h.call("mine", `{"q":"a"}`))
	as("b")
	if !h.goes("post", `{"text":"hello"}`) {
		t.Error("what another child read counts here")
	}
	h.exec("v = value('" + name + "')\nif v[0] == 'y': fail('yes')")
	if h.goes("post", `{"text":"the pin is 4711"}`) {
		t.Error("after a program with a private value, the session may post")
	}
}

// The server of one call of many is asked for no progress of the program.
func TestProgramsHaveNoProgress(t *testing.T) {
	eras(t, func(t *testing.T, modern bool) {
		h := newLeakyHost(t, modern, func(o *gateway.Options) { programs(t, o) })
		for _, token := range []string{"TOKEN", "1", "2", "3", "4"} {
			h.says(leak{[]string{`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + token + `,"progress":1}}`}, `"result":{"content":[]}`})
			h.exec("inbox()")
		}
		for _, line := range h.heard {
			if strings.Contains(line, "notifications/progress") {
				t.Errorf("the host got %s", line)
			}
		}
	})
}
