package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
)

// A caller makes one call after the other, and returns when the whole answer has been read.
type caller interface {
	call(size int) error
}

// A client is the host's end of a way.
type client interface {
	// connect shakes hands.
	connect() error
	// caller returns a new caller. Callers may be used at the same time.
	caller() (caller, error)
	Close() error
}

const (
	initializeParams = `{"protocolVersion":"` + revision + `","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}`
	initialized      = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

// appendCall appends a call whose result has at least that size.
func appendCall(dst []byte, id int64, tool string, size int) []byte {
	return fmt.Appendf(dst, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{"size":%d}}}`, id, tool, size)
}

// checkAnswer reports an answer that is too short to be a result of that size, and so is an error.
func checkAnswer(got, size int, beginning []byte) error {
	if got < size {
		return fmt.Errorf("answer of %d bytes to a call for %d: %s", got, size, beginning)
	}
	return nil
}

// A lineClient speaks over a pair of pipes. It looks at nothing of a message but its id.
type lineClient struct {
	out  io.WriteCloser
	in   *bufio.Reader
	tool string // that is called; see the server

	writing sync.Mutex
	callers atomic.Int64
	seats   [4 * manyCallers]chan lineAnswer // by the id modulo their number
}

type lineAnswer struct {
	size      int
	beginning []byte
	err       error
}

func newLineClient(out io.WriteCloser, in io.Reader, tool string) *lineClient {
	c := &lineClient{out: out, in: bufio.NewReaderSize(in, 256<<10), tool: tool}
	for i := range c.seats {
		c.seats[i] = make(chan lineAnswer, 1)
	}
	return c
}

func (c *lineClient) Close() error { return c.out.Close() }

func (c *lineClient) connect() error {
	go c.read()
	first := &lineCaller{client: c}
	if err := first.send([]byte(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":` + initializeParams + "}\n")); err != nil {
		return err
	}
	if a := <-c.seats[0]; a.err != nil {
		return fmt.Errorf("shaking hands: %w", a.err)
	}
	return first.send([]byte(initialized + "\n"))
}

// list asks for the tools. Nobody else may call meanwhile.
func (c *lineClient) list() error {
	if err := (&lineCaller{client: c}).send([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}` + "\n")); err != nil {
		return err
	}
	a := <-c.seats[1]
	if a.err == nil && !bytes.Contains(a.beginning, []byte(toolChange)) {
		return fmt.Errorf("no list of tools: %s", a.beginning)
	}
	return a.err
}

func (c *lineClient) caller() (caller, error) {
	seat := c.callers.Add(1)
	if seat >= int64(len(c.seats)) {
		return nil, errors.New("too many callers")
	}
	return &lineCaller{client: c, id: seat}, nil
}

// read hands answers to their callers.
func (c *lineClient) read() {
	for {
		a, id := c.line()
		if a.err != nil {
			for _, seat := range c.seats {
				select {
				case seat <- a:
				default:
				}
			}
			return
		}
		if id >= 0 {
			c.seats[id%int64(len(c.seats))] <- a
		}
	}
}

// line reads a line and keeps its beginning; id is negative if it has none there.
func (c *lineClient) line() (a lineAnswer, id int64) {
	id = -1
	for {
		part, err := c.in.ReadSlice('\n')
		if a.size == 0 {
			id = leadingID(part)
			if len(part) < 4<<10 {
				a.beginning = bytes.Clone(part)
			}
		}
		a.size += len(part)
		if err != bufio.ErrBufferFull {
			a.err = err
			return a, id
		}
	}
}

// leadingID reads the id of an answer whose envelope begins with it.
func leadingID(line []byte) int64 {
	_, rest, ok := bytes.Cut(line[:min(len(line), 64)], []byte(`"id":`))
	end := bytes.IndexAny(rest, ",}")
	if !ok || end < 0 {
		return -1
	}
	id, err := strconv.ParseInt(string(rest[:end]), 10, 64)
	if err != nil {
		return -1
	}
	return id
}

type lineCaller struct {
	client *lineClient
	id     int64
	buf    []byte
}

func (c *lineCaller) send(line []byte) error {
	c.client.writing.Lock()
	defer c.client.writing.Unlock()
	_, err := c.client.out.Write(line)
	return err
}

func (c *lineCaller) call(size int) error {
	seats := int64(len(c.client.seats))
	c.id += seats // no id is used twice
	c.buf = append(appendCall(c.buf[:0], c.id, c.client.tool, size), '\n')
	if err := c.send(c.buf); err != nil {
		return err
	}
	a := <-c.client.seats[c.id%seats]
	if a.err != nil {
		return fmt.Errorf("waiting for an answer: %w", a.err)
	}
	return checkAnswer(a.size, size, a.beginning)
}

// eventSize is how many bytes a diskClient appends: about as many as an entry of the log has.
const eventSize = 1 << 10

// A diskClient is its own server: a file. Each call is on disk when it returns.
type diskClient struct {
	file *os.File
	data []byte
}

func (c *diskClient) connect() error          { return nil }
func (c *diskClient) caller() (caller, error) { return c, nil }
func (c *diskClient) Close() error            { return c.file.Close() }

func (c *diskClient) call(int) error {
	if _, err := c.file.Write(c.data); err != nil {
		return err
	}
	return c.file.Sync()
}

// An httpClient speaks streamable HTTP, over one connection for each caller.
type httpClient struct {
	at      *url.URL
	tool    string // that is called
	session string
	callers atomic.Int64
}

func (c *httpClient) Close() error { return nil }

func (c *httpClient) connect() error {
	first, err := c.dial(0)
	if err != nil {
		return err
	}
	defer first.conn.Close()
	if err := first.post([]byte(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":` + initializeParams + `}`)); err != nil {
		return fmt.Errorf("shaking hands: %w", err)
	}
	c.session = first.session
	return first.post([]byte(initialized))
}

func (c *httpClient) caller() (caller, error) { return c.dial(c.callers.Add(1)) }

func (c *httpClient) dial(seat int64) (*httpCaller, error) {
	conn, err := net.Dial("tcp", c.at.Host)
	if err != nil {
		return nil, err
	}
	return &httpCaller{client: c, conn: conn, in: bufio.NewReaderSize(conn, 64<<10), id: seat, scratch: make([]byte, 256<<10)}, nil
}

type httpCaller struct {
	client  *httpClient
	conn    net.Conn
	in      *bufio.Reader
	id      int64
	body    []byte
	head    []byte
	scratch []byte

	size    int    // of the last answer
	session string // that it named
}

func (c *httpCaller) call(size int) error {
	c.id += 4 * manyCallers
	c.body = appendCall(c.body[:0], c.id, c.client.tool, size)
	if err := c.post(c.body); err != nil {
		return err
	}
	return checkAnswer(c.size, size, c.scratch[:min(c.size, 512)])
}

// post sends a message and reads the whole response.
func (c *httpCaller) post(body []byte) error {
	c.head = fmt.Appendf(c.head[:0], "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"+
		"Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: %s\r\nContent-Length: %d\r\n",
		c.client.at.Path, c.client.at.Host, revision, len(body))
	if c.client.session != "" {
		c.head = fmt.Appendf(c.head, "Mcp-Session-Id: %s\r\n", c.client.session)
	}
	c.head = append(append(c.head, "\r\n"...), body...)
	if _, err := c.conn.Write(c.head); err != nil {
		return err
	}
	resp, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	c.session = resp.Header.Get("Mcp-Session-Id")
	for c.size = 0; err == nil; {
		var n int
		n, err = resp.Body.Read(c.scratch)
		c.size += n
	}
	if err != io.EOF {
		return err
	}
	if resp.StatusCode >= 300 {
		return fmt.Errorf("status %s: %s", resp.Status, c.scratch[:min(c.size, 512)])
	}
	return nil
}
