package rpc

import (
	"encoding/json"
	"errors"

	"github.com/weir-mcp/weir/internal/rawjson"
)

// MaxPages is how many pages of a list are read; a server that has more is in error.
const MaxPages = 1000

// ErrPages says that a list has more than [MaxPages] pages.
var ErrPages = errors.New("too many pages")

// Pages returns the raw results of a list method, page by page. The params are those of a request of the first one.
func Pages(params json.RawMessage, ask func(params json.RawMessage) (json.RawMessage, error)) ([]json.RawMessage, error) {
	if params = rawjson.Delete(params, "cursor"); rawjson.Kind(params) != '{' {
		params = json.RawMessage(`{}`)
	}
	var pages []json.RawMessage
	for len(pages) < MaxPages {
		result, err := ask(params)
		if err != nil {
			return nil, err
		}
		pages = append(pages, result)
		cursor, ok := rawjson.Get(result, "nextCursor")
		if !ok || rawjson.Kind(cursor) != '"' {
			return pages, nil
		}
		if params, err = rawjson.Set(params, cursor, "cursor"); err != nil {
			return nil, err
		}
	}
	return nil, ErrPages
}
