package streamable_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/internal/streamable"
)

// A pipes is a listener whose network is synchronous pipes, for fake time.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.done); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv6loopback} }

// piped runs f with a function that connects to a server, on fake time.
func piped(t *testing.T, opts streamable.Options, f func(t *testing.T, dial func() net.Conn)) {
	synctest.Test(t, func(t *testing.T) {
		p := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
		h := streamable.New(opts)
		srv := streamable.NewServer(h)
		go srv.Serve(p)
		f(t, func() net.Conn {
			client, server := net.Pipe()
			p.conns <- server
			return client
		})
		h.Close()
		srv.Close()
	})
}

const head = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" +
	"Accept: application/json, text/event-stream\r\n%sContent-Length: %d\r\n\r\n"

// A body that does not come ends the request, wanted or not.
func TestSlowBody(t *testing.T) {
	for header, want := range map[string]int{
		"":                                http.StatusRequestTimeout,
		"Origin: http://evil.example\r\n": http.StatusForbidden,
		"Mcp-Session-Id: A\r\n":           http.StatusRequestTimeout,
	} {
		piped(t, streamable.Options{Serve: newToy().serve}, func(t *testing.T, dial func() net.Conn) {
			c := dial()
			defer c.Close()
			fmt.Fprintf(c, head, header, 100)
			io.WriteString(c, "{")
			began := time.Now()
			resp, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil || resp.StatusCode != want || time.Since(began) != 2*time.Minute {
				t.Errorf("after %v: %v, %v", time.Since(began), resp, err)
			}
		})
	}
}

// A request may take longer than its body was allowed to, and longer than a write.
func TestSlowCall(t *testing.T) {
	y := newToy()
	piped(t, streamable.Options{Serve: y.serve}, func(t *testing.T, dial func() net.Conn) {
		c := dial()
		defer c.Close()
		post := modern("tools/call", `{"name":"wait"}`)
		fmt.Fprintf(c, head, strings.ReplaceAll(post.header, "\n", "\r\n")+"\r\n", len(post.body))
		io.WriteString(c, post.body)
		r := bufio.NewReader(c)
		resp, err := http.ReadResponse(r, nil)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%v, %v", resp, err)
		}
		stream := bufio.NewReader(resp.Body)
		for range 20 {
			for _, want := range []string{": keep-alive\n", "\n"} {
				if line, err := stream.ReadString('\n'); line != want {
					t.Fatalf("got %q, %v", line, err)
				}
			}
		}
		if y.get("wait") != 1 {
			t.Error("the call is over")
		}
	})
}

func TestStalledReader(t *testing.T) {
	serve, opened := conns()
	piped(t, streamable.Options{Serve: serve}, func(t *testing.T, dial func() net.Conn) {
		c := dial()
		defer c.Close()
		fmt.Fprintf(c, head, "", len(initialize))
		io.WriteString(c, initialize)
		r := bufio.NewReader(c)
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nMcp-Session-Id: %s\r\n\r\n",
			resp.Header.Get("Mcp-Session-Id"))
		if resp, err = http.ReadResponse(r, nil); err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%v, %v", resp, err)
		}
		conn := <-opened
		for range 10 {
			if err := conn.Write(t.Context(), rpc.NewNotification("n", []byte(`{"x":"`+strings.Repeat("x", 1<<20)+`"}`))); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(29 * time.Second)
		if _, err := io.CopyN(io.Discard, resp.Body, 300<<10); err != nil {
			t.Errorf("reading just in time: %v", err)
		}
		time.Sleep(31 * time.Second)
		if _, err := io.Copy(io.Discard, resp.Body); err == nil {
			t.Error("a stream that was not read for 31 s ended in order")
		}
	})
}
