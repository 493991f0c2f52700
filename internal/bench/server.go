package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
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

// The server's answers apart from calls. Both tools return text of a size. One is annotated as a plain read, the other
// as a change; no rule of the built-in policy stops either.
const (
	initializeResult = `{"protocolVersion":"` + revision + `","capabilities":{"tools":{}},"serverInfo":{"name":"bench","version":"1"}}`
	listResult       = `{"tools":[{"name":"plain",` + inputSchema + `"annotations":{"readOnlyHint":true,"openWorldHint":false,` +
		`"inputMetadata":{"destination":"system","outcomes":"benign","sensitivity":"none"}}},` +
		`{"name":"change",` + inputSchema + `"annotations":{"readOnlyHint":false,"openWorldHint":false,` +
		`"inputMetadata":{"destination":"internal","outcomes":"consequential","sensitivity":"none"}}}]}`
	inputSchema = `"inputSchema":{"type":"object","properties":{"size":{"type":"integer"}},"required":["size"]},`
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

// text returns the result of a call: lines of words with quotes, as in a source file, so that the JSON has escapes. The
// words are of a vocabulary of 20,000, as an index of repeated text is much cheaper than one of text that people write.
func (s *service) text(size int) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.texts[size] == nil {
		var b bytes.Buffer
		b.WriteString(`{"content":[{"type":"text","text":"`)
		r := rand.New(rand.NewPCG(1, 2))
		for line := 0; b.Len()+32 < size; line++ {
			word := r.IntN(20_000)
			fmt.Fprintf(&b, `%c%c%s `, 'a'+word%26, 'a'+word/26%26, "aeioustr"[:1+word/676%8])
			if line%12 == 11 {
				fmt.Fprintf(&b, `\"%d\"\n`, r.IntN(100_000))
			}
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

// serveLines answers one message a line, one after the other, until in ends. It begins after the time in args, if there
// is one.
func serveLines(args []string, in io.Reader, out io.Writer) error {
	if len(args) > 0 {
		delay, err := time.ParseDuration(args[0])
		if err != nil {
			return err
		}
		time.Sleep(delay)
	}
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
