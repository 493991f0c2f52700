package rpc_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/internal/rpc"
)

// discard is a writer for streams that are only read.
type discard struct{ io.Writer }

func (discard) Close() error { return nil }

func reading(r io.Reader, limit int) *rpc.Stream {
	return rpc.NewStream(io.NopCloser(r), discard{io.Discard}, &rpc.StreamOptions{MaxMessage: limit})
}

// drain reads to the end: the methods of messages, and for bad ones the code, the id and what they answer.
func drain(t rapid.TB, s rpc.Conn) (got []string) {
	t.Helper()
	for {
		m, err := s.Read(context.Background())
		var bad *rpc.BadMessage
		switch {
		case err == io.EOF:
			return got
		case errors.As(err, &bad):
			if len(bad.Raw) > 256 || len(bad.Error()) > 2000 {
				t.Errorf("raw has %d bytes, text %d", len(bad.Raw), len(bad.Error()))
			}
			got = append(got, "bad id="+string(bad.Err.ID)+" answers="+string(bad.Answers))
		case err != nil:
			t.Fatal(err)
		default:
			got = append(got, strings.TrimPrefix(m.Method, "notifications/")+string(m.Result))
		}
	}
}

func TestStreamRead(t *testing.T) {
	n := func(name string) string { return `{"jsonrpc":"2.0","method":"notifications/` + name + `"}` }
	long := strings.Repeat("x", 200_000)
	for _, test := range []struct {
		name, in string
		limit    int
		want     []string
	}{
		{"nothing", "", 0, nil},
		{"lines", n("a") + "\n" + n("b") + "\n", 0, []string{"a", "b"}},
		{"last without end", n("a") + "\n" + n("b"), 0, []string{"a", "b"}},
		{"CRLF", n("a") + "\r\n" + n("b") + "\r\n", 0, []string{"a", "b"}},
		{"blank", "\n\r\n \t\n" + n("a") + "\n\n", 0, []string{"a"}},
		{"garbage", "hello\n" + n("a") + "\n[]\n\x00\xff\n" + n("b"), 0,
			[]string{"bad id= answers=", "a", "bad id= answers=", "bad id= answers=", "b"}},
		{"two on a line", n("a") + n("b") + "\n" + n("c"), 0, []string{"bad id= answers=", "c"}},
		{"cut off", n("a") + "\n" + `{"jsonrpc":"2.0","id":4,"method":`, 0, []string{"a", "bad id= answers="}},
		{"bad request", `{"id":4,"method":"m"}` + "\n", 0, []string{"bad id=4 answers="}},
		{"bad answer", `{"jsonrpc":"2.0","id":4,"result":{"a":1,"a":2}}` + "\n", 0, []string{"bad id= answers=4"}},
		{"long", `{"jsonrpc":"2.0","id":4,"result":"` + long + `"}` + "\n" + n("a"), 0, []string{`"` + long + `"`, "a"}},
		{"too long", `{"jsonrpc":"2.0","method":"m","params":{"a":"` + long + `"},"id":"q"}` + "\n" + n("a"), 150_000,
			[]string{`bad id="q" answers=`, "a"}},
		{"too long answer", `{"result":{"id":5,"x":"\"id\":6}` + long + `"},"jsonrpc":"2.0","id":4}` + "\r\n" + n("a"), 100,
			[]string{"bad id= answers=4", "a"}},
		{"too long at the end", long, 100, []string{"bad id= answers="}},
		{"just fits", n("a") + "\r\n", len(n("a")), []string{"a"}},
		{"one too long", n("ab") + "\n", len(n("a")), []string{"bad id= answers="}},
	} {
		t.Run(test.name, func(t *testing.T) {
			readers := map[string]io.Reader{"whole": strings.NewReader(test.in), "halves": iotest.HalfReader(strings.NewReader(test.in))}
			if len(test.in) < 1000 {
				readers["bytes"] = iotest.OneByteReader(strings.NewReader(test.in))
			}
			for name, r := range readers {
				if diff := cmp.Diff(test.want, drain(t, reading(r, test.limit))); diff != "" {
					t.Errorf("%s: %s", name, diff)
				}
			}
		})
	}
}

// A reader's error ends the stream, after what came before it.
// A bitwise reader gives as much at a time as next says.
type bitwise struct {
	in   *strings.Reader
	next func() int
}

func (b bitwise) Read(p []byte) (int, error) { return b.in.Read(p[:min(len(p), b.next())]) }

// Lines are the same however their bytes arrive, around each multiple of the buffer and the limit.
func TestStreamLines(t *testing.T) {
	const buffer = 64 << 10
	size := rapid.Custom(func(t *rapid.T) int {
		return max(60, buffer*rapid.IntRange(0, 3).Draw(t, "buffers")+rapid.IntRange(-3, 3).Draw(t, "more"))
	})
	rapid.Check(t, func(t *rapid.T) {
		limit, in, want := size.Draw(t, "limit"), "", []string(nil)
		for i := range rapid.IntRange(1, 5).Draw(t, "lines") {
			head, tail := fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/%d`, i), `"}`
			name := strings.Repeat("x", size.Draw(t, "size")-len(head)-len(tail))
			in += head + name + tail + rapid.SampledFrom([]string{"\n", "\r\n", "\n\n"}).Draw(t, "end")
			if len(head+name+tail) <= limit {
				want = append(want, fmt.Sprint(i)+name)
			} else {
				want = append(want, "bad id= answers=")
			}
		}
		step := rapid.SampledFrom([]int{1000, buffer - 1, buffer, buffer + 1, 3 * buffer, 1 << 20})
		got := drain(t, reading(bitwise{strings.NewReader(in), func() int { return step.Draw(t, "bytes") }}, limit))
		if !slices.Equal(got, want) {
			t.Fatalf("%d messages of %d: %.40q", len(got), len(want), got)
		}
	})
}

// Lines that are read with the end of a long one, by way of its memory, come after it, whole and in their order.
func TestStreamLinesBehindLong(t *testing.T) {
	in, want := "", []string(nil)
	for i, size := range append([]int{3 << 20, 5 << 18}, slices.Repeat([]int{100 << 10, 10, 64 << 10}, 4)...) {
		name := fmt.Sprint(i) + strings.Repeat("x", size)
		in, want = in+`{"jsonrpc":"2.0","method":"notifications/`+name+"\"}\n", append(want, name)
	}
	if got := drain(t, reading(strings.NewReader(in), 0)); !slices.Equal(got, want) {
		t.Errorf("%d of %d messages: %.9q, not %.9q", len(got), len(want), got, want)
	}
}

func TestStreamReadError(t *testing.T) {
	broken := errors.New("broken")
	s := reading(io.MultiReader(strings.NewReader(`{"jsonrpc":"2.0","method":"notifications/a"}`+"\n"), iotest.ErrReader(broken)), 0)
	if m, err := s.Read(t.Context()); err != nil || m.Method != "notifications/a" {
		t.Fatal(m, err)
	}
	if _, err := s.Read(t.Context()); err != broken {
		t.Errorf("got %v", err)
	}
	if _, err := s.Read(t.Context()); err != io.EOF {
		t.Errorf("then %v", err)
	}
}

// A line without end costs no memory.
func TestStreamSkipsWithoutHolding(t *testing.T) {
	const size = 32 << 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := drain(t, reading(io.LimitReader(endless{}, size), 1<<20))
	runtime.ReadMemStats(&after)
	if diff := cmp.Diff([]string{"bad id= answers="}, got); diff != "" {
		t.Error(diff)
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 4<<20 {
		t.Errorf("reading %d bytes allocated %d", size, grown)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// The context ends a Read without losing what comes then; Close ends it too.
func TestStreamReadEnds(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s := rpc.NewStream(r, w, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := s.Read(ctx); err != context.DeadlineExceeded {
		t.Fatalf("got %v", err)
	}
	if err := s.Write(t.Context(), rpc.NewNotification("notifications/a", nil)); err != nil {
		t.Fatal(err)
	}
	if m, err := s.Read(t.Context()); err != nil || m.Method != "notifications/a" {
		t.Fatal(m, err)
	}
	time.AfterFunc(10*time.Millisecond, func() { s.Close() })
	if _, err := s.Read(t.Context()); err != io.EOF {
		t.Errorf("got %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Write(t.Context(), rpc.NewNotification("notifications/a", nil)); err == nil {
		t.Error("writing after Close is no error")
	}
}

// counter counts calls of Write.
type counter struct {
	bytes.Buffer
	calls int
}

func (c *counter) Write(p []byte) (int, error) { c.calls++; return c.Buffer.Write(p) }
func (c *counter) Close() error                { return nil }

// Each message is one write, however many are sent at once.
func TestStreamWrite(t *testing.T) {
	const many = 100
	var out counter
	s := rpc.NewStream(io.NopCloser(strings.NewReader("")), &out, nil)
	var wg sync.WaitGroup
	for range many {
		wg.Go(func() {
			params := raw("{\n\"a\": \"" + strings.Repeat("é", 5000) + "\"}")
			if err := s.Write(t.Context(), rpc.NewNotification("notifications/n", params)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if out.calls != many {
		t.Errorf("%d writes", out.calls)
	}
	got := drain(t, reading(&out, 0))
	for _, method := range got {
		if method != "n" {
			t.Fatal(method)
		}
	}
	if len(got) != many {
		t.Errorf("%d messages", len(got))
	}
}

// A telling writer closes begun when it is written to.
type telling struct {
	io.WriteCloser
	begun chan struct{}
	once  sync.Once
}

func (w *telling) Write(p []byte) (int, error) {
	w.once.Do(func() { close(w.begun) })
	return w.WriteCloser.Write(p)
}

// A peer that does not read holds up nobody beyond their context, and messages stay whole.
func TestStreamWriteBlocked(t *testing.T) {
	r, w := io.Pipe()
	begun := make(chan struct{})
	s := rpc.NewStream(io.NopCloser(strings.NewReader("")), &telling{WriteCloser: w, begun: begun}, nil)
	for _, method := range []string{"notifications/begun", "notifications/queued"} {
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-begun
			cancel()
		}()
		if err := s.Write(ctx, rpc.NewNotification(method, nil)); err != context.Canceled {
			t.Errorf("%s: %v", method, err)
		}
	}
	go func() {
		_ = s.Write(context.Background(), rpc.NewNotification("notifications/later", nil))
		s.Close()
	}()
	if diff := cmp.Diff([]string{"begun", "later"}, drain(t, reading(r, 0))); diff != "" {
		t.Error(diff)
	}
}

// Half a line spoils a stream for good.
func TestStreamWriteError(t *testing.T) {
	r, w := io.Pipe()
	s := rpc.NewStream(io.NopCloser(strings.NewReader("")), w, nil)
	go func() {
		io.CopyN(io.Discard, r, 5)
		r.Close()
	}()
	for range 2 {
		if err := s.Write(t.Context(), rpc.NewNotification("n", nil)); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("got %v", err)
		}
	}
}

func TestRelated(t *testing.T) {
	if id := rpc.Related(t.Context()); id != nil {
		t.Errorf("got %s", id)
	}
	if id := rpc.Related(rpc.WithRelated(t.Context(), raw(`"x"`))); string(id) != `"x"` {
		t.Errorf("got %s", id)
	}
}

// Reading never loses track of lines: what comes after a newline is read whatever came before it.
func FuzzStream(f *testing.F) {
	f.Add([]byte("{}\n"), uint8(10))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2}}`), uint8(200))
	f.Add([]byte("\r\n\"\\\n{\"id\":\"\x00"), uint8(1))
	f.Fuzz(func(t *testing.T, data []byte, limit uint8) {
		last := `{"jsonrpc":"2.0","method":"notifications/the end"}`
		in := string(data) + "\n" + last
		got := drain(t, reading(iotest.HalfReader(strings.NewReader(in)), len(last)+int(limit)))
		if len(got) == 0 || got[len(got)-1] != "the end" {
			t.Fatalf("got %q", got)
		}
		want := 0
		for line := range strings.SplitSeq(in, "\n") {
			// A blank line is skipped, but for one that is too long to be held and looked at.
			if strings.Trim(line, " \t\r") != "" || len(strings.TrimSuffix(line, "\r")) > len(last)+int(limit) {
				want++
			}
		}
		if len(got) != want {
			t.Fatalf("%d lines gave %d", want, len(got))
		}
	})
}

// BenchmarkStream is a hop: a message written to a pipe, read from it and parsed.
func BenchmarkStream(b *testing.B) {
	for _, size := range sizes {
		b.Run(size.name, func(b *testing.B) {
			r, w, err := os.Pipe()
			if err != nil {
				b.Fatal(err)
			}
			s := rpc.NewStream(r, w, nil)
			defer s.Close()
			data := sized(size.n)
			m, err := rpc.Parse(data)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				go s.Write(b.Context(), m)
				if _, err := s.Read(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A message that is longer than a pipe holds is written whole, in order with the others, without and with a context that may end.
func TestStreamPipe(t *testing.T) {
	for _, ctx := range []context.Context{context.Background(), t.Context()} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		s := rpc.NewStream(io.NopCloser(strings.NewReader("")), w, nil)
		large := raw(`{"a":"` + strings.Repeat("x", 1<<20) + `"}`)
		go func() {
			for method, params := range map[string]json.RawMessage{"notifications/small": nil, "notifications/more than a pipe holds": large} {
				if err := s.Write(ctx, rpc.NewNotification(method, params)); err != nil {
					t.Errorf("%s: %v", method, err)
				}
			}
			s.Close()
		}()
		got := drain(t, reading(r, 0))
		if slices.Sort(got); !slices.Equal(got, []string{"more than a pipe holds", "small"}) {
			t.Errorf("got %q", got)
		}
		if err := s.Write(ctx, rpc.NewNotification("closed", nil)); err == nil {
			t.Error("after Close: no error")
		}
	}
}

// A Read whose context ends in the middle of a line leaves the line for the next, be it too long or not.
func TestStreamReadGoesOn(t *testing.T) {
	for _, limit := range []int{0, 100_000} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		s := rpc.NewStream(r, discard{io.Discard}, &rpc.StreamOptions{MaxMessage: limit})
		line := `{"jsonrpc":"2.0","id":4,"result":"` + strings.Repeat("x", 200_000) + `"}` + "\n"
		for part := range slices.Chunk([]byte(line), 50_000) {
			if _, err := w.Write(part); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			if part[len(part)-1] != '\n' {
				if _, err := s.Read(ctx); err != context.DeadlineExceeded {
					t.Fatalf("got %v", err)
				}
			}
			cancel()
		}
		w.Close()
		want := line[strings.Index(line, `"x`) : len(line)-2]
		if limit > 0 {
			want = "bad id= answers=4"
		}
		if diff := cmp.Diff([]string{want}, drain(t, s)); diff != "" {
			t.Error(diff)
		}
		s.Close()
	}
}

// BenchmarkPipe is a hop without a change of goroutines: a message written to a pipe, read from it and parsed.
func BenchmarkPipe(b *testing.B) {
	r, w, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	s := rpc.NewStream(r, w, nil)
	defer s.Close()
	m, err := rpc.Parse(sized(1 << 10))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Write(context.Background(), m); err != nil {
			b.Fatal(err)
		}
		if _, err := s.Read(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
