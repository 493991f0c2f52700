package rpc_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
)

func raw(s string) json.RawMessage { return json.RawMessage(s) }

func TestParse(t *testing.T) {
	for _, test := range []struct {
		name, in string
		want     rpc.Message
	}{
		{"request", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, rpc.Message{ID: raw("1"), Method: "ping"}},
		{"string id", `{"jsonrpc":"2.0","id":"1","method":"ping"}`, rpc.Message{ID: raw(`"1"`), Method: "ping"}},
		{"id keeps its text", `{"jsonrpc":"2.0","id":1.50e3,"method":"m"}`, rpc.Message{ID: raw("1.50e3"), Method: "m"}},
		{"escaped id", `{"jsonrpc":"2.0","id":"\u0061","method":"m"}`, rpc.Message{ID: raw(`"\u0061"`), Method: "m"}},
		{"notification", `{"jsonrpc":"2.0","method":"notifications/n","params":{ "a" : 1 }}`, rpc.Message{Method: "notifications/n", Params: raw(`{ "a" : 1 }`)}},
		{"null params", `{"jsonrpc":"2.0","method":"notifications/n","params":null}`, rpc.Message{Method: "notifications/n"}},
		{"result", `{"jsonrpc":"2.0","id":1,"result":{}}`, rpc.Message{ID: raw("1"), Result: raw("{}")}},
		{"null result", `{"jsonrpc":"2.0","id":1,"result":null}`, rpc.Message{ID: raw("1"), Result: raw("null")}},
		{"error", `{"jsonrpc":"2.0","id":1,"error":{"code":1,"x":2}}`, rpc.Message{ID: raw("1"), Error: raw(`{"code":1,"x":2}`)}},
		{"other members", `{"x":[1, 2],"jsonrpc":"2.0","id":1,"result":{},"y":{}}`, rpc.Message{ID: raw("1"), Result: raw("{}")}},
		{"half of a pair", `{"jsonrpc":"2.0","id":1,"result":{"a":"x\ud83d","\\ud83d":"\ud83d\ude00"}}`,
			rpc.Message{ID: raw("1"), Result: raw(`{"a":"x\ufffd","\\ud83d":"\ud83d\ude00"}`), Repaired: true, Odd: true}},
		{"space", " \r\n{ \"jsonrpc\" : \"2.0\" , \"method\" : \"notifications/n\" } ", rpc.Message{Method: "notifications/n"}},
		{"escaped names", `{"\u006asonrpc":"2.0","m\u0065thod":"notifications/n"}`, rpc.Message{Method: "notifications/n", Odd: true}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := rpc.Parse([]byte(test.in))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	long := `"` + strings.Repeat("x", 600) + `"`
	deep := strings.Repeat("[", 2000) + strings.Repeat("]", 2000)
	for _, test := range []struct {
		name, in string
		code     int
		id       string // that the error carries
	}{
		{"empty", ``, rpc.ParseError, ""},
		{"no JSON", `hello`, rpc.ParseError, ""},
		{"two values", `{"jsonrpc":"2.0","method":"notifications/n"} {}`, rpc.ParseError, ""},
		{"cut off", `{"jsonrpc":"2.0","id":1,"method":"notifications/n"`, rpc.ParseError, ""},
		{"duplicate in params", `{"jsonrpc":"2.0","id":7,"method":"m","params":{"a":1,"a":2}}`, rpc.ParseError, "7"},
		{"duplicate after unescaping", `{"jsonrpc":"2.0","id":7,"method":"m","params":{"a":1,"\u0061":2}}`, rpc.ParseError, "7"},
		{"duplicate id", `{"jsonrpc":"2.0","id":7,"id":8,"method":"m"}`, rpc.ParseError, ""},
		{"duplicate after a repair", `{"jsonrpc":"2.0","id":7,"method":"m","params":{"\ud800":1,"\ufffd":2}}`, rpc.ParseError, "7"},
		{"request without id", `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"x"}}`, rpc.InvalidRequest, ""},
		{"vendor request without id", `{"jsonrpc":"2.0","method":"acme/run"}`, rpc.InvalidRequest, ""},
		{"request with an ID", `{"jsonrpc":"2.0","ID":7,"method":"tools/call"}`, rpc.InvalidRequest, ""},
		{"duplicate in a response", `{"jsonrpc":"2.0","id":7,"result":{"a":1,"a":2}}`, rpc.ParseError, ""},
		{"bad UTF-8", `{"jsonrpc":"2.0","id":"i","method":"m","params":{"a":"` + "\xff" + `"}}`, rpc.ParseError, `"i"`},
		{"deep", `{"jsonrpc":"2.0","id":7,"method":"m","params":{"a":` + deep + `}}`, rpc.ParseError, "7"},
		{"batch", `[{"jsonrpc":"2.0","id":1,"method":"m"}]`, rpc.InvalidRequest, ""},
		{"scalar", `1`, rpc.InvalidRequest, ""},
		{"no version", `{"id":1,"method":"m"}`, rpc.InvalidRequest, "1"},
		{"version 1", `{"jsonrpc":"1.0","id":1,"method":"m"}`, rpc.InvalidRequest, "1"},
		{"numeric version", `{"jsonrpc":2.0,"id":1,"method":"m"}`, rpc.InvalidRequest, "1"},
		{"null id", `{"jsonrpc":"2.0","id":null,"method":"m"}`, rpc.InvalidRequest, ""},
		{"object id", `{"jsonrpc":"2.0","id":{},"method":"m"}`, rpc.InvalidRequest, ""},
		{"long id", `{"jsonrpc":"2.0","id":` + long + `,"method":"m"}`, rpc.InvalidRequest, ""},
		{"empty method", `{"jsonrpc":"2.0","id":1,"method":""}`, rpc.InvalidRequest, "1"},
		{"numeric method", `{"jsonrpc":"2.0","id":1,"method":5}`, rpc.InvalidRequest, "1"},
		{"array params", `{"jsonrpc":"2.0","id":1,"method":"m","params":[]}`, rpc.InvalidRequest, "1"},
		{"request and response", `{"jsonrpc":"2.0","id":1,"method":"m","result":{}}`, rpc.InvalidRequest, "1"},
		{"nothing", `{"jsonrpc":"2.0","id":1}`, rpc.InvalidRequest, ""},
		{"result and error", `{"jsonrpc":"2.0","id":1,"result":{},"error":{}}`, rpc.InvalidRequest, ""},
		{"result and null error", `{"jsonrpc":"2.0","id":1,"result":{},"error":null}`, rpc.InvalidRequest, ""},
		{"string error", `{"jsonrpc":"2.0","id":1,"error":"no"}`, rpc.InvalidRequest, ""},
		{"response with params", `{"jsonrpc":"2.0","id":1,"result":{},"params":{}}`, rpc.InvalidRequest, ""},
		{"response without id", `{"jsonrpc":"2.0","result":{}}`, rpc.InvalidRequest, ""},
		{"error for null", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":""}}`, rpc.InvalidRequest, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			m, err := rpc.Parse([]byte(test.in))
			var e *rpc.Error
			if !errors.As(err, &e) {
				t.Fatalf("message %v, error %v; want an *rpc.Error", m, err)
			}
			if e.Code != test.code || string(e.ID) != test.id {
				t.Errorf("%v, id %q; want code %d, id %q", e, e.ID, test.code, test.id)
			}
		})
	}
}

func TestAppend(t *testing.T) {
	for _, test := range []struct {
		name string
		in   *rpc.Message
		want string
	}{
		{"request", rpc.NewRequest(raw(`"a"`), "m", raw(`{"x": 1}`)), `{"jsonrpc":"2.0","id":"a","method":"m","params":{"x": 1}}`},
		{"notification", rpc.NewNotification("n\n", nil), `{"jsonrpc":"2.0","method":"n\n"}`},
		{"reply", rpc.Reply(raw("1"), nil), `{"jsonrpc":"2.0","id":1,"result":{}}`},
		{"error", rpc.ReplyError(raw("1"), &rpc.Error{Code: -1, Message: `"`, Data: raw("[]")}),
			`{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"\"","data":[]}}`},
		{"error for nobody", rpc.ReplyError(nil, &rpc.Error{Code: -1}), `{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":""}}`},
		{"line breaks", rpc.Reply(raw("1"), raw("{\r\n \"a\": \"\\n\"\r}")), `{"jsonrpc":"2.0","id":1,"result":{ "a": "\n"}}`},
		{"no result", &rpc.Message{ID: raw("1")}, `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no result"}}`},
		{"error wins", &rpc.Message{ID: raw("1"), Result: raw("{}"), Error: raw(`{"code":1}`)}, `{"jsonrpc":"2.0","id":1,"error":{"code":1}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := string(test.in.Append([]byte("x")))[1:]; got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// What Append writes is one line, and Parse reads the same message in it.
func TestAppendAndParseAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := message().Draw(t, "message")
		line := m.Append(nil)
		if bytes.ContainsAny(line, "\r\n") {
			t.Fatalf("more than one line: %s", line)
		}
		got, err := rpc.Parse(line)
		if err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		got.Odd = false
		if diff := cmp.Diff(m, got); diff != "" {
			t.Fatal(diff)
		}
		if again := got.Append(nil); !bytes.Equal(line, again) {
			t.Fatalf("got  %s\nwant %s", again, line)
		}
	})
}

// Error objects survive, and what is not one reads as an internal error.
func TestError(t *testing.T) {
	in := &rpc.Error{Code: rpc.HeaderMismatch, Message: "né", Data: raw(`{"a":[1.0]}`)}
	data, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	out := new(rpc.Error)
	if err := json.Unmarshal(data, out); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(in, out); diff != "" {
		t.Error(diff)
	}
	for _, text := range []string{`{}`, `{"code":"1"}`, `{"code":1.5}`, `{"code":99999999999999999999}`} {
		if e := (&rpc.Message{Error: raw(text)}).Failure(); e.Code != rpc.InternalError {
			t.Errorf("%s has code %d", text, e.Code)
		}
	}
	long := &rpc.Error{Message: strings.Repeat("é", 1<<20)}
	if n := len(long.Error()); n > 600 {
		t.Errorf("text of an error has %d bytes", n)
	}
}

// TestHead holds that the head of a line that was written has the id and the method of its message, and that of another
// line is none.
func TestHead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := message().Draw(t, "message")
		id, method, ok := rpc.Head(m.Append(nil))
		if want := cmp.Diff(m.ID, id); !ok || want != "" || method != m.Method {
			t.Errorf("%q, %q, %v: %s", id, method, ok, want)
		}
	})
	for _, text := range []string{``, `{}`, `{"id":1,"jsonrpc":"2.0","result":{}}`, `{"jsonrpc":"2.0"`, `{"jsonrpc":"2.0","id":`, `{"jsonrpc":"2.0","id":"a`,
		`{"jsonrpc":"2.0","id":"a\`, `{"jsonrpc":"2.0","id":1,"method":"a`, `{"jsonrpc":"2.0","id":1,"x":2}`} {
		if id, method, ok := rpc.Head([]byte(text)); ok {
			t.Errorf("%s: %q, %q", text, id, method)
		}
	}
}

// message generates a message with random raw members that hold no line breaks, since Append leaves those out.
func message() *rapid.Generator[*rpc.Message] {
	return rapid.Custom(func(t *rapid.T) *rpc.Message {
		m := new(rpc.Message)
		id := raw(rapid.SampledFrom([]string{"0", "-7", "1e3", `""`, `"a\"b"`, `"\u00e9"`}).Draw(t, "id"))
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			m.ID, m.Method = id, rapid.StringN(1, 10, -1).Draw(t, "method")
			m.Params = object(t, 3)
		case 1:
			m.Method = "notifications/x"
		case 2:
			m.ID, m.Result = id, value(t, 3)
		case 3:
			m.ID, m.Error = id, object(t, 2)
		}
		return m
	})
}

// value generates a JSON value with odd but legal spelling.
func value(t *rapid.T, depth int) json.RawMessage {
	kind := rapid.IntRange(0, 6).Draw(t, "kind")
	if depth == 0 {
		kind %= 5
	}
	switch kind {
	case 5:
		return object(t, depth-1)
	case 6:
		var b strings.Builder
		b.WriteString("[")
		for i := range rapid.IntRange(0, 3).Draw(t, "length") {
			if i > 0 {
				b.WriteString(" ,")
			}
			b.Write(value(t, depth-1))
		}
		return raw(b.String() + "\t]")
	}
	return raw(rapid.SampledFrom([]string{
		"null", "true", "1.0", "-0", "1E+2", "123456789012345678901234567890", `"\/"`, `"\u2028"`, `"<&>"`, `"😀"`, `"\ud83d\ude00"`,
	}).Draw(t, "scalar"))
}

func object(t *rapid.T, depth int) json.RawMessage {
	var b strings.Builder
	b.WriteString("{ ")
	for i := range rapid.IntRange(0, 4).Draw(t, "members") {
		if i > 0 {
			b.WriteString(" , ")
		}
		fmt.Fprintf(&b, `"k%d\u0020" :%s`, i, value(t, depth))
	}
	return raw(b.String() + "}")
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":[1,{"b":null}]}}`, `{"jsonrpc":"2.0","id":"x","result":{},"y":"\u0000"}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"m"}}`, `{"jsonrpc":"2.0","method":"n","params":null,"\ud800":1}`,
		`[]`, `{"id":1,"id":2}`, "{\"jsonrpc\":\"2.0\",\"id\":1,\r\n\"result\":{\"a\":\n1}}", `{"jsonrpc":"2.0","id":7,"method":"m","params":{"a":1,"a":2}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := rpc.Parse(data)
		if err != nil {
			var e *rpc.Error
			if !errors.As(err, &e) {
				t.Fatalf("%T", err)
			}
			answer(t, e)
			return
		}
		line := m.Append(nil)
		if err := rawjson.Check(line); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		again, err := rpc.Parse(line)
		if err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if !bytes.Equal(again.Append(nil), line) {
			t.Fatalf("got %s, want %s", again.Append(nil), line)
		}
		if got, want := rawjson.Canonical(line), rawjson.Canonical(data); m.Params != nil && !bytes.Equal(got, want) {
			t.Fatalf("got %s, want %s", got, want)
		}
	})
}

// answer checks that the answer that an error makes is a message, if it names a request.
func answer(t *testing.T, e *rpc.Error) {
	line := rpc.ReplyError(e.ID, e).Append(nil)
	if e.ID == nil {
		return
	}
	if m, err := rpc.Parse(line); err != nil || !bytes.Equal(m.ID, e.ID) {
		t.Fatalf("%v: %s", err, line)
	}
}

func sized(n int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"jsonrpc":"2.0","id":1,"result":{"content":[`)
	for i := 0; b.Len() < n-100; i++ {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, `{"type":"text","text":"line %d of some text with a \"quote\"","n":%d}`, i, i)
	}
	b.WriteString(`]}}`)
	return b.Bytes()
}

var sizes = []struct {
	name string
	n    int
}{{"1KiB", 1 << 10}, {"100KiB", 100 << 10}, {"10MiB", 10 << 20}}

func BenchmarkParse(b *testing.B) {
	for _, size := range sizes {
		b.Run(size.name, func(b *testing.B) {
			data := sized(size.n)
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := rpc.Parse(data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, size := range sizes {
		b.Run(size.name, func(b *testing.B) {
			data := sized(size.n)
			m, err := rpc.Parse(data)
			if err != nil {
				b.Fatal(err)
			}
			var buf []byte
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				buf = m.Append(buf[:0])
			}
		})
	}
}

// Parts are what Append writes, and a long body is not copied.
func TestParts(t *testing.T) {
	short, long := strings.Repeat("x", 100), strings.Repeat("x", 1<<20)
	for _, test := range []struct {
		name string
		m    *rpc.Message
		want int
	}{
		{"short", rpc.Reply(json.RawMessage("1"), json.RawMessage(`{"a":"`+short+`"}`)), 1},
		{"long", rpc.Reply(json.RawMessage("1"), json.RawMessage(`{"a":"`+long+`"}`)), 3},
		{"long with line breaks", rpc.Reply(json.RawMessage("1"), json.RawMessage("{\n"+`"a":"`+long+`"}`)), 1},
		{"long params", &rpc.Message{Method: "m", Params: json.RawMessage(`{"a":"` + long + `"}`)}, 3},
		{"long id", rpc.ReplyError(json.RawMessage(`"`+long+`"`), rpc.Errorf(1, "no")), 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			parts := test.m.Parts()
			if !bytes.Equal(bytes.Join(parts, nil), test.m.Append(nil)) {
				t.Error("they are something else")
			}
			if len(parts) != test.want {
				t.Errorf("%d parts, want %d", len(parts), test.want)
			}
			body := test.m.Result
			if body == nil {
				body = test.m.Params
			}
			if test.want == 3 && &parts[1][0] != &body[0] {
				t.Error("the body is a copy")
			}
		})
	}
}

func TestNamelessError(t *testing.T) {
	for in, want := range map[string]string{
		`{"jsonrpc":"2.0","error":{"code":1, "x":2},"id":null}`: `{"code":1, "x":2}`,
		`{"jsonrpc":"2.0","error":{"code":1},"id":1}`:           "",
		`{"jsonrpc":"2.0","error":{"code":1}}`:                  "",
		`{"jsonrpc":"1.0","error":{"code":1},"id":null}`:        "",
		`{"jsonrpc":"2.0","error":[],"id":null}`:                "",
		`{"jsonrpc":"2.0","result":{},"id":null}`:               "",
		`{"jsonrpc":"2.0","error":{"a":1,"a":2},"id":null}`:     "",
		`[]`: "",
		``:   "",
	} {
		if got := rpc.NamelessError([]byte(in)); string(got) != want {
			t.Errorf("%s: got %s", in, got)
		}
	}
}
