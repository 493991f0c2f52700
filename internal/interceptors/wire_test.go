package interceptors_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/interceptor"
	"github.com/weir-mcp/weir/internal/gateway/agentsession"
	"github.com/weir-mcp/weir/internal/gateway/approve"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/session"
	"github.com/weir-mcp/weir/store"
)

const (
	request  = interceptor.Request
	response = interceptor.Response
)

const (
	readSecret = `{"method":"tools/call","params":{"name":"read_file","arguments":{"path":"/workspace/.env"}}}`
	secretText = `{"content":[{"type":"text","text":"KEY=s3kr1t-v4lue-of-the-file"}]}`
	sendSecret = `{"method":"tools/call","params":{"name":"write_query","arguments":{"query":"INSERT INTO n VALUES ('s3kr1t-v4lue-of-the-file')"}}}`
)

// TestSessions holds that the secret of one agent session counts in it, and in none of another name or principal.
func TestSessions(t *testing.T) {
	first := interceptor.Context{SessionID: "s", Principal: interceptor.Principal{Type: "user", ID: "ann"}}
	for _, c := range []struct {
		name   string
		about  interceptor.Context
		passes bool
	}{
		{"the same", first, false},
		{"at another time", interceptor.Context{SessionID: "s", Principal: first.Principal, TraceID: "t", Timestamp: "later"}, false},
		{"another name", interceptor.Context{SessionID: "r", Principal: first.Principal}, true},
		{"another principal", interceptor.Context{SessionID: "s", Principal: interceptor.Principal{Type: "user", ID: "bob"}}, true},
		{"another kind of principal", interceptor.Context{SessionID: "s", Principal: interceptor.Principal{Type: "service", ID: "ann"}}, true},
		{"no principal", interceptor.Context{SessionID: "s"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := open(t, inMemory())
			if o := d.run("filesystem", request, readSecret, first); !o.Released {
				t.Fatal(said(o))
			}
			if o := d.run("filesystem", response, secretText, first); !o.Released {
				t.Fatal(said(o))
			}
			if o := d.run("sqlite", request, sendSecret, c.about); o.Released != c.passes {
				t.Errorf("released is %v: %s", o.Released, said(o))
			}
		})
	}
}

// TestNoSessionIsThePrincipals holds that invocations which name no agent session share that of their principal.
func TestNoSessionIsThePrincipals(t *testing.T) {
	d := open(t, inMemory())
	d.run("filesystem", request, readSecret, interceptor.Context{TraceID: "1"})
	d.run("filesystem", response, secretText, interceptor.Context{TraceID: "1"})
	if o := d.run("sqlite", request, sendSecret, interceptor.Context{TraceID: "2"}); o.Released {
		t.Error("another trace is another agent session")
	}
}

// TestApproval has a person accept a request, after which the same goes once.
func TestApproval(t *testing.T) {
	d := open(t, inMemory())
	about := interceptor.Context{SessionID: "s"}
	d.run("filesystem", request, readSecret, about)
	d.run("filesystem", response, secretText, about)
	only := []string{"weir-call"}
	o := d.run("sqlite", request, sendSecret, about, only...)
	asked, err := d.book.List(t.Context(), agentsession.LocalPrincipal)
	if err != nil || len(asked) != 1 || o.Released {
		t.Fatalf("%d approval requests are open, %v: %s", len(asked), err, said(o))
	}
	if command := approve.Command(asked[0].ID); !strings.Contains(said(o), command) {
		t.Errorf("the message names no %q: %s", command, said(o))
	}
	yes := approve.Reply{ID: asked[0].ID, Principal: agentsession.LocalPrincipal, Answer: approve.Accepted, Via: "test"}
	if err := d.book.Answer(t.Context(), yes); err != nil {
		t.Fatal(err)
	}
	if o := d.run("sqlite", request, sendSecret, about, only...); !o.Released {
		t.Errorf("the accepted call is refused: %s", said(o))
	}
	if o := d.run("sqlite", request, sendSecret, about, only...); o.Released {
		t.Error("the accepted call goes twice")
	}
}

// TestResultsOfCalls tells by the label on a result which calls it was taken for.
func TestResultsOfCalls(t *testing.T) {
	const read = `{"method":"tools/call","params":{"name":"read_file","arguments":{"path":"/workspace/notes.txt"}}}`
	const list = `{"method":"tools/call","params":{"name":"list_directory","arguments":{"path":"/workspace"}}}`
	type sent struct {
		payload     string
		trace, span string
	}
	at := func(trace, span string) interceptor.Context {
		return interceptor.Context{SessionID: "s", TraceID: trace, SpanID: span}
	}
	for _, c := range []struct {
		name     string
		requests []sent
		result   interceptor.Context
		server   string
		tools    []string
	}{
		{"the only one", []sent{{read, "", ""}}, at("", ""), "filesystem", []string{"read_file"}},
		{"its span", []sent{{read, "1", "a"}, {list, "1", "b"}}, at("1", "b"), "filesystem", []string{"list_directory"}},
		{"its trace", []sent{{read, "1", "a"}, {list, "2", "b"}}, at("1", ""), "filesystem", []string{"read_file"}},
		{"no call's span", []sent{{read, "1", "a"}}, at("1", "c"), "filesystem", []string{"unknown"}},
		{"no call's trace", []sent{{read, "1", "a"}}, at("2", "a"), "filesystem", []string{"unknown"}},
		{"a trace of two", []sent{{read, "1", "a"}, {list, "1", "b"}, {read, "2", ""}}, at("1", ""), "filesystem", []string{"read_file", "list_directory"}},
		{"two, and no trace", []sent{{list, "", ""}, {read, "", ""}}, at("", ""), "filesystem", []string{"list_directory", "read_file"}},
		{"a span without trace", []sent{{read, "", "a"}, {list, "", "b"}}, at("", "b"), "filesystem", []string{"read_file", "list_directory"}},
		{"another server", []sent{{read, "", ""}}, at("", ""), "strange", []string{"unknown"}},
		{"none", nil, at("", ""), "filesystem", []string{"unknown"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := open(t, inMemory())
			for _, s := range c.requests {
				if o := d.run("filesystem", request, s.payload, at(s.trace, s.span)); !o.Released {
					t.Fatal(said(o))
				}
			}
			o := d.run(c.server, response, `{"content":[{"type":"text","text":"hello"}]}`, c.result)
			raw, _ := rawjson.Get(o.Payload, "_meta", "annotations", "attribution")
			for _, tool := range []string{"read_file", "list_directory", "unknown"} {
				if got := strings.Contains(string(raw), `"mcp://`+c.server+`/`+tool+`"`); got != slices.Contains(c.tools, tool) {
					t.Errorf("it is of %s: %v: %s (%s)", tool, got, raw, said(o))
				}
			}
			untrusted, _ := rawjson.Get(o.Payload, "_meta", "annotations", "openWorldHint")
			if got := string(untrusted) == "true"; got != slices.Contains(c.tools, "unknown") {
				t.Errorf("the result is untrusted: %v: %s", got, o.Payload)
			}
		})
	}
}

// TestRefusedCalls holds that a call whose decision the invoker ignores, or whose payload cannot be read, may have
// the next result, and that the agent session is raised by it.
func TestRefusedCalls(t *testing.T) {
	const open1 = `{"name":"read_file","arguments":{"path":"/workspace/a.txt"}}`
	for name, run := range map[string]func(d *desk, about interceptor.Context){
		"two names": func(d *desk, about interceptor.Context) {
			d.run("filesystem", request, `{"name":"read_file","Name":"x"}`, about, "weir-call")
		},
		"no object": func(d *desk, about interceptor.Context) { d.run("filesystem", request, `[]`, about, "weir-call") },
		"an unasked state": func(d *desk, about interceptor.Context) {
			d.run("filesystem", request, `{"name":"read_file","requestState":"x"}`, about, "weir-call")
		},
		"a secret":          func(d *desk, about interceptor.Context) { d.run("filesystem", request, readSecret, about) },
		"the result a text": func(d *desk, about interceptor.Context) { d.run("filesystem", response, `"text"`, about) },
		"the result a list": func(d *desk, about interceptor.Context) { d.run("filesystem", response, `[]`, about) },
		"the result wrapped": func(d *desk, about interceptor.Context) {
			d.run("filesystem", response, `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`, about)
		},
		"an error in a result": func(d *desk, about interceptor.Context) {
			d.run("filesystem", response, `{"error":{"code":1,"message":"s3kr1t"}}`, about)
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t, inMemory())
			about := interceptor.Context{SessionID: "s"}
			d.run("filesystem", request, open1, about)
			run(d, about)
			d.run("filesystem", response, secretText, about)
			if o := d.run("sqlite", request, sendSecret, about); o.Released {
				t.Error("the secret goes to another server")
			}
		})
	}
}

// TestOpenCalls holds that a call stays open until a result of its own span comes, however many calls and results
// come in between.
func TestOpenCalls(t *testing.T) {
	d := open(t, inMemory())
	at := func(span string) interceptor.Context {
		return interceptor.Context{SessionID: "s", TraceID: "t", SpanID: span}
	}
	d.run("filesystem", request, readSecret, at("secret"))
	for i := range 200 {
		span := strings.Repeat("x", i+1)
		d.run("filesystem", request, `{"name":"read_file","arguments":{"path":"/workspace/a.txt"}}`, at(span))
		if i >= 150 {
			continue // its result does not come
		}
		for _, text := range []string{"one", "two"} {
			d.run("filesystem", response, `{"content":[{"type":"text","text":"`+text+`"}]}`, at(span), "weir-annotate")
		}
		if i == 149 {
			for _, about := range []interceptor.Context{at("secret"), {SessionID: "s"}} {
				o := d.run("filesystem", response, secretText, about, "weir-annotate")
				if !strings.Contains(string(o.Payload), `"credentials"`) {
					t.Errorf("the label of %v is another: %s", about, o.Payload)
				}
			}
		}
	}
	d.run("filesystem", request, readSecret, at("secret2"))
	for i := range 70 {
		d.run("filesystem", request, `{"name":"read_file","arguments":{"path":"/workspace/a.txt"}}`, at(strings.Repeat("y", i+1)))
	}
	for _, about := range []interceptor.Context{at("secret2"), {SessionID: "s"}, {SessionID: "fresh"}} {
		o := d.run("filesystem", response, `{"content":[],"_meta":{"annotations":{"sensitivity":"none"}}}`, about, "weir-annotate")
		if !strings.Contains(string(o.Payload), `"credentials"`) {
			t.Errorf("a result of no known call, %v: %s", about, o.Payload)
		}
	}
}

// TestQuestions holds that the answers of a host go to a server as arguments do, and that a server's questions come as
// results do.
func TestQuestions(t *testing.T) {
	events := &counted{}
	d := open(t, guard.NewState(session.New(session.Options{Store: store.NewMemory(nil)}), events))
	about := interceptor.Context{SessionID: "s"}
	const again = `{"method":"tools/call","params":{"name":"list_tables","arguments":{},"inputResponses":{"q":ANSWER},"requestState":"x"}}`
	const first = `{"method":"tools/call","params":{"name":"list_tables","arguments":{}}}`
	const question = `{"resultType":"input_required","requestState":"x","inputRequests":{"q":{"method":"elicitation/create","params":{"message":"who?"}}}}`
	d.run("sqlite", request, first, about)
	d.run("sqlite", response, question, about, "weir-result")
	typed := strings.Replace(again, "ANSWER", `{"action":"accept","content":{"name":"ann"}}`, 1)
	if o := d.run("sqlite", request, typed, about); !o.Released {
		t.Errorf("the user's own words do not go: %s", said(o))
	}
	d.run("sqlite", response, `{"content":[]}`, about)
	d.run("filesystem", request, readSecret, about)
	d.run("filesystem", response, secretText, about)
	model := strings.Replace(again, "ANSWER", `{"role":"assistant","model":"m","content":{"type":"text","text":"s3kr1t-v4lue-of-the-file"}}`, 1)
	if o := d.run("sqlite", request, model, about); o.Released {
		t.Error("the model's answer takes the secret to another server")
	}
	const asks = `{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":{"message":"hello"}}}}`
	fresh := interceptor.Context{SessionID: "t"}
	d.run("strange", request, `{"name":"fetch","arguments":{}}`, fresh)
	events.questions = 0
	if o := d.run("strange", response, asks, fresh, "weir-result"); !o.Released || events.questions != 1 {
		t.Errorf("%d decisions on the question: %s", events.questions, said(o))
	}
}

// TestParams holds that the bytes of a secret go to another server in no member of a request: each is an argument, or
// one of the server's own, or refused.
func TestParams(t *testing.T) {
	const secret = "s3kr1t-v4lue-of-the-file"
	introduction := `"io.modelcontextprotocol/clientInfo":{"name":"host","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}`
	for member, passes := range map[string]bool{
		``:                               true,
		`"requestState":"x"`:             true, // the server's own
		`"inputResponses":{}`:            true,
		`"_meta":{"progressToken":7}`:    true,
		`"_meta":{` + introduction + `}`: true, // told before the secret was read
		`"inputResponses":{"q":{"action":"decline"}}`:                                                   true,
		`"other":"` + secret + `"`:                                                                      false,
		`"requestState":"` + secret + `"`:                                                               false,
		`"requestState":{"x":"` + secret + `"}`:                                                         false,
		`"_meta":{"x":"` + secret + `"}`:                                                                false,
		`"_meta":{"progressToken":"` + secret + `"}`:                                                    false,
		`"_meta":{"progressToken":11532512012345}`:                                                      false,
		`"_meta":{"dev.weir/agent-session":"` + secret + `"}`:                                           false,
		`"_meta":{"io.modelcontextprotocol/clientInfo":{"name":"` + secret + `"}}`:                      false,
		`"_meta":"` + secret + `"`:                                                                      false,
		`"inputResponses":"` + secret + `"`:                                                             false,
		`"inputResponses":["` + secret + `"]`:                                                           false,
		`"inputResponses":{"q":"` + secret + `"}`:                                                       false,
		`"inputResponses":{"` + secret + `":{"action":"decline"}}`:                                      false,
		`"inputResponses":{"q":{"action":"` + secret + `"}}`:                                            false,
		`"inputResponses":{"q":{"action":"decline","_meta":{"x":"` + secret + `"}}}`:                    false,
		`"inputResponses":{"q":{"action":"decline","content":{"x":"` + secret + `"}}}`:                  false,
		`"inputResponses":{"q":{"roots":[{"uri":"file:///` + secret + `"}]}}`:                           false,
		`"inputResponses":{"q":{"role":"assistant","content":{"type":"text","text":"` + secret + `"}}}`: false,
	} {
		d := open(t, inMemory())
		about := interceptor.Context{SessionID: "s"}
		d.run("sqlite", request, `{"name":"list_tables","arguments":{},"_meta":{`+introduction+`}}`, about)
		d.run("sqlite", response, `{"resultType":"input_required","requestState":"x","inputRequests":{"q":{"method":"elicitation/create","params":{"message":"who?"}}}}`, about, "weir-result")
		d.run("filesystem", request, readSecret, about)
		d.run("filesystem", response, secretText, about)
		if member != "" {
			member = "," + member
		}
		if o := d.run("sqlite", request, `{"name":"list_tables","arguments":{}`+member+`}`, about); o.Released != passes {
			t.Errorf("with %s released is %v: %s", member, o.Released, said(o))
		}
	}
}

// counted counts the decisions on results, and on questions of servers.
type counted struct{ results, questions int }

func (c *counted) Record(_ context.Context, e *record.Event) error {
	if e.Kind == record.Decision && e.Phase == "result" {
		c.results++
	}
	if e.Kind == record.Decision && e.Method == guard.Elicitation {
		c.questions++
	}
	return nil
}

// TestOneDecision holds that the mutator after the validator does not decide anew on the same result, but on another.
func TestOneDecision(t *testing.T) {
	events := &counted{}
	d := open(t, guard.NewState(session.New(session.Options{Store: store.NewMemory(nil)}), events))
	d.run("filesystem", request, readSecret, interceptor.Context{})
	if o := d.run("filesystem", response, secretText, interceptor.Context{}, "weir-result", "weir-annotate"); !o.Released || events.results != 1 {
		t.Errorf("%d decisions on one result: %s", events.results, said(o))
	}
	if o := d.run("filesystem", response, `{"content":[]}`, interceptor.Context{}, "weir-annotate"); !o.Released || events.results != 2 {
		t.Errorf("%d decisions on two results: %s", events.results, said(o))
	}
}

// TestPayloads holds that a payload is read in one way or refused.
func TestPayloads(t *testing.T) {
	const flat = `{"name":"read_file","arguments":{"path":"/workspace/notes.txt"}}`
	for _, c := range []struct {
		name, payload string
		passes        bool
	}{
		{"a request", `{"method":"tools/call","params":` + flat + `}`, true},
		{"a whole message", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + flat + `}`, true},
		{"params", flat, true},
		{"another method", `{"method":"prompts/get","params":` + flat + `}`, false},
		{"no method", `{"params":` + flat + `}`, false},
		{"no params", `{"method":"tools/call"}`, false},
		{"both", `{"method":"tools/call","params":` + flat + `,"name":"write_file"}`, false},
		{"no tool", `{"method":"tools/call","params":{}}`, false},
		{"a text", `"tools/call"`, false},
		{"a tool in two spellings", `{"name":"read_file","Name":"write_file","arguments":{"path":"/workspace/notes.txt"}}`, false},
		{"a tool in another spelling", `{"method":"tools/call","params":{"Name":"write_file","name":"read_file"}}`, false},
		{"arguments in two spellings", `{"name":"read_file","arguments":{"path":"/workspace/notes.txt","Path":"/etc/shadow"}}`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if o := open(t, inMemory()).run("filesystem", request, c.payload, interceptor.Context{}); o.Released != c.passes {
				t.Errorf("released is %v: %s", o.Released, said(o))
			}
		})
	}
}

// TestMembersBeyond holds that members which MCP does not know are arguments of a call that may do anything.
func TestMembersBeyond(t *testing.T) {
	d := open(t, inMemory())
	about := interceptor.Context{SessionID: "s"}
	d.run("filesystem", request, readSecret, about)
	d.run("filesystem", response, secretText, about)
	for member, passes := range map[string]bool{``: true, `,"extra":"s3kr1t-v4lue-of-the-file"`: false} {
		o := d.run("sqlite", request, `{"name":"list_tables","arguments":{}`+member+`}`, about)
		if o.Released != passes {
			t.Errorf("with %q released is %v: %s", member, o.Released, said(o))
		}
	}
}

// TestUnreadableResult holds that a result which a host may read as another is none, and raises the agent session.
func TestUnreadableResult(t *testing.T) {
	d := open(t, inMemory())
	about := interceptor.Context{SessionID: "s"}
	const tables = `{"name":"list_tables","arguments":{}}`
	d.run("sqlite", request, tables, about)
	if o := d.run("sqlite", response, `{"content":[],"Content":[{"type":"text","text":"other"}]}`, about); o.Released {
		t.Error("the result goes on")
	}
	if o := d.run("filesystem", request, `{"name":"write_file","arguments":{"path":"/workspace/x","content":"y"}}`, about); o.Released {
		t.Error("the agent session is as it was")
	}
}

// TestServers holds that only servers of the configuration exist.
func TestServers(t *testing.T) {
	d := open(t, inMemory())
	for _, config := range []string{`{}`, `{"server":"other"}`, `{"server":1}`, `{"server":"sqlite","x":1}`} {
		params := `{"name":"weir-call","event":"tools/call","phase":"request","payload":` + readSecret + `,"config":` + config + `}`
		_, err := d.host.Invoke(t.Context(), json.RawMessage(params))
		var failed *interceptor.Failure
		if !errors.As(err, &failed) || failed.Code != interceptor.CodeParams {
			t.Errorf("%s: %v", config, err)
		}
	}
}

// broken fails to record events once it is told to.
type broken struct{ now bool }

func (b *broken) Record(context.Context, *record.Event) error {
	if b.now {
		return errors.New("the disk is full at /secret/path")
	}
	return nil
}

// TestErrorsFail holds that an error of Weir's own is a failed invocation, which tells nothing of it.
func TestErrorsFail(t *testing.T) {
	disk := &broken{}
	d := open(t, guard.NewState(session.New(session.Options{Store: store.NewMemory(nil)}), disk))
	d.run("filesystem", request, readSecret, interceptor.Context{})
	disk.now = true
	for _, c := range []struct {
		server  string
		phase   interceptor.Phase
		payload string
	}{{"sqlite", request, sendSecret}, {"filesystem", response, secretText}} {
		o := d.run(c.server, c.phase, c.payload, interceptor.Context{})
		failed := 0
		for _, s := range o.Steps {
			if s.Err != nil {
				failed++
			}
		}
		if o.Released || failed == 0 || strings.Contains(said(o), "/secret/path") {
			t.Errorf("%s: released is %v: %s", c.phase, o.Released, said(o))
		}
	}
}
