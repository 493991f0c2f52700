package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/weir-mcp/weir/internal/app"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// Bounds of a checkpoint that is read from elsewhere.
const (
	maxCheckpoint  = 1 << 20
	fetchPatiently = 30 * time.Second
)

// extends checks that a log extends the checkpoints at places: files and URLs.
func extends(ctx context.Context, env *home.Env, db *sqlstore.DB, places []string, key string) error {
	for _, place := range places {
		note, err := readCheckpoint(ctx, place)
		if err != nil {
			return remedy.Usage(fmt.Errorf("reading the checkpoint: %w", err), "")
		}
		if err := app.ExtendsAny(ctx, db.Log(), note, key); err != nil {
			return fmt.Errorf("against %s: %w", place, err)
		}
	}
	return nil
}

// readCheckpoint reads a checkpoint from a file or a URL.
func readCheckpoint(ctx context.Context, place string) ([]byte, error) {
	if !strings.HasPrefix(place, "http://") && !strings.HasPrefix(place, "https://") {
		return home.ReadFile(place)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, place, nil)
	if err != nil {
		return nil, err
	}
	client := &http.Client{Timeout: fetchPatiently}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", place, resp.Status)
	}
	return io.ReadAll(io.LimitReader(resp.Body, maxCheckpoint))
}
