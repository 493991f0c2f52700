package protocol

import (
	"encoding/json"
	"slices"

	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
)

// Requests and notifications that concern a connection are not decided (guard.Guarded), so servers get them with
// nothing in which an agent could put text.

// Level returns the params of logging/setLevel for servers.
func Level(params json.RawMessage) (json.RawMessage, *rpc.Error) {
	raw, _ := rawjson.Get(params, "level")
	level, _ := rawjson.String(raw)
	if !slices.Contains(Levels, level) {
		return nil, &rpc.Error{Code: rpc.InvalidParams, Message: "params.level is not a log level"}
	}
	return json.RawMessage(`{"level":` + string(rawjson.Quote(level)) + `}`), nil
}

// Progress returns the params of notifications/progress for the server that chose the token: its figures.
func Progress(params json.RawMessage) (json.RawMessage, error) {
	token, _ := rawjson.Get(params, "progressToken")
	figures, err := rawjson.Set([]byte("{}"), token, "progressToken")
	for _, name := range []string{"progress", "total"} {
		if value, ok := rawjson.Get(params, name); ok && rawjson.Kind(value) == '0' && err == nil {
			figures, err = rawjson.Set(figures, value, name)
		}
	}
	return figures, err
}
