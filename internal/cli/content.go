package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/weir-mcp/weir/internal/app"
	"github.com/weir-mcp/weir/internal/capture"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// A contentReport is the captured content of an event.
type contentReport struct {
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
	LeftOut   bool            `json:"left_out,omitempty"` // it was too long to capture
}

// captured decrypts the captured content of an entry of the log. Paths are the file of the identity, "" for the one
// beside the store, and the store.
func captured(ctx context.Context, env *home.Env, db *sqlstore.DB, entry *logEntry, paths [2]string) (*contentReport, error) {
	sealed, err := db.Log().Aside(ctx, entry.Entry)
	if err != nil {
		return nil, err
	}
	if sealed == nil {
		return nil, remedy.Failure(fmt.Errorf("nothing is kept beside entry %d", entry.Entry),
			"capture.content has it captured; it may have been erased since")
	}
	path := paths[0]
	if path == "" {
		if path, err = env.CapturePath(paths[1]); err != nil {
			return nil, err
		}
	}
	key, err := capture.ReadKey(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, remedy.Usage(err, "name the file of the identity with --identity")
	}
	if err != nil {
		return nil, err
	}
	parts, err := key.Open(sealed)
	if err != nil {
		return nil, err
	}
	var event record.Event
	if err := json.Unmarshal(entry.Event, &event); err != nil {
		return nil, fmt.Errorf("entry %d is no event: %w", entry.Entry, err)
	}
	arguments, answer, err := app.Captured(&event, entry.Entry, parts)
	if err != nil {
		return nil, err
	}
	return &contentReport{arguments, answer, parts.Cut}, nil
}
