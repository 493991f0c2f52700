package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
)

// revision is the one that client and server speak.
const revision = "2025-11-25"

// The server's answers apart from calls. Its first tool reads, and its annotations say so; no rule of the built-in
// policy stops it. The other two do the same, but are annotated as a plain read and as a change.
const (
	initializeResult = `{"protocolVersion":"` + revision + `","capabilities":{"tools":{}},"serverInfo":{"name":"bench","version":"1"}}`
	listResult       = `{"tools":[{"name":"read","description":"Returns text of a size.","inputSchema":{"type":"object",` +
		`"properties":{"size":{"type":"integer"}},"required":["size"]},"annotations":{"readOnlyHint":true,"openWorldHint":false}},` +
		`{"name":"plain","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"openWorldHint":false,` +
		`"inputMetadata":{"destination":"system","outcomes":"benign","sensitivity":"none"}}},` +
		`{"name":"change","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":false,"openWorldHint":false,` +
		`"inputMetadata":{"destination":"internal","outcomes":"consequential","sensitivity":"none"}}}]}`
)

// A service is the server of both transports.
type service struct {
	mu    sync.Mutex
	texts map[int][]byte // results by their size
}

// answer returns the two parts of the answer to a message; nil if it gets none.
func (s *service) answer(message []byte) (head, tail []byte) {
	m, err := rpc.Parse(message)
	if err != nil {
		return rpc.ReplyError(nil, rpc.Errorf(rpc.ParseError, "%v", err)).Append(nil), nil
	}
	if !m.IsRequest() {
		return nil, nil
	}
	var result []byte
	switch m.Method {
	case "initialize":
		result = []byte(initializeResult)
	case "tools/list":
		result = []byte(listResult)
	case "tools/call":
		raw, _ := rawjson.Get(m.Params, "arguments", "size")
		size, err := strconv.Atoi(string(raw))
		if err != nil {
			return rpc.ReplyError(m.ID, rpc.Errorf(rpc.InvalidParams, "size is not an integer")).Append(nil), nil
		}
		result = s.text(size)
	default:
		return rpc.ReplyError(m.ID, rpc.Errorf(rpc.MethodNotFound, "no method %q", m.Method)).Append(nil), nil
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":`, m.ID), result
}

// text returns the result of a call: lines of prose with quotes, as in a source file, so that the JSON has escapes.
func (s *service) text(size int) []byte {
	const line = `He said: \"All work and no play\", and then he said nothing for a while.\n`
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.texts[size] == nil {
		var b bytes.Buffer
		b.WriteString(`{"content":[{"type":"text","text":"`)
		for b.Len()+len(line) < size {
			b.WriteString(line)
		}
		for b.Len() < size {
			b.WriteByte('.')
		}
		b.WriteString(`"}]}`)
		if s.texts == nil {
			s.texts = map[int][]byte{}
		}
		s.texts[size] = b.Bytes()
	}
	return s.texts[size]
}

// serveLines answers one message a line, one after the other, until in ends.
func serveLines(in io.Reader, out io.Writer) error {
	var s service
	lines := bufio.NewReaderSize(in, 64<<10)
	var buf []byte
	for {
		line, err := lines.ReadSlice('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		head, tail := s.answer(line)
		if head == nil {
			continue
		}
		buf = append(append(buf[:0], head...), tail...)
		if tail != nil {
			buf = append(buf, '}')
		}
		buf = append(buf, '\n')
		if _, err := out.Write(buf); err != nil {
			return err
		}
	}
}

// serveHTTP serves the streamable HTTP transport, without sessions and streams, until ctx ends.
func serveHTTP(ctx context.Context, say io.Writer) error {
	var s service
	return listen(ctx, say, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		head, tail := s.answer(body)
		if head == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		pieces := [][]byte{head}
		if tail != nil {
			pieces = append(pieces, tail, []byte{'}'})
		}
		size := 0
		for _, p := range pieces {
			size += len(p)
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(size))
		for _, p := range pieces {
			if _, err := w.Write(p); err != nil {
				return
			}
		}
	}))
}

// listen serves on a free port of the loopback address until ctx ends, and says where.
func listen(ctx context.Context, say io.Writer, h http.Handler) error {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	fmt.Fprintf(say, "url=http://%s/mcp\n", l.Addr())
	if err := server.Serve(l); err != http.ErrServerClosed {
		return err
	}
	return nil
}
