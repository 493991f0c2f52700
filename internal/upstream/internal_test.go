package upstream

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// read returns the data of all events, and the error at the end.
func read(in io.Reader, limit int) (got []string, err error) {
	events := (&streams{limit: limit}).reader(in)
	defer events.release()
	for {
		e, err := events.next()
		if err != nil {
			return got, err
		}
		got = append(got, strings.Join([]string{e.name, events.last, string(e.data)}, "|"))
	}
}

func TestEventReader(t *testing.T) {
	long := strings.Repeat("x", 200_000)
	for _, test := range []struct {
		name, in string
		limit    int
		want     []string
		err      error
	}{
		{"nothing", "", 10, nil, io.EOF},
		{"one", "data: a\n\n", 10, []string{"||a"}, io.EOF},
		{"no space", "data:a\n\n", 10, []string{"||a"}, io.EOF},
		{"one space only", "data:  a\n\n", 10, []string{"|| a"}, io.EOF},
		{"CRLF", "event: e\r\ndata: a\r\n\r\n", 20, []string{"e||a"}, io.EOF},
		{"lines", "data: a\ndata\ndata: b\n\n", 30, []string{"||a\n\nb"}, io.EOF},
		{"no data", "event: e\nid: 1\n\ndata: a\n\n", 30, []string{"|1|a"}, io.EOF},
		{"id lasts", "id: 1\ndata: a\n\ndata: b\n\n", 30, []string{"|1|a", "|1|b"}, io.EOF},
		{"bad id", "id: 1\x002\ndata: a\n\n", 30, []string{"||a"}, io.EOF},
		{"comments", ": x\n:\n" + strings.Repeat(": keep\n", 100) + "data: a\n\n", 10, []string{"||a"}, io.EOF},
		{"unknown field", "x: y\ndata: a\n\n", 20, []string{"||a"}, io.EOF},
		{"cut off", "data: a\n\ndata: b\n", 20, []string{"||a"}, io.EOF},
		{"long", "data: " + long + "\n\n", 300_000, []string{"||" + long}, io.EOF},
		{"too long", "data: a\n\ndata: " + long + "\n\n", 1000, []string{"||a"}, &tooLong{1000}},
		{"too many lines", strings.Repeat("data: a\n", 1000), 1000, nil, &tooLong{1000}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, in := range []io.Reader{strings.NewReader(test.in), iotest.HalfReader(strings.NewReader(test.in))} {
				got, err := read(in, test.limit)
				if diff := cmp.Diff(test.want, got); diff != "" || fmt.Sprint(err) != fmt.Sprint(test.err) {
					t.Errorf("%s, error %v", diff, err)
				}
			}
		})
	}
	r := (&streams{limit: 100}).reader(strings.NewReader("retry: 20\nretry: x\nretry: -1\nretry: 99999999999\ndata: a\n\n"))
	if _, err := r.next(); err != nil || r.retry != 20*time.Millisecond {
		t.Errorf("retry %v, error %v", r.retry, err)
	}
}

// Events stay within their limit, and their reader comes to an end.
func FuzzEventReader(f *testing.F) {
	f.Add("data: a\n\nid: 1\r\nevent: b\ndata\n\n", uint8(10))
	f.Add(": \n\n\x00data:\n:", uint8(0))
	f.Fuzz(func(t *testing.T, in string, limit uint8) {
		got, err := read(iotest.HalfReader(strings.NewReader(in)), int(limit))
		for _, e := range got {
			if _, data, _ := strings.Cut(e, "|"); len(data) > int(limit)+1200 {
				t.Fatalf("event of %d bytes", len(e))
			}
		}
		if err != io.EOF && !errors.As(err, new(*tooLong)) {
			t.Fatal(err)
		}
	})
}

func TestDress(t *testing.T) {
	hello := Hello{ClientInfo: json.RawMessage(`{"name":"c"}`), Capabilities: json.RawMessage(`{"x": 1}`)}
	const info = `"io.modelcontextprotocol/clientInfo":{"name":"c"}`
	const caps = `"io.modelcontextprotocol/clientCapabilities":{"x": 1}`
	const mine = `"io.modelcontextprotocol/clientInfo":{"name": "mine"}`
	version := func(v string) string { return `"io.modelcontextprotocol/protocolVersion":"` + v + `"` }
	for _, test := range []struct{ name, protocol, in, want string }{
		{"none", newest, ``, `{"_meta":{` + version(newest) + "," + info + "," + caps + `}}`},
		{"some", newest, `{ "a" : 1.0 }`, `{ "a" : 1.0,"_meta":{` + version(newest) + "," + info + "," + caps + `} }`},
		{"own", newest, `{"_meta": {` + mine + `, "y": 2}, "a":1}`,
			`{"_meta": {` + mine + `, "y": 2,` + version(newest) + "," + caps + `}, "a":1}`},
		{"another revision", newest, `{"_meta":{` + version("2027-01-01") + `,` + info + "," + caps + `}}`,
			`{"_meta":{` + version(newest) + "," + info + "," + caps + `}}`},
		{"legacy none", newestLegacy, ``, ``},
		{"legacy without", newestLegacy, `{"_meta" : {"y": 2}}`, `{"_meta" : {"y": 2}}`},
		{"legacy with", newestLegacy, `{"_meta" : {` + version(newest) + `, "y": 2,` + mine + `}, "a":1}`, `{"_meta" : { "y": 2}, "a":1}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := era{test.protocol, hello}.dress(json.RawMessage(test.in))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(got)); diff != "" {
				t.Fatal(diff)
			}
		})
	}
	for _, params := range []string{`[]`, `{"_meta":1}`, `1`} {
		if got, err := (era{newest, hello}).dress(json.RawMessage(params)); err == nil {
			t.Errorf("%s became %s", params, got)
		}
	}
}

func TestSameOrigin(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{"http://h/a", "http://H:80/b?c", true},
		{"https://h/", "https://h:443/", true},
		{"http://h/", "https://h/", false},
		{"http://h/", "http://h:8080/", false},
		{"http://h/", "http://h.evil/", false},
		{"http://h@evil/", "http://h/", false},
		{"http://[::1]/", "http://[::1]:80/", true},
	} {
		a, err := url.Parse(test.a)
		if err != nil {
			t.Fatal(err)
		}
		b, err := url.Parse(test.b)
		if err != nil {
			t.Fatal(err)
		}
		if got := sameOrigin(a, b); got != test.want {
			t.Errorf("%s and %s: %t", test.a, test.b, got)
		}
	}
}

// Room is made for what has come, and for little that was only announced.
func TestRoom(t *testing.T) {
	for _, test := range []struct{ need, some, expected, limit, want int }{
		{1, 0, 0, 1 << 20, firstRoom + 1},
		{1, 0, 1000, 1 << 20, 1001},
		{1, 0, 1 << 30, 1 << 30, believed + 1 + spare},
		{believed + 2, believed + 1, 10 << 20, 64 << 20, 10<<20 + 1 + spare},
		{believed + 2, believed + 1, 0, 64 << 20, 2*believed + 3 + spare},
		{10<<20 + 1, 10 << 20, 10 << 20, 64 << 20, 20<<20 + 1 + spare},
		{100, 99, 0, 99, 101},
		{40, 30, 0, 30, 41},
	} {
		if got := roomFor(test.need, test.some, test.expected, test.limit); got != test.want {
			t.Errorf("%+v: got %d", test, got)
		}
	}
}

// A body is read whole, whatever its server announces, up to the limit.
func TestBody(t *testing.T) {
	const limit = 5000
	for _, size := range []int{0, 1, 4096, 4097, limit, limit + 1, 3 * limit} {
		for _, announced := range []int64{-1, int64(size)} {
			text := strings.Repeat("x", size)
			resp := &http.Response{Body: io.NopCloser(iotest.HalfReader(strings.NewReader(text))), ContentLength: announced}
			data, err := new(memory).body(resp, limit)
			if size > limit && !errors.As(err, new(*tooLong)) || size <= limit && (err != nil || string(data) != text) {
				t.Errorf("%d bytes, announced %d: read %d, error %v", size, announced, len(data), err)
			}
		}
	}
	broken := &http.Response{Body: io.NopCloser(iotest.ErrReader(io.ErrUnexpectedEOF)), ContentLength: 9}
	if _, err := new(memory).body(broken, limit); err != io.ErrUnexpectedEOF {
		t.Errorf("got %v", err)
	}
}
