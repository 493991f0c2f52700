package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// An logEntry is an entry as JSON.
type logEntry struct {
	Entry  int64           `json:"entry"`
	Erased bool            `json:"erased,omitempty"`
	Leaf   []byte          `json:"leaf"`
	Salt   []byte          `json:"salt,omitempty"`
	Event  json.RawMessage `json:"event,omitempty"`

	Content *contentReport `json:"content,omitempty"`
}

func entryOf(ctx context.Context, db *sqlstore.DB, number string) (*logEntry, error) {
	seq, err := parseEntry(number)
	if err != nil {
		return nil, err
	}
	rows, err := collect(ctx, db, audit.Query{From: seq, To: seq + 1})
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, remedy.Usage(fmt.Errorf("there is no entry %d", seq), "")
	}
	r := &rows[0]
	out := &logEntry{Entry: r.Seq, Erased: r.Erased(), Leaf: r.Leaf, Salt: r.Salt}
	if json.Valid(r.Body) {
		out.Event = r.Body
	}
	return out, nil
}

func parseEntry(s string) (int64, error) {
	seq, err := strconv.ParseInt(s, 10, 64)
	if err != nil || seq < 0 {
		return 0, remedy.Usage(fmt.Errorf("%.40q is not the number of an entry", s), "see weir audit show")
	}
	return seq, nil
}
