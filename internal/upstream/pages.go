package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/weir-mcp/weir/internal/hosterror"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
)

// List returns the raw results of a list method, page by page: none if the server's welcome lacks the capability that
// the method belongs to.
func (c *Conn) List(ctx context.Context, method, capability string) ([]json.RawMessage, error) {
	if _, ok := rawjson.Get(c.welcome, "capabilities", capability); !ok {
		return nil, nil
	}
	pages, err := rpc.Pages(json.RawMessage(`{}`), func(params json.RawMessage) (json.RawMessage, error) {
		m, err := c.Call(ctx, method, params)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", method, err)
		}
		if m.Error != nil {
			return nil, fmt.Errorf("%s: %w", method, m.Failure())
		}
		return m.Result, nil
	})
	if errors.Is(err, rpc.ErrPages) {
		err = hosterror.New("a list of it has more than {} pages", hosterror.Number(rpc.MaxPages))
	}
	return pages, err
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
