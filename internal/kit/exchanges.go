package kit

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/weir-mcp/weir/conformance"
	"github.com/weir-mcp/weir/internal/rawjson"
)

// large returns the text of $LARGE: a hundred thousand characters without a period.
var large = sync.OnceValue(func() string {
	var b strings.Builder
	for n := 0; b.Len() < 100_000; n++ {
		fmt.Fprintf(&b, "%d ", n*n)
	}
	return b.String()
})

// through plays an exchange, and returns what is wrong with it.
func (h *host) through(ctx context.Context, e conformance.Exchange) string {
	if h.silent >= maxSilent {
		return errSilent.Error()
	}
	id := h.newID()
	fill := strings.NewReplacer("$TOOL", h.rename(plainTool), "$ID", id, "$LARGE", large())
	message := fill.Replace(e.Line)
	params := fill.Replace(e.Params)
	if params == "" {
		params = string(h.plainCall())
	}
	if message == "" {
		message = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":%s}`, id, params)
	}
	h.back.begin(scriptOf(e))
	o := h.exchange(ctx, id, []byte(message), e.Line != "")
	if e.Once {
		after := h.exchange(ctx, id, []byte(`{"jsonrpc":"2.0","method":"notifications/kit"}`), true)
		o.extra += after.extra
		if after.answer != nil {
			o.extra++
		}
	}
	calls := h.back.seen()
	h.ready(ctx, &o)
	if e.Drops && e.Calls != nil {
		// A gateway that makes the call again does so with the server that it starts next.
		h.back.begin(nil)
		h.exchange(ctx, id, []byte(`{"jsonrpc":"2.0","method":"notifications/kit"}`), true)
		calls = append(calls, h.back.seen()...)
	}
	if problem := judgeCalls(e, params, calls, &o); problem != "" {
		return problem
	}
	return judgeAnswer(e, &o)
}

// scriptOf returns the script of the kit's server for an exchange.
func scriptOf(e conformance.Exchange) func(inbound) {
	var dropped atomic.Bool
	return func(in inbound) {
		if e.Drops && dropped.CompareAndSwap(false, true) {
			in.drop()
			return
		}
		id, _ := rawjson.Get(in.message, "id")
		token, _ := rawjson.Get(in.message, "params", "_meta", "progressToken")
		fill := strings.NewReplacer("$ID", string(id), "$TOKEN", string(token), "$LARGE", large())
		answers := e.Answers
		switch {
		case e.Error != "":
			answers = []string{`{"jsonrpc":"2.0","id":$ID,"error":` + e.Error + `}`}
		case e.Result != "":
			answers = []string{`{"jsonrpc":"2.0","id":$ID,"result":` + e.Result + `}`}
		case len(answers) == 0:
			answers = []string{`{"jsonrpc":"2.0","id":$ID,"result":` + plainResult + `}`}
		}
		messages := make([][]byte, len(answers))
		for i, a := range answers {
			messages[i] = []byte(fill.Replace(a))
		}
		in.reply(messages...)
	}
}

// judgeCalls holds the server's side against the exchange.
func judgeCalls(e conformance.Exchange, params string, calls [][]byte, o *observation) string {
	if e.Calls != nil && len(calls) != *e.Calls {
		return fmt.Sprintf("%d requests reach the server, want %d; the host gets %s", len(calls), *e.Calls, o.tells())
	}
	if len(e.Server) == 0 {
		return ""
	}
	if len(calls) == 0 {
		return "the call does not reach the server: " + o.tells()
	}
	got, _ := rawjson.Get(calls[0], "params")
	return kept(e.Server, []byte(params), got)
}

// judgeAnswer holds the host's side against the exchange.
func judgeAnswer(e conformance.Exchange, o *observation) string {
	for _, line := range append([][]byte{o.answer}, o.other...) {
		if e.Hides != "" && bytes.Contains(line, []byte(e.Hides)) {
			return fmt.Sprintf("the host gets %.*s", maxQuote, line)
		}
	}
	if e.Once && o.extra > 0 {
		return fmt.Sprintf("the host gets %d answers", 1+o.extra)
	}
	if e.Withheld && o.withheld() {
		return ""
	}
	member, sent := "result", e.Result
	if e.Error != "" {
		member, sent = "error", e.Error
	}
	got, ok := rawjson.Get(o.answer, member)
	switch {
	case e.Ends == "error" && ok && member == "result":
		return "the host gets a result: " + o.tells()
	case e.Ends == "error" && e.Drops && o.err == errEnded:
		return "" // the gateway ends with its server
	case e.Ends != "" && o.answer == nil:
		return o.tells()
	case e.Ends == "result" && !ok:
		return "the host gets no result: " + o.tells()
	case len(e.Host) > 0 && !ok:
		return "it does not reach the host: " + o.tells()
	case len(e.Host) > 0 && ok:
		if problem := kept(e.Host, []byte(strings.ReplaceAll(sent, "$LARGE", large())), got); problem != "" {
			return problem
		}
	}
	if e.Notified != "" && !notified(e.Notified, o.other) {
		return fmt.Sprintf("no progress notification with the token %s reaches the host before the answer", e.Notified)
	}
	return ""
}

// kept compares members by their pointers.
func kept(pointers []string, sent, got []byte) string {
	for _, pointer := range pointers {
		path := segments(pointer)
		before, _ := rawjson.Get(sent, path...)
		after, ok := rawjson.Get(got, path...)
		if !ok {
			return pointer + " is lost"
		}
		if diff := unequal(string(rawjson.Canonical(before)), string(rawjson.Canonical(after))); diff != "" {
			return pointer + ": " + diff
		}
	}
	return ""
}

// segments returns the names of a JSON pointer (RFC 6901).
func segments(pointer string) (path []string) {
	for name := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		path = append(path, strings.NewReplacer("~1", "/", "~0", "~").Replace(name))
	}
	return path
}

func notified(token string, messages [][]byte) bool {
	for _, m := range messages {
		if got, _ := rawjson.Get(m, "params", "progressToken"); string(got) == token {
			return true
		}
	}
	return false
}
