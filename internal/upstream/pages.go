package upstream

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/weir-mcp/weir/internal/hosterror"
	"github.com/weir-mcp/weir/internal/rawjson"
)

// MaxPages is how many pages of a list are read; a server that has more is in error.
const MaxPages = 1000

// List returns the raw results of a list method, page by page: none if the server's welcome lacks the capability that
// the method belongs to.
func (c *Conn) List(ctx context.Context, method, capability string) ([]json.RawMessage, error) {
	if _, ok := rawjson.Get(c.welcome, "capabilities", capability); !ok {
		return nil, nil
	}
	params := json.RawMessage(`{}`)
	var pages []json.RawMessage
	for len(pages) < MaxPages {
		m, err := c.Call(ctx, method, params)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", method, err)
		}
		if m.Error != nil {
			return nil, fmt.Errorf("%s: %w", method, m.Failure())
		}
		pages = append(pages, m.Result)
		cursor, ok := rawjson.Get(m.Result, "nextCursor")
		if !ok || rawjson.Kind(cursor) != '"' {
			return pages, nil
		}
		if params, err = rawjson.Set([]byte(`{}`), cursor, "cursor"); err != nil {
			return nil, err
		}
	}
	return nil, hosterror.New("a list of it has more than {} pages", hosterror.Number(MaxPages))
}

// Entries returns the entries of a list, from the raw results of its pages. A member that is no list has none.
func Entries(pages []json.RawMessage, member string) (entries []json.RawMessage) {
	for _, page := range pages {
		list, _ := rawjson.Get(page, member)
		if rawjson.Kind(list) != '[' {
			continue
		}
		for entry := range rawjson.Elements(list) {
			entries = append(entries, entry)
		}
	}
	return entries
}
